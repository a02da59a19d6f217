# Completion of weft's programs in bash: options and subcommands as their --help lists them, then files.
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} commands=() index help
  # A subcommand before the cursor has options of its own.
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case ${COMP_WORDS[index]} in
      stat | verify | dump | diff | hash | schema | stats | gc | fsck | explain-miss | run | slurm | ssh | collect | cell) commands=("${COMP_WORDS[index]}"); break ;;
    esac
  done
  help=$("$program" "${commands[@]}" --help 2> /dev/null)
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z-]*' <<< "$help" | tr -d ' ,')" -- "$word")
  elif [[ ${#commands[@]} = 0 && $help == *Subcommands:* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<< "$help")" -- "$word")
  fi
  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _weft weft-frontend weft-target weft-prepare weft-schedule weft-lower weft-analyse weft-select weft-simulate weft-export weft-inspect \
  weft-cache weft-calibrate weft-zoo weft-sweep
