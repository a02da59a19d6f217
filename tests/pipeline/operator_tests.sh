#!/bin/bash
# The ONNX project's operator tests (Debian's libonnx-testdata) through the whole chain:
#
#   operator_tests.sh --bin DIR --chip CHIP.json --work DIR [--table operator-tests.tsv] [--only NAME] [--stop graph] [--jobs N]
#
# Every test whose operators weft takes (operator_cases_main.cpp) must pass, or stand in the table with the reason. A test that
# passes must not stand in the table, so the count printed can only grow; "# passed" in the table is that count.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=/usr/share/libonnx-testdata/data
table=$here/operator-tests.tsv only= stop= jobs=2
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$2 ;;
    --chip) chip=$2 ;;
    --work) work=$2 ;;
    --table) table=$2 ;;
    --only) only=$2 ;;
    --stop) stop=$2 ;;
    --jobs) jobs=$2 ;;
    *) echo "operator_tests.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
[ -d "$data" ] || { echo "operator_tests.sh: $data is missing: install libonnx-testdata" >&2; exit 4; }
rm -rf "$work"
mkdir -p "$work"
"$bin/operator_cases" "$data" "$work" > "$work/cases"
[ -z "$only" ] || { grep -- "$only" "$work/cases" > "$work/chosen" && mv "$work/chosen" "$work/cases"; }

# Leaves NAME/passed or a log whose last line says why not.
run_case() {
  local tolerance=1e-4
  [ ! -e "$work/$1/tolerance" ] || tolerance=$(< "$work/$1/tolerance")
  if "$here/run_network.sh" --tolerance "$tolerance" --bin "$bin" --model "$work/$1/model.onnx" --chip "$chip" --work "$work/$1" --inferences 1 \
      --stop "$stop" > "$work/$1/log" 2>&1; then
    touch "$work/$1/passed"
  fi
}
export -f run_case
export here bin chip work stop
xargs -P "$jobs" -I{} bash -c 'run_case {}' < "$work/cases"

while read -r name; do
  [ -e "$work/$name/passed" ] && echo "$name" >> "$work/passed" || echo "$name" >> "$work/failed"
done < "$work/cases"
touch "$work/passed" "$work/failed"
grep -v '^#' "$table" | cut -f1 > "$work/excused"
count=$(wc -l < "$work/passed")
echo "$count of $(wc -l < "$work/cases") operator tests pass"
status=0
while read -r name; do
  echo "FAILED $name: $(tail -n 1 "$work/$name/log")"
  status=1
done < <(grep -vxFf "$work/excused" "$work/failed")
[ -z "$only" ] || exit $status
while read -r name; do
  echo "PASSES, so it must leave $(basename "$table"): $name"
  status=1
done < <(grep -xFf "$work/excused" "$work/passed")
floor=$(sed -n 's/^# passed\t//p' "$table")
if [ "$count" -ne "$floor" ]; then
  echo "the table says that $floor pass; the number may only grow"
  status=1
fi
exit $status
