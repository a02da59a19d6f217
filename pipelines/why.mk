# make why TARGET=net-0.prog: which files are newer than it, and which part of its key differs from the nearest stored result.

# The recipe of a file's stage.
recipe_of = $(if $(filter %-attempt,$(1)),,$(foreach kind,$(subst .,,$(suffix $(1))),$(strip \
  $(if $(filter $(NAME).graph,$(1)),$(frontend)) $(if $(filter $(NAME).target,$(1)),$(target)) $(if $(filter $(NAME).tasks,$(1)),$(prepare)) \
  $(if $(filter $(NAME).cands,$(1)),$(call schedule_with)) $(if $(filter $(NAME).selection,$(1)),$(select_inputs); $(select)) $(if $(filter $(NAME).pimsim,$(1)),$(export)) \
  $(if $(filter $(CANDIDATES:%=%.prog),$(1)),$(call lower,$(basename $(1)))) $(if $(filter $(CANDIDATES:%=%.timing),$(1)),$(call analyse,$(basename $(1)))))))
explainable := $(NAME).graph $(NAME).target $(NAME).tasks $(NAME).cands $(NAME).selection $(NAME).pimsim $(CANDIDATES:%=%.prog) $(CANDIDATES:%=%.timing)

why: explain := explain-miss
why:
	@[ '$(filter $(explainable),$(WHY))' ] || { echo "why: error: TARGET=FILE must be one of $(explainable)" >&2; exit 2; }
	@'$(MAKE)' --no-print-directory -n --debug=b -f '$(pipeline)' .weft/$(WHY).done 'WHY=$(WHY)' | \
	  sed -n -e "s/^ *Prerequisite '\([^']*\)' is newer than target '.weft\/$(WHY).done'.*/\1 is newer/p" -e "s/^ *File '\(.weft\/$(WHY).done\)' does not exist.*/it was not made here yet/p" \
	    -e "/'.weft\/$(WHY).done'/d" -e "s/^ *Must remake target '.weft\/\([^']*\).done'.*/\1 is looked at first/p" | \
	  sed -e 's|^\.weft/\([a-z]*\)\.command|the command line of weft-\1|' -e 's|^\.weft/model|$(MODEL)|' -e 's|^\.weft/chip|$(CHIP)|' \
	    -e 's|^\.weft/weft-\([a-z]*\) |the program of weft-\1 |' | awk '!seen[$$0]++ { print "  " $$0; n++ } END { if (!n) print "  $(WHY) is up to date" }'
	@$(call recipe_of,$(WHY))
