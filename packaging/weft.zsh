#compdef weft-frontend weft-target weft-prepare weft-schedule weft-lower weft-analyse weft-select weft-simulate weft-export weft-inspect weft-cache weft-calibrate weft-zoo weft-sweep
# Completion of weft's programs in zsh: options and subcommands as their --help lists them, then files.
local program=${words[1]} word help
local -a commands options subcommands
for word in ${words[2,CURRENT-1]}; do
  case $word in
    stat|verify|dump|diff|hash|schema|stats|gc|fsck|explain-miss|run|slurm|ssh|collect|cell) commands=($word); break ;;
  esac
done
help=$($program $commands --help 2> /dev/null)
options=(${(f)"$(grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z-]*' <<< $help | tr -d ' ,')"})
subcommands=(${(f)"$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<< $help)"})
if [[ $PREFIX == -* ]]; then
  compadd -- $options
elif [[ $#commands -eq 0 && $#subcommands -gt 0 ]]; then
  compadd -- $subcommands
else
  _files
fi
