#!/bin/bash
# chains.sh ROOT BIN: networks with transposes, reshapes and products of activations from ONNX to their latency, on the whole chip.
set -u
root=$1
bin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=1; }
expect() { local what=$1; shift; if "$@"; then echo "ok: $what"; else fail "$what"; fi; }

"$bin/weft-target" "$root/targets/ipu21-c600.json" -o chip.target > /dev/null
for network in mixer-block efficient-attention; do
  "$bin/weft-zoo" "$network" -o net.onnx > /dev/null
  "$bin/weft-frontend" net.onnx -o net.graph --blobs blobs > /dev/null &&
    "$bin/weft-prepare" net.graph --target chip.target -o net.tasks &&
    "$bin/weft-schedule" net.tasks --target chip.target -o net.cands &&
    "$bin/weft-lower" net.tasks net-0.sched --target chip.target -o net.prog &&
    "$bin/weft-analyse" net.prog --target chip.target -o net.timing > table.txt
  expect "$network goes through all stages" test $? = 0
  for file in net.graph net.tasks net-0.sched net.prog net.timing; do
    "$bin/weft-inspect" verify "$file" > /dev/null || fail "$network: $file is not valid"
  done
  cat table.txt
  # Everything is scheduled before it is chosen: what was expected is what comes out.
  expect "$network: the estimate is the latency" test "$(awk '$1 == "all" { print $6 - $7 }' table.txt)" = 0
  "$bin/weft-analyse" net-0.sched --tasks net.tasks --target chip.target > plan.txt
  expect "$network: the plan is explained part by part" test $? = 0
done
exit $failures
