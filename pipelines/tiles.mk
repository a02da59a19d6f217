# One model to its selected program on a tile processor, in the current folder:
#
#   make -f pipelines/tiles.mk MODEL=net.onnx CHIP=targets/ipu21-c600.json [NAME=net] [BIN=folder of the programs]
#
# As model.mk (same files, variables and rules), with another way to schedules and without the export to the simulator.
#
# Placement is exact only in weft-lower. Where it fails for the best candidate, the failure becomes a constraint that names
# one plan (NAME-attempt<n>.constraint) and planning starts again without that plan, at most ATTEMPTS times;
# reports/NAME-attempts.txt tells the story. Another candidate that does not fit has NAME-<k>.refused and is left out.

pipeline := $(MAKEFILE_LIST)
empty :=
pipelines := $(patsubst %tiles.mk,%,$(subst $(empty) ,\ ,$(pipeline)))

ATTEMPTS ?= 4
FINALISTS ?= 4
products :=
schedule_note = --finalists $(FINALISTS) --attempts $(ATTEMPTS)
schedule_needs = $(call inputs_of,lower)
refusable_lower = --refusal $(1).refused
lower_outputs = --out-optional $(1).constraint
lower_options = --constraint $(1).constraint

# Planning and the placement of its best candidate, again with every constraint learnt. The placement is the one that the rule of
# candidate 0 asks for later, which then is stored. The stamp of the schedule is set by its last run.
define schedule
story=reports/$(NAME)-attempts.txt inputs= options= attempt=1; rm -f $$story $(NAME)-attempt*.constraint; \
while $(call schedule_with,$$inputs,--finalists $(FINALISTS) $$options) && $(call lower,$(NAME)-0); do \
  if [ ! -e $(NAME)-0.refused ]; then echo "attempt $$attempt: placed" >> $$story; exit 0; fi; \
  echo "attempt $$attempt: $$(cat $(NAME)-0.refused)" >> $$story; learnt=$(NAME)-attempt$$attempt.constraint; \
  if [ ! -e $(NAME)-0.constraint ] || [ $$attempt -ge $(ATTEMPTS) ]; then head -n 1 $$story >&2; break; fi; \
  cp $(NAME)-0.constraint $$learnt; inputs="$$inputs --in $$learnt" options="$$options --constraint $$learnt"; attempt=$$((attempt + 1)); \
done; rm -f .weft/$(NAME).cands.done; exit 1
endef

include $(pipelines)model.mk
