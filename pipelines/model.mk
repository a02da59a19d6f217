# One model to its selected program, in the current folder:
#
#   make -f pipelines/model.mk MODEL=net.onnx CHIP=chip.json [NAME=net] [BIN=folder of the programs] [STORE=folder of results]
#
# makes NAME.graph, NAME.target, NAME.tasks, NAME.cands and for every candidate NAME-<k>.sched, .prog, .timing; then
# NAME.selection, the selected NAME.prog and NAME.timing, and the simulator's folder NAME.pimsim. Reports of the stages are in
# reports/, weights in blobs/. A candidate that cannot be lowered has NAME-<k>.refused with the reason; candidate 0 must be.
#
#   make -f pipelines/model.mk why TARGET=net-0.prog MODEL=... CHIP=...      why a file would be made again
#
# Every stage is a program of its own and can be replaced: LOWER=./my-lower; options are added by LOWER_FLAGS='--max-depth 0'.
# A stage runs where one of its input files, its options or its program changed and no equal run is stored; nothing else runs. Safe
# under -j, and after a kill at any moment. MODEL, CHIP, BIN and STORE may contain spaces; the folder is the current one, so its path may
# as well. All variables: stages.mk.

# The folder of this file; spaces escaped as include wants them.
ifndef pipelines
  pipeline := $(MAKEFILE_LIST)
  empty :=
  pipelines := $(patsubst %model.mk,%,$(subst $(empty) ,\ ,$(pipeline)))
endif
include $(pipelines)stages.mk

.PHONY: all clean why
ifeq ($(origin products),undefined)
  products := .weft/$(NAME).pimsim.done
endif
all: $(NAME).prog $(NAME).timing $(products)

# A file is made by the rule of its stamp; the empty recipe tells make to look whether the file changed.
$(NAME).graph $(NAME).target $(NAME).tasks $(NAME).cands $(NAME).selection: %: .weft/%.done ; $(look_again)

define frontend
$(call cached,frontend,$(NAME).graph,FRONTEND_LAUNCHER) --in '$(MODEL)' --out $(NAME).graph --out-blobs blobs --deps .weft/$(NAME).graph.d -- \
  '$(FRONTEND)' '$(MODEL)' -o $(NAME).graph --blobs blobs --depfile .weft/$(NAME).graph.d --report $(call report,frontend,$(NAME).graph) $(FRONTEND_FLAGS)
endef
.weft/$(NAME).graph.done: .weft/model $(call inputs_of,frontend)
	$(quiet)$(frontend)

define target
$(call cached,target,$(NAME).target,TARGET_LAUNCHER) --in '$(CHIP)' --out $(NAME).target --deps .weft/$(NAME).target.d -- \
  '$(TARGET)' '$(CHIP)' -o $(NAME).target --depfile .weft/$(NAME).target.d --report $(call report,target,$(NAME).target) $(TARGET_FLAGS)
endef
.weft/$(NAME).target.done: .weft/chip $(call inputs_of,target)
	$(quiet)$(target)

# External data files of the model, network table of the chip: known after the first run.
-include .weft/$(NAME).graph.d .weft/$(NAME).target.d

define prepare
$(call cached,prepare,$(NAME).tasks,PREPARE_LAUNCHER) --in $(NAME).graph --in $(NAME).target --out $(NAME).tasks -- \
  '$(PREPARE)' $(NAME).graph --target $(NAME).target -o $(NAME).tasks --report $(call report,prepare,$(NAME).tasks) $(PREPARE_FLAGS)
endef
.weft/$(NAME).tasks.done: $(NAME).graph $(NAME).target $(call inputs_of,prepare)
	$(quiet)$(prepare)

# $(call schedule_with,EXTRA INPUTS,EXTRA OPTIONS)
define schedule_with
$(call cached,schedule,$(NAME).cands,SCHEDULE_LAUNCHER) --in $(NAME).tasks --in $(NAME).target $(1) --out $(NAME).cands --out-pattern '$(NAME)-*.sched' -- \
  '$(SCHEDULE)' $(NAME).tasks --target $(NAME).target -o $(NAME).cands --report $(call report,schedule,$(NAME).cands) $(2) $(SCHEDULE_FLAGS)
endef
ifeq ($(origin schedule),undefined)
  schedule = $(call schedule_with)
endif
.weft/$(NAME).cands.done: $(NAME).tasks $(NAME).target $(call inputs_of,schedule) $(schedule_needs)
	$(quiet)$(schedule)

# How many candidates there are is known once the scheduler has run: make makes this file first and then reads itself again. Not under
# "make -n", which runs nothing: there make says what it knows.
candidates_file := .weft/$(NAME).candidates.mk
ifneq ($(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))$(WHY),)
  -include $(wildcard $(candidates_file))
  ifeq ($(CANDIDATES)$(WHY),)
    $(info # the rest is known once the scheduler has run)
  endif
else ifeq ($(filter clean,$(MAKECMDGOALS)),)
$(candidates_file): $(NAME).cands
	@'$(INSPECT)' dump --columns file_names $< | { read -r _; read -r _; list=; while read -r _ name; do list="$$list $${name%.sched}"; done; \
	  [ "$$list" ] && echo "CANDIDATES :=$$list"; } > $@.part && mv $@.part $@
  include $(candidates_file)
endif

# $(call lower,CANDIDATE), $(call analyse,CANDIDATE). Candidate 0 must be lowered and run; of another one a refusal is a result.
refusable = $(if $(filter-out %-0,$(1)),--refusal $(1).$(2))
ifeq ($(origin refusable_lower),undefined)
  refusable_lower = $(call refusable,$(1),refused)
endif
define lower
$(call cached,lower,$(1).prog,LOWER_LAUNCHER) --in $(NAME).tasks --in $(1).sched --in $(NAME).target --out $(1).prog $(refusable_lower) \
  $(lower_outputs) -- '$(LOWER)' $(NAME).tasks $(1).sched --target $(NAME).target -o $(1).prog --report $(call report,lower,$(1).prog) $(lower_options) $(LOWER_FLAGS)
endef
define analyse
$(call cached,analyse,$(1).timing,ANALYSE_LAUNCHER) --in $(1).prog --in $(NAME).target --out $(1).timing $(call refusable,$(1),unavailable) -- \
  '$(ANALYSE)' $(1).prog --target $(NAME).target -o $(1).timing --report $(call report,analyse,$(1).timing) $(ANALYSE_FLAGS)
endef

# What later rules depend on: the file that there is. (make reads this again after the scheduler has run; a refusal that comes or goes
# afterwards is noticed because the other file is then missing.)
if_refused = $(if $(wildcard $(1).refused),$(1).refused,$(1).$(2))
define candidate_rules
$(1).sched: .weft/$(NAME).cands.done ;  $$(look_again)
$(1).prog $(1).refused: .weft/$(1).prog.done ; $$(look_again)
$(1).timing: .weft/$(1).timing.done ; $$(look_again)
.weft/$(1).prog.done: $(1).sched $(NAME).tasks $(NAME).target $(call inputs_of,lower)
	$$(quiet)$$(call lower,$(1))
.weft/$(1).timing.done: $(call if_refused,$(1),prog) $(NAME).target $(call inputs_of,analyse)
	$$(quiet)if [ -e $(1).refused ]; then rm -f $(1).timing && touch $$@; else exec $$(call analyse,$(1)); fi
endef
$(foreach candidate,$(CANDIDATES),$(eval $(call candidate_rules,$(candidate))))
programs := $(foreach candidate,$(CANDIDATES),$(call if_refused,$(candidate),prog))
timings := $(foreach candidate,$(CANDIDATES),$(call if_refused,$(candidate),timing))

# The order of the candidates counts, and which of them were refused. The report adds the times of generation, lowering and analysis.
define select_inputs
inputs= arguments= reports=$(call report,schedule,$(NAME).cands); for candidate in $(CANDIDATES); do \
  if [ -e $$candidate.refused ]; then file=$$candidate.refused arguments="$$arguments --refused $$file"; else \
    file=$$candidate.timing arguments="$$arguments $$file" reports="$$reports $(call report,lower,$$candidate.prog) $(call report,analyse,$$candidate.timing)"; fi; \
  inputs="$$inputs --in $$file"; done; \
for report in $$reports; do [ ! -e $$report ] || arguments="$$arguments --stage-report $$report"; done
endef
define select
$(call cached,select,$(NAME).selection,SELECT_LAUNCHER) --in $(NAME).cands $$inputs --key "$$inputs" --out $(NAME).selection -- \
  '$(SELECT)' $(NAME).cands $$arguments -o $(NAME).selection --report $(call report,select,$(NAME).selection) $(SELECT_FLAGS)
endef
.weft/$(NAME).selection.done: $(NAME).cands $(timings) $(call inputs_of,select) | $(CANDIDATES:%=.weft/%.timing.done)
	$(quiet)$(select_inputs); exec $(select)

# The selected candidate's files under the model's name, each put in place as a whole.
$(NAME).prog $(NAME).timing: .weft/$(NAME).selected.done ; $(look_again)
.weft/$(NAME).selected.done: $(NAME).selection $(programs) $(timings)
	@chosen=$$('$(INSPECT)' dump --columns chosen $< | { while read -r _ number; do last=$$number; done; echo $$last; }); set -- $(CANDIDATES); shift $$chosen; \
	for kind in prog timing; do \
	  if [ $(NAME).$$kind -ef $$1.$$kind ]; then continue; fi; \
	  if [ -L $$1.$$kind ] && ! [ -e $(NAME).$$kind ] && ! [ -L $(NAME).$$kind ]; then cp -P $$1.$$kind $(NAME).$$kind || exit 4; continue; fi; \
	  cp -P $$1.$$kind $(NAME).$$kind.part && mv $(NAME).$$kind.part $(NAME).$$kind || exit 4; \
	done; [ ! -e $(call report,select,$(NAME).selection) ] || cp $(call report,select,$(NAME).selection) reports/pipeline_selection.json; echo > $@

define export
$(call cached,export,$(NAME).pimsim,EXPORT_LAUNCHER) --in $(NAME).prog --in $(NAME).target --out-folder $(NAME).pimsim -- \
  '$(EXPORT)' $(NAME).prog --target $(NAME).target -o $(NAME).pimsim --report $(call report,export,$(NAME).pimsim) $(EXPORT_FLAGS)
endef
.weft/$(NAME).pimsim.done: $(NAME).prog $(NAME).target $(call inputs_of,export)
	$(quiet)$(export)

include $(pipelines)why.mk

clean:
	rm -rf .weft reports blobs $(NAME).pimsim $(NAME).graph $(NAME).target $(NAME).tasks $(NAME).cands $(NAME).selection $(NAME).prog $(NAME).timing \
	  $(foreach kind,sched prog timing refused unavailable constraint,$(NAME)-[0-9]*.$(kind)) $(NAME)-attempt*.constraint
