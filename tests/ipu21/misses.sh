#!/bin/bash
# misses.sh ROOT BIN: weft-schedule --require on the command line, and scripts/ipu21-misses on a small chip.
set -u
root=$1
bin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=1; }
expect() { local what=$1; shift; if "$@"; then echo "ok: $what"; else fail "$what"; fi; }

sed 's/"tiles": 1472/"tiles": 64/' "$root/targets/ipu21-c600.json" > chip.json
"$bin/weft-zoo" siglip-mlp --size 10 --hidden 512 -o net.onnx > /dev/null
"$bin/weft-frontend" net.onnx -o net.graph --blobs blobs
"$bin/weft-target" chip.json -o chip.target > /dev/null
"$bin/weft-prepare" net.graph --target chip.target -o net.tasks

# --require: every plan of a report can be required, and then is in every finalist.
schedule() { "$bin/weft-schedule" net.tasks --target chip.target -o "$1.cands" --report "$1.json" "${@:2}" 2> stderr; status=$?; }
plan_of() { python3 -c 'import json, sys; print(next(p["plan"] for p in json.load(open(sys.argv[1]))["finalists"][int(sys.argv[3])]["plans"] if p["operator"] == sys.argv[2]))' "$@"; }
schedule free
plan=$(plan_of free.json up 3)
schedule required --require "up=$plan"
expect "a required plan is accepted" test $status = 0
for ((k = 0; k < $(python3 -c 'import json; print(len(json.load(open("required.json"))["finalists"]))'); ++k)); do
  [ "$(plan_of required.json up $k)" = "$plan" ] || fail "finalist $k does not have the required plan"
done
schedule wrong --require "up=no such plan"
expect "a plan that is not listed: status 1" test $status = 1
expect "and a message that names the operator" grep -q "^weft-schedule: error: .*'up'" stderr
schedule wrong --require "nobody=$plan"
expect "an operator that is not there: status 3" test $status = 3
schedule wrong --require up
expect "no plan at all: status 2" test $status = 2

misses() { "$root/scripts/ipu21-misses" net.onnx --chip chip.json --bin "$bin" --wide 256 "$@" > misses.txt 2> stderr; status=$?; }
misses --tolerance 0
cat misses.txt
expect "the usual search misses nothing here" test $status = 0
expect "and says so" grep -q 'no search miss' misses.txt
expect "every finalist is lowered and compared" test "$(grep -c '^model: finalist .* estimated, .* final' misses.txt)" = 11
# A model miss is named exactly where finals are out of order.
python3 - << 'PYTHON' || fail "model misses are not those that the list shows"
import re, sys
text = open("misses.txt").read()
pairs = [(int(a), int(b)) for a, b in re.findall(r"finalist \d+: (\d+) cycles estimated, (\d+) final", text)]
wrong = sum(any(a[0] < b[0] and a[1] > b[1] for b in pairs) for a in pairs)
sys.exit(text.count("  model miss: ") != wrong or ("no model miss" in text) != (wrong == 0))
PYTHON
misses --width 2 --tolerance 0 --searches-only
cat misses.txt
expect "a search of two states loses a plan: status 1" test $status = 1
expect "and the plan is named" grep -Eq 'search miss of [0-9.]+ %: .*: .*' misses.txt
misses --width 2 --tolerance 100 --searches-only
expect "unless that is tolerated" test $status = 0
"$bin/weft-zoo" vit-block --size 48 -o net.onnx > /dev/null
misses --width 1 --searches-only
expect "a search that finds nothing is a miss" test $status = 1
expect "and says so" grep -q 'nothing fits in the usual search, though the wide one finds a plan' misses.txt
echo nonsense > net.onnx
misses
expect "a model that is none: status 2 and the stage's message" test $status = 2 -a -s stderr
exit $failures
