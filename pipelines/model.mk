# One model to its selected program, in the current folder:
#
#   make -f pipelines/model.mk MODEL=net.onnx CHIP=chip.json [NAME=net] [BIN=folder of the programs]
#
# makes NAME.graph, NAME.target, NAME.tasks, NAME.cands and for every candidate NAME-<k>.sched, .prog, .timing; then
# NAME.selection, the selected NAME.prog and NAME.timing, and the simulator's folder NAME.pimsim. Reports of the stages are in
# reports/, weights in blobs/.
#
# Every stage is a program of its own and can be replaced: LOWER=./my-lower; options are added by LOWER_FLAGS='--max-depth 0'.
# A stage runs again when one of its input files, its options or its program changed; nothing else runs. Safe under -j.
# MODEL, CHIP and BIN may contain spaces; the folder is the current one, so its path may as well.

MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

ifeq ($(MODEL)$(CHIP),)
$(error MODEL=net.onnx and CHIP=chip.json say what to compile)
endif

# A file name without dots or spaces: flatc strips what follows the last dot, make splits at spaces.
NAME ?= $(shell basename '$(MODEL)' .onnx | tr -c 'A-Za-z0-9_\n-' _)

stages := frontend target prepare schedule lower analyse select export inspect
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

# .weft/<name> is a link to an input or to a stage's program: a prerequisite whose name make can read. .weft/<stage>.command
# holds the command line without its files and changes only when that does. Both are brought up to date while make reads this.
bring_up_to_date = mkdir -p .weft reports; \
  note() { printf '%s\n' "$$2" | cmp -s - ".weft/$$1.command" || printf '%s\n' "$$2" > ".weft/$$1.command"; }; \
  link() { [ "$$(readlink ".weft/$$1")" = "$$2" ] || ln -sfn "$$2" ".weft/$$1"; }; \
  stage() { link "$$1" "$$(realpath "$$(command -v "$$2" || echo "$$2")")"; note "$$1" "$$2 $$3"; }; \
  link model '$(MODEL)'; link chip '$(CHIP)'; \
  stage frontend '$(FRONTEND)' '$(MODEL) $(FRONTEND_FLAGS)'; \
  stage target '$(TARGET)' '$(CHIP) $(TARGET_FLAGS)'; \
  stage prepare '$(PREPARE)' '$(PREPARE_FLAGS)'; \
  stage schedule '$(SCHEDULE)' '$(SCHEDULE_FLAGS)'; \
  stage lower '$(LOWER)' '$(LOWER_FLAGS)'; \
  stage analyse '$(ANALYSE)' '$(ANALYSE_FLAGS)'; \
  stage select '$(SELECT)' '$(SELECT_FLAGS)'; \
  stage export '$(EXPORT)' '$(EXPORT_FLAGS)'; \
  stage inspect '$(INSPECT)' ''
failed := $(shell { $(bring_up_to_date); } 2>&1 || echo .)
ifneq ($(failed),)
$(error cannot prepare the folder: $(failed))
endif

inputs_of = .weft/$(1) .weft/$(1).command
# "lower  resnet18-0.prog", or the whole command with V=1.
say = $(if $(V),,@printf '%-9s %s\n' $(1) $(2);)
report = --report reports/$(basename $(notdir $(1)))-$(2).json

.PHONY: all clean
all: $(NAME).prog $(NAME).timing $(NAME).pimsim/config.json

$(NAME).graph: .weft/model $(call inputs_of,frontend)
	$(call say,frontend,$@)'$(FRONTEND)' '$(MODEL)' -o $@ --blobs blobs --depfile .weft/$@.d $(call report,$@,frontend) $(FRONTEND_FLAGS)

$(NAME).target: .weft/chip $(call inputs_of,target)
	$(call say,target,$@)'$(TARGET)' '$(CHIP)' -o $@ --depfile .weft/$@.d $(call report,$@,target) $(TARGET_FLAGS)

$(NAME).tasks: $(NAME).graph $(NAME).target $(call inputs_of,prepare)
	$(call say,prepare,$@)'$(PREPARE)' $< --target $(NAME).target -o $@ $(call report,$@,prepare) $(PREPARE_FLAGS)

$(NAME).cands: $(NAME).tasks $(NAME).target $(call inputs_of,schedule)
	$(call say,schedule,$@)'$(SCHEDULE)' $< --target $(NAME).target -o $@ $(call report,$@,schedule) $(SCHEDULE_FLAGS)

# External data files of the model, network table of the chip: known after the first run.
-include .weft/$(NAME).graph.d .weft/$(NAME).target.d

# How many candidates there are is known once the scheduler has run: make makes this file first and then reads itself again.
.weft/$(NAME).candidates.mk: $(NAME).cands
	@'$(INSPECT)' dump --columns file_names $< | awk -F '\t' \
	  'NR > 2 { sub(/\.sched$$/, "", $$2); list = list " " $$2 } END { print "CANDIDATES :=" list }' > $@.part && mv $@.part $@

ifeq ($(filter clean,$(MAKECMDGOALS)),)
include .weft/$(NAME).candidates.mk
endif

# Where a schedule was deleted, the scheduler must run again.
schedules := $(CANDIDATES:%=%.sched)
ifneq ($(filter-out $(wildcard $(schedules)),$(schedules)),)
$(shell rm -f $(NAME).cands)
endif
$(schedules): ;

# The candidate list is the last file that the scheduler writes, so it is what is newer than an old program.
$(CANDIDATES:%=%.prog): %.prog: %.sched $(NAME).cands $(NAME).tasks $(NAME).target $(call inputs_of,lower)
	$(call say,lower,$@)'$(LOWER)' $(NAME).tasks $< --target $(NAME).target -o $@ $(call report,$@,lower) $(LOWER_FLAGS)

$(CANDIDATES:%=%.timing): %.timing: %.prog $(NAME).target $(call inputs_of,analyse)
	$(call say,analyse,$@)'$(ANALYSE)' $< --target $(NAME).target -o $@ $(call report,$@,analyse) $(ANALYSE_FLAGS) > /dev/null

$(NAME).selection: $(NAME).cands $(CANDIDATES:%=%.timing) $(call inputs_of,select)
	$(call say,select,$@)'$(SELECT)' $(NAME).cands $(CANDIDATES:%=%.timing) -o $@ $(call report,$@,select) $(SELECT_FLAGS) > /dev/null

# Copies of the selected candidate's files, put in place as a whole.
$(NAME).prog $(NAME).timing &: $(NAME).selection $(CANDIDATES:%=%.prog) $(CANDIDATES:%=%.timing)
	@chosen=$$('$(INSPECT)' dump --columns chosen $< | awk 'END { print $$2 }'); \
	set -- $(CANDIDATES); shift $$chosen; \
	for kind in prog timing; do cp $$1.$$kind $(NAME).$$kind.part; mv $(NAME).$$kind.part $(NAME).$$kind; done

$(NAME).pimsim/config.json: $(NAME).prog $(NAME).target $(call inputs_of,export)
	$(call say,export,$(@D))'$(EXPORT)' $< --target $(NAME).target -o $(@D) $(call report,$(@D),export) $(EXPORT_FLAGS)

clean:
	rm -rf .weft reports blobs $(NAME).pimsim $(NAME).graph $(NAME).target $(NAME).tasks $(NAME).cands $(NAME).selection \
	  $(NAME).prog $(NAME).timing $(NAME)-[0-9]*.sched $(NAME)-[0-9]*.prog $(NAME)-[0-9]*.timing
