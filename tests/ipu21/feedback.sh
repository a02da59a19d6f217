#!/bin/bash
# feedback.sh ROOT BIN: placement feedback through pipelines/tiles.mk. A roomy chip says what the best plan needs; chips with
# exactly that much memory in two pieces then hold the estimate, but not every placement.
set -eu
root=$1
bin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*"; failures=1; }
expect() { local what=$1; shift; if "$@"; then echo "ok: $what"; else fail "$what"; fi; }

"$bin/weft-zoo" siglip-mlp --size 10 --hidden 512 -o net.onnx > log
python3 - "$root/targets/ipu21-c600.json" << 'PYTHON'
import json, sys
chip = json.load(open(sys.argv[1]))
chip["array"]["tiles"] = 64
json.dump(chip, open("roomy.json", "w"))
PYTHON
# tight SHARE SLACK: a chip that offers what the first choice of roomy/ is estimated to need and SLACK bytes more, SHARE per cent of
# its standard memory in the standard region and the rest behind the interleaved data.
tight() {
  python3 - "$1" "$2" << 'PYTHON'
import json, sys
share, slack = int(sys.argv[1]), int(sys.argv[2])
chip = json.load(open("roomy.json"))
need = json.load(open("roomy/reports/net-schedule.json"))["finalists"][0]
memory = chip["memory"]
element = memory["interleaved_element_bytes"]
interleaved = -(-need["interleaved_bytes"] // element) * element
standard = need["standard_bytes"] + slack
room = standard * share // 100 // 32 * 32
memory["placeable_end"] = memory["interleaved_begin"] + interleaved + standard - room
memory["standard_begin"] = memory["interleaved_begin"] - memory["support_bytes"] - need["row_bytes"] - room
json.dump(chip, sys.stdout)
PYTHON
}
# run FOLDER CHIP VARIABLES...: the pipeline; what ran into FOLDER.out, errors into FOLDER.err.
run() {
  local folder=$1 chip=$2
  shift 2
  mkdir -p "$folder"
  make --no-print-directory -s -C "$folder" -f "$root/pipelines/tiles.mk" "MODEL=$work/net.onnx" "CHIP=$work/$chip" NAME=net "BIN=$bin" "$@" \
    > "$folder.out" 2> "$folder.err"
}
story() { cat "$1/reports/net-attempts.txt"; }
refusals() { story "$1" | grep -c 'Plan to avoid' || true; }

run roomy roomy.json || { cat roomy.err; exit 1; }
expect "a plan with room is placed at once" test "$(story roomy)" = "attempt 1: placed"
expect "and leaves no constraint" test -z "$(find roomy -name '*.constraint')"

# A chip on which planning starts again and succeeds.
attempts=6
placed=
for share in 30 25 35 20 40 15 45 10; do
  for slack in 0 400 1000; do
    [ -z "$placed" ] || break 2
    try=tight-$share-$slack
    tight "$share" "$slack" > "$try.json"
    if run "$try" "$try.json" ATTEMPTS=$attempts; then
      [ "$(refusals "$try")" = 0 ] || placed=$try
    fi
  done
done
expect "some chip needs another attempt and gets a program" test -n "$placed"
[ "$failures" = 0 ] || exit 1

count=$(refusals "$placed")
echo "placed in attempt $((count + 1)):"
story "$placed"
expect "the story: every refusal with its reason, then the success" \
  test "$(story "$placed" | sed -n '$p')" = "attempt $((count + 1)): placed"
expect "one line per attempt" test "$(story "$placed" | wc -l)" = "$((count + 1))"
expect "reasons name tile, class, size, life, gap, plan and operator" test "$(story "$placed" | grep -cE \
  'tile [0-9]+: no (standard|interleaved) memory for .* of [0-9]+ bytes \(steps [0-9]+ to [0-9]+\); .* the largest gap is [0-9]+ bytes.*\. Plan to avoid: .* of operator')" = "$count"

# Every constraint names the one plan that its attempt used, and every later search leaves it out.
field() { "$bin/weft-inspect" dump --columns "$1" "$2" | awk -F'\t' '!/^#/ && $1 != "row" { print $NF }'; }
constraints=()
for ((attempt = 1; attempt <= count; ++attempt)); do
  file=$placed/net-attempt$attempt.constraint
  "$bin/weft-schedule" $placed/net.tasks --target $placed/net.target --finalists 1 "${constraints[@]}" -o again.cands --report again.json
  expect "constraint $attempt names one plan of the choice it refuses" python3 - "$(field operator_name "$file")" "$(field plan_key "$file")" << 'PYTHON'
import json, sys
plans = json.load(open("again.json"))["finalists"][0]["plans"]
sys.exit(plans.count({"operator": sys.argv[1], "plan": sys.argv[2]}) != 1)
PYTHON
  expect "and the story tells it" grep -q "attempt $attempt: .*'$(field plan_key "$file")' of operator '$(field operator_name "$file")'" $placed/reports/net-attempts.txt
  constraints+=(--constraint "$file")
  python3 - "$(field operator_name "$file")" "$(field plan_key "$file")" "$placed/reports/net-schedule.json" << 'PYTHON' || fail "constraint $attempt is not kept"
import json, sys
for finalist in json.load(open(sys.argv[3]))["finalists"]:
    if {"operator": sys.argv[1], "plan": sys.argv[2]} in finalist["plans"]:
        sys.exit(1)
PYTHON
done
names() { for ((attempt = 1; attempt <= count; ++attempt)); do echo "$(field operator_name "$placed/net-attempt$attempt.constraint") $(field plan_key "$placed/net-attempt$attempt.constraint")"; done; }
expect "no two constraints are equal" test "$(names | sort -u | wc -l)" = "$count"
expect "the report counts them" grep -q "\"constraints\": $count," $placed/reports/net-schedule.json
expect "the same constraint twice is refused" test "$("$bin/weft-schedule" $placed/net.tasks --target $placed/net.target "${constraints[@]:0:2}" "${constraints[@]:0:2}" \
  -o twice.cands 2>&1 | grep -c 'same constraint twice')" = 1
"$bin/weft-analyse" $placed/net.prog --target $placed/net.target > table.txt
expect "the program has a time" grep -q '^all ' table.txt

# The same again: in the same folder nothing runs, in another with a store of its own the same files come out.
run "$placed" "$placed.json" ATTEMPTS=$attempts
expect "nothing runs again" test ! -s "$placed.out"
run other "$placed.json" ATTEMPTS=$attempts
for file in reports/net-attempts.txt net.cands net-0.sched net-0.prog net.prog net.selection $(cd "$placed" && ls net-attempt*.constraint); do
  expect "$file is the same in another folder" cmp -s "$placed/$file" "other/$file"
done

# Bounded: as many attempts as are refused are not enough, and the first failure is what is reported.
if run short "$placed.json" ATTEMPTS="$count"; then fail "it is placed before it was"; fi
expect "the bound is kept" test "$(story short | wc -l)" = "$count"
expect "with the same story" test "$(story short)" = "$(story "$placed" | head -n "$count")"
expect "the first failure is shown, not the last" grep -qF "$(story short | head -n 1)" short.err
[ "$count" = 1 ] || expect "and no other" test "$(grep -cF 'Plan to avoid' short.err)" = 1
expect "and no program is left" test ! -e short/net.prog
exit $failures
