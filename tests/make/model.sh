#!/bin/bash
# pipelines/model.mk with stub stages: what runs first, after nothing changed, after each kind of edit, after deletions and kills, with
# -j and -n, with spaces in every path. The store is weft-cache's.
set -eu
root=$1
bin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder="$work/a folder"
mkdir -p "$folder/bin" "$folder/out"
cp -r "$root/pipelines" "$folder/pipe lines"
cd "$folder"
failures=0
fail() { echo "FAILED: $*"; failures=1; }

# Every stub logs its name and first input, and writes a digest of what it was given.
#   frontend skips comments; schedule makes three schedules from the model, of which words in the options make 0 and 2 equal, or let
#   candidate 1 or 0 be refused; lower with "same" makes equal programs.
stub() {
  cat > "bin/weft-$1" << 'STUB'
#!/bin/bash
set -eu
stage=$(basename "$0" | sed 's/weft-//'); log="$(dirname "$(realpath "$0")")/../log"
if [ "$stage" = inspect ]; then
  case "$*" in
    *file_names*) printf '# file_names\nrow\tvalue\n'; i=0; while read -r name; do printf '%s\t%s\n' "$i" "$name"; i=$((i+1)); done < "${!#}" ;;
    *chosen*) printf '# chosen\nrow\tvalue\n0\t1\n' ;;
  esac
  exit 0
fi
inputs=(); output=; options=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) output=$2; shift 2 ;;
    --target) inputs+=("$2"); shift 2 ;;
    --refused) inputs+=("$2"); shift 2 ;;
    --blobs) mkdir -p "$2"; echo weights > "$2/0123.zst"; shift 2 ;;
    --report) echo "{}" > "$2"; shift 2 ;;
    --depfile) printf '%s: %s\n' "$output" "$(printf '%s' "${inputs[0]}" | sed 's/ /\\ /g')" > "$2"; shift 2 ;;
    --*) options="$options $1"; shift ;;
    *) inputs+=("$1"); shift ;;
  esac
done
echo "$stage $(basename "$output")" >> "$log"
for input in "${inputs[@]}"; do [ -e "$input" ] || { echo "missing $input" >&2; exit 3; }; done
case "$stage" in
  frontend) grep -v '^#' "${inputs[0]}" > "$output" ;;
  schedule)
    for i in 0 1 2; do
      { cat "${inputs[@]}" | cksum; case "$options" in *equal*) [ $i = 1 ] && echo 1 ;; *) echo $i ;; esac
        case "$options" in *refuse-$i*) echo refuse ;; esac; } > "${output%.cands}-$i.sched" || true
    done
    printf '%s-0.sched\n%s-1.sched\n%s-2.sched\n' "$(basename "${output%.cands}")" "$(basename "${output%.cands}")" "$(basename "${output%.cands}")" > "$output" ;;
  lower | my-lower)
    grep -q refuse "${inputs[1]}" && { echo "weft-lower: error: ${inputs[1]}: does not fit" >&2; exit 1; }
    case "$options" in *same*) echo same > "$output" ;; *) cat "${inputs[@]}" | cksum > "$output" ;; esac ;;
  export) mkdir -p "$output"; cat "${inputs[@]}" | cksum > "$output/config.json" ;;
  *) cat "${inputs[@]}" | cksum > "$output" ;;
esac
STUB
  chmod +x "bin/weft-$1"
}
stages="frontend target prepare schedule lower analyse select export inspect"
for stage in $stages; do stub "$stage"; done
ln -s "$bin/weft-cache" bin/weft-cache
printf '# comment\nmodel\n' > "my net.onnx"
echo chip > chip.json

make_in() { local out=$1; shift; make --no-print-directory -C "$out" -f "$folder/pipe lines/model.mk" "BIN=$folder/bin" "MODEL=$folder/my net.onnx" "CHIP=$folder/chip.json" "$@"; }
run() { : > log; make_in out "$@" > run.txt 2>&1 || { cat run.txt; exit 1; }; }
ran() { cut -d' ' -f1 log | sort | uniq -c | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }'; }
expect() {
  local what=$1 wanted=$2 got
  got=$(ran)
  if [ "$got" = "$wanted" ]; then echo "ok: $what"; else fail "$what: ran '$got' instead of '$wanted'"; fi
}
later() { sleep 0.02; }   # make compares times with nanoseconds, the file system's clock ticks every few milliseconds
results() { (cd "$1" && cksum my_net*.* my_net.pimsim/*); }
# The results in out/ are those of a build from nothing.
correct() {
  rm -rf fresh; mkdir fresh
  make_in fresh "$@" > fresh.txt 2>&1 || { cat fresh.txt; exit 1; }
  if [ "$(results out)" = "$(results fresh)" ]; then echo "ok: ... and correct"; else fail "... stale or wrong"; diff <(results out) <(results fresh) || true; fi
}

all="analyse:3 export:1 frontend:1 lower:3 prepare:1 schedule:1 select:1 target:1"
later_stages="analyse:3 export:1 lower:3 prepare:1 schedule:1 select:1"
run -j4; expect "first build" "$all"
run; expect "nothing changed" ""; grep -q "Nothing to be done" run.txt || fail "make looked at something again"
run -j8; expect "nothing changed, with jobs" ""
cmp -s out/my_net.prog out/my_net-1.prog || fail "my_net.prog is not the chosen candidate's"
first=$(results out)

later; printf '# another comment\nmodel\n' > "my net.onnx"; run -j4
expect "a comment changed: later stages are cut off" "frontend:1"
run -n; expect "make -n after it runs nothing" ""; grep -q "Nothing to be done" run.txt || fail "make -n would run something: $(cat run.txt)"
later; echo other > "my net.onnx"; run -n
expect "make -n runs nothing" ""; grep -q -- "weft-frontend' " run.txt || fail "make -n does not say what would run"
run -j4; expect "the model changed" "analyse:3 export:1 frontend:1 lower:3 prepare:1 schedule:1 select:1"; correct
later; printf '# comment\nmodel\n' > "my net.onnx"; run
expect "the model changed back: nothing runs" ""
[ "$(results out)" = "$first" ] && echo "ok: ... and the results are the first ones" || fail "stale results after going back"
correct
run; expect "... and nothing more to do" ""
later; echo other > "my net.onnx"; run; expect "... and forth again" ""
later; echo "other chip" > chip.json; run; expect "the chip changed" "$later_stages target:1"
later; touch bin/weft-analyse; run; expect "weft-analyse was built again, equal" ""
later; echo '# changed' >> bin/weft-analyse; run; expect "weft-analyse changed, its results did not" "analyse:3"
later; run LOWER_FLAGS=--max-depth=0; expect "options of weft-lower changed, its results did not" "lower:3"
run LOWER_FLAGS=--max-depth=0; expect "same options again" ""
later; { cat bin/weft-lower; echo '# mine'; } > bin/my-lower; chmod +x bin/my-lower; run "LOWER=$folder/bin/my-lower"; expect "another lower" "my-lower:3"
later; run; expect "and back" ""

# Deleted files come back from the store; so do those whose stored content is gone, by running.
for file in my_net.graph my_net.target my_net.tasks my_net.cands my_net-1.sched my_net-2.sched my_net-0.prog my_net-1.timing my_net.selection my_net.prog \
    my_net.timing my_net.pimsim my_net.pimsim/config.json blobs; do
  rm -r "out/$file"; run -j2; expect "$file was deleted" ""; [ -e "out/$file" ] || fail "$file did not come back"
done
correct
rm "$(realpath out/my_net-1.timing)"; run; expect "a stored timing was deleted" "analyse:1"
later; echo mine > out/mine; mv out/mine out/my_net-0.sched; run; expect "a schedule was replaced by hand" "analyse:1 lower:1 select:1"
rm -r out/.weft/*.done; run; expect "and made again" ""; correct

# A candidate that cannot be lowered is none; candidate 0 must be lowered.
run -j4 SCHEDULE_FLAGS=--refuse-2; expect "a candidate is refused" "lower:1 schedule:1 select:1"
grep -q "does not fit" out/my_net-2.refused || fail "the reason is not there"
[ ! -e out/my_net-2.prog ] && [ ! -e out/my_net-2.timing ] || fail "an old program stayed"
run SCHEDULE_FLAGS=--refuse-2; grep -q "Nothing to be done" run.txt || fail "a refused candidate is looked at again"
correct SCHEDULE_FLAGS=--refuse-2
run; expect "and no more" ""; [ -e out/my_net-2.timing ] && [ ! -e out/my_net-2.refused ] || fail "the candidate did not come back"
correct
if make_in out SCHEDULE_FLAGS=--refuse-0 > run.txt 2>&1; then fail "candidate 0 was refused and nobody noticed"; fi
grep -q "does not fit" run.txt || fail "no reason for the refusal of candidate 0"

# Equal work once, also by jobs at the same time.
run -j4 SCHEDULE_FLAGS=--equal; expect "equal schedules" "analyse:1 lower:1 schedule:1 select:1"
run -j4 LOWER_FLAGS=--same; expect "equal programs" "analyse:1 export:1 lower:3 select:1"; correct LOWER_FLAGS=--same

# A store for several folders; copies; a store that must not be written.
mkdir second third fourth
: > log; make_in second "STORE=$folder/shared store" > run.txt 2>&1; expect "a new store" "$all"
: > log; make_in third "STORE=$folder/shared store" > run.txt 2>&1; expect "another folder with the same store" ""
: > log; make_in fourth "STORE=$folder/shared store" COPY=1 > run.txt 2>&1; expect "with copies" ""
[ -z "$(find fourth -name 'my_net*' -type l)" ] || fail "COPY=1 left links"
diff <(results second) <(results third) && diff <(results second) <(results fourth) || fail "folders differ"
before=$(find "shared store" | wc -l)
rm -rf fourth; mkdir fourth; : > log; make_in fourth "STORE=$folder/shared store" READ_ONLY=1 PREPARE_FLAGS=--new > run.txt 2>&1
expect "a read-only store" "prepare:1"
[ "$(find "shared store" | wc -l)" = "$before" ] || fail "a read-only store was written"

# Why a file would be made again.
run; run why TARGET=my_net-0.prog; grep -q "^stored: " run.txt || fail "why: $(cat run.txt)"
run why TARGET=my_net-0.prog LOWER_FLAGS=--deep
grep -q "the command line of weft-lower is newer" run.txt && grep -q "argument .*--deep" run.txt || fail "why does not name the option: $(cat run.txt)"
later; echo third > "my net.onnx"; run why TARGET=my_net.graph; grep -q "my net.onnx is newer" run.txt && grep -q "input 0" run.txt || fail "why does not name the model: $(cat run.txt)"
expect "why runs nothing" ""

# A stage that fails leaves nothing that a later run takes for its result.
later; printf '#!/bin/bash\nexit 1\n' > bin/weft-prepare
if make_in out > run.txt 2>&1; then fail "a failing stage was not noticed"; fi
stub prepare; later; run; expect "after a failed stage" "$later_stages"; correct

# Killed at any moment, with everything under it, a build can be taken up again.
rm -rf out; mkdir out
for i in $(seq 9); do
  echo "model $((i / 4))" > "my net.onnx"
  setsid make --no-print-directory -C out -j3 -f "$folder/pipe lines/model.mk" "BIN=$folder/bin" "MODEL=$folder/my net.onnx" "CHIP=$folder/chip.json" > run.txt 2>&1 &
  sleep 0.0$((RANDOM % 9))$((RANDOM % 9)); [ $((i % 3)) = 0 ] && sleep 0.1
  kill -KILL -$! 2> /dev/null || true; wait $! 2> /dev/null || true
done
rm -f out/*.[0-9]*.part   # what a writer that could not clean up leaves is never taken for a result
run -j3; correct; run; expect "taken up again after kills" ""
exit $failures
