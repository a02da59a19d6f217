#!/bin/bash
# The ONNX project's operator tests (Debian's libonnx-testdata) through the whole chain:
#
#   operator_tests.sh --bin DIR --chip CHIP.json --work DIR [--table operator-tests.tsv] [--only NAME] [--stop graph] [--jobs N]
#
# Every test whose operators weft takes (operator_cases_main.cpp) must pass, or stand in the table with the reason. A test that
# passes must not stand in the table, so the count printed can only grow; "# passed" in the table is that count.
# Leaves DIR/results.tsv: test, "passed" or the last line of its output.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=/usr/share/libonnx-testdata/data
table=$here/operator-tests.tsv only='' stop='' jobs=2
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
mkdir -p "$work/run"
"$bin/operator_cases" "$data" "$work/cases" | grep -e "$only" > "$work/names"

# Prints one line of results.
run_case() {
  local tolerance=1e-4 case=$work/cases/$1 output
  [ ! -e "$case/tolerance" ] || tolerance=$(< "$case/tolerance")
  if output=$("$here/run_network.sh" --bin "$bin" --model "$case/model.onnx" --values "$case" --chip "$chip" --work "$work/run/$1" \
      --tolerance "$tolerance" --stop "$stop" --ranking no 2>&1); then
    printf '%s\tpassed\n' "$1"
  else
    printf '%s\t%s\n' "$1" "$(tail -n 1 <<< "$output" | sed 's/^ *//')"
  fi
}
export -f run_case
export here bin chip work stop
xargs -P "$jobs" -I{} bash -c 'run_case {}' < "$work/names" | sort > "$work/results.tsv"

# The table is wrong in either direction: a test that fails and is not excused, one that passes and is.
awk -F'\t' -v only="$only" '
  NR == FNR { if ($1 == "# passed") floor = $2; else if (!/^#/) excused[$1] = 1; next }
  $2 == "passed" { ++passed; if ($1 in excused) { print "PASSES, so it must leave the table: " $1; wrong = 1 } next }
  !($1 in excused) { print "FAILED " $1 ": " $2; wrong = 1 }
  END {
    print passed + 0 " of " FNR " operator tests pass"
    if (only == "" && passed != floor) { print "the table says " floor "; the number may only grow"; wrong = 1 }
    exit wrong
  }' "$table" "$work/results.tsv"
