#!/bin/bash
# One network through the whole chain, values compared with ONNX Runtime:
#
#   run_network.sh --bin DIR --model NET.onnx --chip CHIP.json --work DIR [--tolerance 1e-4] [--stop graph]
#                  [--frontend "OPTIONS"] [--prepare "OPTIONS"] [--schedule "OPTIONS"] [--inferences N]
#
# frontend, target, prepare, schedule, lower, simulate; every candidate runs different inferences in pipelined succession, three
# more than the deepest candidate has rounds (or N). --stop graph ends after the frontend and compares weft's reference executor only. Expected values are ONNX
# Runtime's; where node or its onnxruntime-node is missing they are the reference executor's, and the output says so. Inputs
# and expected values may also lie ready in DIR/in and DIR/expected.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tolerance=1e-4 stop= inferences= frontend= prepare= schedule=
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$2 ;;
    --model) model=$2 ;;
    --chip) chip=$2 ;;
    --work) work=$2 ;;
    --tolerance) tolerance=$2 ;;
    --stop) stop=$2 ;;
    --inferences) inferences=$2 ;;
    --frontend) frontend=$2 ;;
    --prepare) prepare=$2 ;;
    --schedule) schedule=$2 ;;
    *) echo "run_network.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
mkdir -p "$work"

# Files of one folder in order of inference and tensor, 10 after 9.
numbered() { find "$1" -name '*.npy' | sort -V; }

# Inputs for $1 inferences and what should come out, unless they lie ready.
make_values() {
  [ -d "$work/expected" ] && return
  "$bin/pipeline_values" inputs "$work/net.graph" "$1" "$work/in"
  "$bin/pipeline_values" reference "$work/net.graph" "$work/blobs" "$work/in" "$work/reference"
  if [ -d "$here/node_modules/onnxruntime-node" ] && command -v node > "$work/node"; then
    mapfile -t files < <(numbered "$work/in")
    node "$here/onnxruntime.mjs" "$model" "${files[@]}" --out "$work/expected"
    echo -n "  reference executor against ONNX Runtime: "
    "$bin/pipeline_values" compare "$work/reference" "$work/expected" "$tolerance"
  else
    echo "ONNX Runtime is not installed (make reference): comparing with weft's reference executor"
    cp -r "$work/reference" "$work/expected"
  fi
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

# Compares the values of one candidate.
check_candidate() {
  local prog=$1 name inputs=()
  name=$(basename "$prog" .prog)
  while read -r file; do inputs+=(--input "$file"); done < <(numbered "$work/in")
  "$bin/weft-simulate" "$prog" --target "$work/chip.target" --graph "$work/net.graph" --blobs "$work/blobs" \
    "${inputs[@]}" --outputs "$work/$name" > "$work/$name.times"
  echo -n "  $name, depth $("$bin/pipeline_values" depth "$prog"): "
  "$bin/pipeline_values" compare "$work/$name" "$work/expected" "$tolerance"
}

# shellcheck disable=SC2086  # options are meant to be split into words
"$bin/weft-frontend" "$model" -o "$work/net.graph" --blobs "$work/blobs" $frontend
if [ "$stop" = graph ]; then
  make_values "${inferences:-2}"
  [ -d "$work/reference" ] ||
    "$bin/pipeline_values" reference "$work/net.graph" "$work/blobs" "$work/in" "$work/reference"
  "$bin/pipeline_values" compare "$work/reference" "$work/expected" "$tolerance"
  exit
fi
"$bin/weft-target" "$chip" -o "$work/chip.target"
# shellcheck disable=SC2086
"$bin/weft-prepare" "$work/net.graph" --target "$work/chip.target" -o "$work/net.tasks" $prepare
# shellcheck disable=SC2086
"$bin/weft-schedule" "$work/net.tasks" --target "$work/chip.target" -o "$work/net.cands" $schedule
depth=$(lower_candidates)
make_values "${inferences:-$((depth + 3))}"
for prog in "$work"/net-*.prog; do check_candidate "$prog"; done
