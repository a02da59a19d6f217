# One model to its selected program on a tile processor, in the current folder:
#
#   make -f pipelines/tiles.mk MODEL=net.onnx CHIP=targets/ipu21-c600.json [NAME=net] [BIN=folder of the programs]
#
# makes NAME.graph, NAME.target, NAME.tasks, NAME.cands, for every candidate NAME-<k>.sched, .prog and .timing, then
# NAME.selection and the selected NAME.prog and NAME.timing.
#
# Placement is exact only in weft-lower. Where it fails for the best candidate, the failure becomes a constraint that names
# one plan (NAME-attempt<n>.constraint) and planning starts again without that plan, at most ATTEMPTS times;
# reports/NAME-attempts.txt tells the story. Other candidates that do not fit are replaced by the best one.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

NAME ?= $(shell basename '$(MODEL)' .onnx | tr -c 'A-Za-z0-9_\n-' _)
ATTEMPTS ?= 4
FINALISTS ?= 4
ATTEMPT ?= 1
program = $(if $(BIN),$(BIN)/)weft-$(1)
FRONTEND ?= $(call program,frontend)
TARGET ?= $(call program,target)
PREPARE ?= $(call program,prepare)
SCHEDULE ?= $(call program,schedule)
LOWER ?= $(call program,lower)
ANALYSE ?= $(call program,analyse)
SELECT ?= $(call program,select)
self := $(lastword $(MAKEFILE_LIST))

.PHONY: all attempt finish
all: $(NAME).prog

reports:
	@mkdir -p reports

$(NAME).graph: $(MODEL) | reports
	'$(FRONTEND)' '$(MODEL)' -o $@ --report reports/$(NAME)-frontend.json $(FRONTEND_FLAGS)

$(NAME).target: $(CHIP) | reports
	'$(TARGET)' '$(CHIP)' -o $@ --report reports/$(NAME)-target.json $(TARGET_FLAGS)

$(NAME).tasks: $(NAME).graph $(NAME).target
	'$(PREPARE)' $< --target $(NAME).target -o $@ --report reports/$(NAME)-prepare.json $(PREPARE_FLAGS)

$(NAME).prog: $(NAME).tasks $(NAME).target
	@rm -f $(NAME)-attempt*.constraint reports/$(NAME)-attempts.txt
	@$(MAKE) --no-print-directory -f $(self) attempt ATTEMPT=1

# All constraints of earlier attempts, oldest first.
earlier = $(foreach n,$(wordlist 2,$(ATTEMPT),1 1 2 3 4 5 6 7 8 9),--constraint $(NAME)-attempt$(n).constraint)

attempt:
	@'$(SCHEDULE)' $(NAME).tasks --target $(NAME).target --finalists $(FINALISTS) $(earlier) -o $(NAME).cands \
	  --report reports/$(NAME)-schedule.json $(SCHEDULE_FLAGS)
	@if '$(LOWER)' $(NAME).tasks $(NAME)-0.sched --target $(NAME).target -o $(NAME)-0.prog \
	    --constraint $(NAME)-attempt$(ATTEMPT).constraint --report reports/$(NAME)-lower-0.json $(LOWER_FLAGS) 2> reports/$(NAME)-lower.txt; then \
	  echo "attempt $(ATTEMPT): placed" >> reports/$(NAME)-attempts.txt; \
	  $(MAKE) --no-print-directory -f $(self) finish; \
	else \
	  echo "attempt $(ATTEMPT): $$(cat reports/$(NAME)-lower.txt)" >> reports/$(NAME)-attempts.txt; \
	  if [ -f $(NAME)-attempt$(ATTEMPT).constraint ] && [ $(ATTEMPT) -lt $(ATTEMPTS) ]; then \
	    $(MAKE) --no-print-directory -f $(self) attempt ATTEMPT=$$(( $(ATTEMPT) + 1 )); \
	  else head -1 reports/$(NAME)-attempts.txt >&2; exit 1; fi; \
	fi

finish:
	@candidates=$$(ls $(NAME)-*.sched | sed 's/.*-\([0-9]*\)\.sched/\1/' | sort -n); timings=; \
	for k in $$candidates; do \
	  if [ $$k != 0 ]; then \
	    '$(LOWER)' $(NAME).tasks $(NAME)-$$k.sched --target $(NAME).target -o $(NAME)-$$k.prog --report reports/$(NAME)-lower-$$k.json $(LOWER_FLAGS) \
	      2> reports/$(NAME)-lower.txt || { echo "candidate $$k: $$(cat reports/$(NAME)-lower.txt)" >> reports/$(NAME)-attempts.txt; cp $(NAME)-0.prog $(NAME)-$$k.prog; }; \
	  fi; \
	  '$(ANALYSE)' $(NAME)-$$k.prog --target $(NAME).target -o $(NAME)-$$k.timing --quiet $(ANALYSE_FLAGS); \
	  timings="$$timings $(NAME)-$$k.timing"; \
	done; \
	'$(SELECT)' $(NAME).cands $$timings -o $(NAME).selection --report reports/$(NAME)-selection.json --quiet $(SELECT_FLAGS); \
	chosen=$$(grep -o '"chosen": *[0-9]*' reports/$(NAME)-selection.json | head -1 | grep -o '[0-9]*$$'); \
	cp $(NAME)-$$chosen.timing $(NAME).timing; cp $(NAME)-$$chosen.prog $(NAME).prog
