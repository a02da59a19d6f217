#!/bin/bash
# One network through the whole chain, values compared with ONNX Runtime:
#
#   run_network.sh --bin DIR (--model NET.onnx | --zoo "NAME OPTIONS") --chip CHIP.json --work DIR [--tolerance 1e-4]
#                  [--frontend "OPTIONS"] [--prepare "OPTIONS"] [--schedule "OPTIONS"] [--inferences N] [--values DIR] [--inputs normal|pixels] [--stop graph]
#
# frontend, target, prepare, schedule, lower, simulate; every candidate runs different inferences in pipelined succession, three
# more than its depth (or N). --stop graph ends after the frontend and compares weft's reference executor
# only. Expected values are ONNX Runtime's; where it is not installed they are the reference executor's, and the output says so.
# --values names a folder with in and expected to use instead. --ranking no leaves out the
# ranking of the candidates, which plays sixty rounds of each out. Status 77: the model is not installed.
set -eu
shopt -s inherit_errexit   # a failed stage fails the script from inside $(...) too
here=$(cd "$(dirname "$0")" && pwd)
tolerance=1e-4 stop='' inferences='' frontend='' prepare='' schedule='' zoo='' values='' inputs_kind=normal ranking=yes
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$2 ;;
    --model) model=$2 ;;
    --zoo) zoo=$2 ;;
    --chip) chip=$2 ;;
    --work) work=$2 ;;
    --tolerance) tolerance=$2 ;;
    --stop) stop=$2 ;;
    --inferences) inferences=$2 ;;
    --values) values=$2 ;;
    --inputs) inputs_kind=$2 ;;
    --frontend) frontend=$2 ;;
    --prepare) prepare=$2 ;;
    --schedule) schedule=$2 ;;
    --ranking) ranking=$2 ;;
    *) echo "run_network.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
rm -rf "$work"
mkdir -p "$work"

# Files of one folder in order of inference and tensor, 10 after 9.
numbered() { find "$1" -name '*.npy' | sort -V; }

# Inputs for $1 inferences and what should come out, in $values.
make_values() {
  [ -z "$values" ] || return 0
  values=$work
  "$bin/pipeline_values" inputs "$work/net.graph" "$1" "$values/in" "$inputs_kind"
  if [ -d "$here/node_modules/onnxruntime-node" ] && [ -n "$(type -P node)" ]; then
    mapfile -t files < <(numbered "$values/in")
    node "$here/onnxruntime.mjs" "$model" "${files[@]}" --out "$values/expected"
    echo -n "  reference executor against ONNX Runtime: "
    check_reference
  else
    echo "  ONNX Runtime is not installed (make reference): comparing with weft's reference executor"
    "$bin/pipeline_values" reference "$work/net.graph" "$work/blobs" "$values/in" "$values/expected" "$1"
  fi
}

# Two inferences tell whether the reference executor is right.
check_reference() {
  "$bin/pipeline_values" reference "$work/net.graph" "$work/blobs" "$values/in" "$work/reference" 2
  "$bin/pipeline_values" compare "$work/reference" "$values/expected" "$tolerance" 2
}

# Lowers every candidate; prints the largest depth.
lower_candidates() {
  local sched prog depth largest=0
  for sched in "$work"/net-*.sched; do
    prog=${sched%.sched}.prog
    "$bin/weft-lower" "$work/net.tasks" "$sched" --target "$work/chip.target" -o "$prog"
    depth=$("$bin/pipeline_values" depth "$prog")
    [ "$depth" -le "$largest" ] || largest=$depth
  done
  echo "$largest"
}

# Compares the values of one candidate, three inferences deeper than its pipeline, and the two answers about its time.
check_candidate() {
  local prog=$1 name depth count inputs=()
  name=$(basename "$prog" .prog)
  depth=$("$bin/pipeline_values" depth "$prog")
  count=${inferences:-$((depth + 3))}
  while read -r file; do inputs+=(--input "$file"); done < <(numbered "$values/in" | head -n $((count * input_count)))
  "$bin/weft-simulate" "$prog" --target "$work/chip.target" --graph "$work/net.graph" --blobs "$work/blobs" \
    "${inputs[@]}" --outputs "$work/$name" > "$work/$name.times"
  echo -n "  $name, depth $depth: "
  "$bin/pipeline_values" compare "$work/$name" "$values/expected" "$tolerance" "$count"
  echo -n "  $name: "
  "$bin/pipeline_timing" "$prog" "$work/chip.target"
  "$bin/weft-analyse" "${prog%.prog}.sched" --tasks "$work/net.tasks" --target "$work/chip.target" > "$work/$name.plan"
  sed -n 's/^/  plan: /; 1p' "$work/$name.plan"
}

# shellcheck disable=SC2086  # options are meant to be split into words
if [ -n "$zoo" ]; then
  model=$work/net.onnx
  "$bin/weft-zoo" $zoo -o "$model"
fi
[ -f "$model" ] || { echo "$model is not there (make reference installs the tests' networks)"; exit 77; }
# shellcheck disable=SC2086
"$bin/weft-frontend" "$model" -o "$work/net.graph" --blobs "$work/blobs" $frontend
if [ "$stop" = graph ]; then
  if [ -z "$values" ]; then
    make_values "${inferences:-2}"
  else
    check_reference
  fi
  exit
fi
"$bin/weft-target" "$chip" -o "$work/chip.target" 2> "$work/chip.notes"
# shellcheck disable=SC2086
"$bin/weft-prepare" "$work/net.graph" --target "$work/chip.target" -o "$work/net.tasks" $prepare
# shellcheck disable=SC2086
"$bin/weft-schedule" "$work/net.tasks" --target "$work/chip.target" -o "$work/net.cands" $schedule
depth=$(lower_candidates)
make_values "${inferences:-$((depth + 3))}"
input_count=$(numbered "$values/in/inference_0" | wc -l)
for prog in "$work"/net-*.prog; do check_candidate "$prog"; done
[ "$ranking" != yes ] || "$bin/pipeline_timing" --ranking "$work/chip.target" "$work"/net-*.prog
