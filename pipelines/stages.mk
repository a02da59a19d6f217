# What the pipelines share: the stages' programs and options, how a stage runs, and what it depends on. Included by model.mk and
# tiles.mk, not used alone.
#
#   MODEL, CHIP        the network (.onnx) and the chip (.json)
#   NAME               name of all files made; default: the model's
#   BIN                folder of weft's programs; default: found in PATH
#   STORE              folder of stored results, see docs/cache.md; default: .weft/store, in the run folder itself
#   FRONTEND, TARGET, PREPARE, SCHEDULE, LOWER, ANALYSE, SELECT, EXPORT     another program for a stage
#   MODE=latency       the shortest time of one inference: --mode latency for prepare and schedule
#   LOWER_FLAGS, ...                    options added to a stage's command line
#   LAUNCHER, LOWER_LAUNCHER, ...       words before it where it runs: LOWER_LAUNCHER='srun -n1 -c1'
#   COPY=1             files of their own instead of links into the store
#   READ_ONLY=1        use the store, write nothing there
#   CHECK=1            run every stage once more in other surroundings and compare
#   V=1                print whole commands
#
# Every stage runs through weft-cache: equal work is done once, in all folders that share a store.
#
# The files are links into the store, so -L: make must look at the times of links, not only of what they point at. (Without it, a
# link that goes back to an older object looks old, and what depends on it stays stale.) What make remakes is a stamp,
# .weft/<file>.done; the file itself changes only when its content does, and only then does what depends on it run.

MAKEFLAGS += -L --no-builtin-rules
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# "make why TARGET=net-0.prog" means a file, not the program of a stage.
ifneq ($(filter why,$(MAKECMDGOALS))$(WHY),)
  WHY := $(or $(WHY),$(TARGET))
  override TARGET := $(if $(BIN),$(BIN)/)weft-target
endif

ifeq ($(MODEL)$(CHIP),)
$(error MODEL=net.onnx and CHIP=chip.json say what to compile)
endif

# A file name without dots or spaces: flatc strips what follows the last dot, make splits at spaces.
NAME ?= $(shell basename '$(MODEL)' .onnx | tr -c 'A-Za-z0-9_\n-' _)
NAME := $(NAME)

ifneq ($(MODE),)
  override PREPARE_FLAGS := --mode $(MODE) $(PREPARE_FLAGS)
  override SCHEDULE_FLAGS := --mode $(MODE) $(SCHEDULE_FLAGS)
endif

STORE ?= .weft/store
program = $(if $(BIN),$(BIN)/)weft-$(1)
FRONTEND ?= $(call program,frontend)
TARGET ?= $(call program,target)
PREPARE ?= $(call program,prepare)
SCHEDULE ?= $(call program,schedule)
LOWER ?= $(call program,lower)
ANALYSE ?= $(call program,analyse)
SELECT ?= $(call program,select)
EXPORT ?= $(call program,export)
INSPECT ?= $(call program,inspect)
CACHE ?= $(call program,cache)

# .weft/model, .weft/chip and .weft/weft-<stage> are links to the inputs and the stages' programs: prerequisites whose names make can
# read. .weft/<stage>.command holds the command line without its files and changes only when that does. A stamp whose file is gone is
# removed, so that the file is made again. All this is done while make reads (once, though it may read itself again), with built-in
# commands of the shell only where nothing changed, and with one ln for all programs that have their usual names.
define bring_up_to_date
[ -d .weft ] && [ -d reports ] || mkdir -p .weft reports;
usual=;
note() { old=; [ -f ".weft/$$1.command" ] && IFS= read -r old < ".weft/$$1.command"; [ "$$old" = "$$2" ] || printf '%s\n' "$$2" > ".weft/$$1.command"; };
link() { [ ".weft/$$1" -ef "$$2" ] || case "$$2" in /*) ln -sfn "$$2" ".weft/$$1" ;; *) ln -sfn "../$$2" ".weft/$$1" ;; esac; };
stage() {
  case "$$2" in */*) program=$$2 ;; *) program=$$(command -v "$$2" || echo "$$2") ;; esac;
  case "$$program" in
    *:*) link "weft-$$1" "$$program" ;;
    /*/weft-"$$1") [ ".weft/weft-$$1" -ef "$$program" ] || usual=$$usual:$$program ;;
    *) link "weft-$$1" "$$program" ;;
  esac;
  note "$$1" "$$2 $$3";
};
link model '$(MODEL)'; link chip '$(CHIP)';
stage frontend '$(FRONTEND)' '$(FRONTEND_FLAGS)';
stage target '$(TARGET)' '$(TARGET_FLAGS)';
stage prepare '$(PREPARE)' '$(PREPARE_FLAGS)';
stage schedule '$(SCHEDULE)' '$(SCHEDULE_FLAGS)$(schedule_note)';
stage lower '$(LOWER)' '$(LOWER_FLAGS)';
stage analyse '$(ANALYSE)' '$(ANALYSE_FLAGS)';
stage select '$(SELECT)' '$(SELECT_FLAGS)';
stage export '$(EXPORT)' '$(EXPORT_FLAGS)';
if [ "$$usual" ]; then IFS=:; set -f; ln -sfn -t .weft $${usual#:}; set +f; unset IFS; fi;
whole() { for part do case "$$part" in *'*') continue ;; esac; [ -e "$$part" ] || return 1; done; };
for stamp in .weft/*.done; do
  file=$${stamp#.weft/}; file=$${file%.done}; set -- "$$file";
  [ -e "$${file%.*}.refused" ] && continue;
  case "$$file" in *.graph) set -- "$$@" blobs blobs/* ;; *.pimsim) set -- "$$@" "$$file/config.json" "$$file"/* ;; *.selected) set -- "$${file%.*}.prog" "$${file%.*}.timing" ;; esac;
  whole "$$@" || rm -f "$$stamp";
done;
candidates=; [ -f '.weft/$(NAME).candidates.mk' ] && read -r _ _ candidates < '.weft/$(NAME).candidates.mk';
for file in $$candidates; do [ -e "$$file.sched" ] || rm -f '.weft/$(NAME).cands.done'; done;
endef
define newline


endef
failed := $(if $(MAKE_RESTARTS),,$(shell { $(subst $(newline), ,$(bring_up_to_date)) } 2>&1))
ifneq ($(failed),)
$(error cannot prepare the folder: $(failed))
endif

inputs_of = .weft/weft-$(1) .weft/$(1).command

# $(call cached,STAGE,FILE,LAUNCHER): the beginning of a stage's command, up to its files. "make why" puts explain-miss into it.
cached = '$(CACHE)' --store '$(STORE)' --root . $(explain) --say $(1) --stamp .weft/$(2).done --log $(call report,$(1),$(2)) \
  $(if $(COPY),--copy) $(if $(READ_ONLY),--read-only) $(if $(CHECK),--check --check-arguments '$(CHECK_$(1))') \
  $(if $(or $($(3)),$(LAUNCHER)),--launcher '$(or $($(3)),$(LAUNCHER))') --discard-output --ignore-option -j --ignore-option --threads
report = reports/$(basename $(2))-$(1).json
# What CHECK=1 adds to the second run of a stage that has threads.
CHECK_frontend := -j 8
quiet = $(if $(V),,@)
# The recipe of a file whose stamp is newer: make looks whether the file changed (with "+" under "make -n" too).
look_again = +
