#!/bin/bash
# The kernel database of a chip with crossbars: filled from simulator runs, equal to the timing model, used by weft-prepare.
#   pim.sh SOURCE BIN
set -euo pipefail
source=$1
bin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$source/scripts/calibrate-pim" --bin "$bin" --chip "$source/targets/isaac-168x96.json" -o chip.kernels > families
[ "$(grep -c 'model off by 0.000 %' families)" = "$(wc -l < families)" ] || { echo "FAILED: model and simulator differ"; cat families; exit 1; }
grep -q '^mvmul' families
"$bin/weft-inspect" verify chip.kernels
"$bin/weft-zoo" lenet -o net.onnx
"$bin/weft-frontend" net.onnx -o net.graph
"$bin/weft-target" "$source/targets/isaac-168x96.json" -o chip.target 2> /dev/null
"$bin/weft-prepare" net.graph --target chip.target -o model.tasks
"$bin/weft-prepare" net.graph --target chip.target --kernels chip.kernels -o measured.tasks
# A table in which every matrix instruction takes ten times as long must show in the work.
python3 - <<'P'
import json
table = json.load(open("chip.json"))
for record in table["measurements"]:
    if record["key"]["kernel"] == "mvmul":
        for name in ("minimumCycles", "medianCycles", "p95Cycles", "maximumCycles"):
            record[name] *= 10
json.dump(table, open("slow.json", "w"))
P
"$bin/weft-calibrate" slow.json -o slow.kernels
"$bin/weft-prepare" net.graph --target chip.target --kernels slow.kernels -o slow.tasks --report slow-report.json
"$bin/weft-prepare" net.graph --target chip.target -o model.tasks --report model-report.json
python3 - <<'P'
import json
slow, model = (json.load(open(f"{name}-report.json"))["work_bound_ns"] for name in ("slow", "model"))
assert slow > 3 * model, (slow, model)
P
# Cycles are no nanoseconds.
"$bin/weft-target" "$source/targets/ipu21-c600.json" -o tiles.target
status=0
"$bin/weft-prepare" net.graph --target tiles.target --kernels chip.kernels -o wrong.tasks 2> message || status=$?
[ "$status" = 3 ] && grep -q nanoseconds message || { echo "FAILED: nanoseconds for a tile processor: status $status"; cat message; exit 1; }
