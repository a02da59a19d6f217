#!/bin/bash
# pipelines/model.mk with stub stages: what runs first, after nothing changed, after each kind of edit, with -j, with spaces.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder="$work/a folder"
mkdir -p "$folder/bin" "$folder/out"
cd "$folder"
failures=0

# Every stub logs its name and first input, and writes what it was given.
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
inputs=(); output=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) output=$2; shift 2 ;;
    --target) inputs+=("$2"); shift 2 ;;
    --blobs|--report) shift 2 ;;
    --depfile) printf '%s: %s\n' "$output" "$(printf '%s' "${inputs[0]}" | sed 's/ /\\ /g')" > "$2"; shift 2 ;;
    --*) shift ;;
    *) inputs+=("$1"); shift ;;
  esac
done
echo "$stage $(basename "$output")" >> "$log"
for input in "${inputs[@]}"; do [ -e "$input" ] || { echo "missing $input" >&2; exit 3; }; done
case "$stage" in
  schedule) for i in 0 1 2; do cat "${inputs[@]}" | cksum > "${output%.cands}-$i.sched"; done
            printf '%s-0.sched\n%s-1.sched\n%s-2.sched\n' "${output%.cands}" "${output%.cands}" "${output%.cands}" > "$output" ;;
  export) mkdir -p "$output"; cat "${inputs[@]}" | cksum > "$output/config.json" ;;
  *) cat "${inputs[@]}" | cksum > "$output" ;;
esac
STUB
  chmod +x "bin/weft-$1"
}
for stage in frontend target prepare schedule lower analyse select export inspect; do stub "$stage"; done
echo model > "my net.onnx"
echo chip > chip.json

run() { : > log; make -s --no-print-directory -C out -f "$root/pipelines/model.mk" "BIN=$folder/bin" "MODEL=$folder/my net.onnx" "CHIP=$folder/chip.json" "$@" > run.txt 2>&1 || { cat run.txt; exit 1; }; }
expect() {
  local what=$1 wanted=$2 got
  got=$(cut -d' ' -f1 log | sort | uniq -c | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }')
  if [ "$got" = "$wanted" ]; then echo "ok: $what"; else echo "FAILED: $what: ran '$got' instead of '$wanted'"; failures=1; fi
}
later() { sleep 0.02; }   # make compares times with nanoseconds, the file system's clock ticks every few milliseconds

all="analyse:3 export:1 frontend:1 lower:3 prepare:1 schedule:1 select:1 target:1"
run -j4
expect "first build" "$all"
run; expect "nothing changed" ""
run -j8; expect "nothing changed, with jobs" ""
[ -e "out/my_net.prog" ] || { echo "FAILED: no my_net.prog"; failures=1; }
cmp -s out/my_net.prog out/my_net-1.prog || { echo "FAILED: my_net.prog is not the chosen candidate's"; failures=1; }

later; echo other > "my net.onnx"; run -j4
expect "the model changed" "analyse:3 export:1 frontend:1 lower:3 prepare:1 schedule:1 select:1"
later; echo other > chip.json; run
expect "the chip changed" "analyse:3 export:1 lower:3 prepare:1 schedule:1 select:1 target:1"
later; touch bin/weft-analyse; run
expect "weft-analyse changed" "analyse:3 export:1 select:1"
later; touch bin/weft-export; run
expect "weft-export changed" "export:1"
later; run LOWER_FLAGS=--max-depth=0
expect "options of weft-lower changed" "analyse:3 export:1 lower:3 select:1"
run LOWER_FLAGS=--max-depth=0; expect "same options again" ""
later; cp bin/weft-lower bin/my-lower; run "LOWER=$folder/bin/my-lower"
expect "another lower" "analyse:3 export:1 my-lower:3 select:1"
later; run
expect "and back" "analyse:3 export:1 lower:3 select:1"
later; rm out/my_net-1.timing; run
expect "a timing was deleted" "analyse:1 export:1 select:1"
later; rm out/my_net-2.sched; run -j4
expect "a schedule was deleted" "analyse:3 export:1 lower:3 schedule:1 select:1"
later; touch out/my_net-0.sched; run
expect "one schedule was edited" "analyse:1 export:1 lower:1 select:1"

# A stage that fails leaves nothing that a later run takes for its result.
later; printf '#!/bin/bash\nexit 1\n' > bin/weft-prepare
if make -s -C out -f "$root/pipelines/model.mk" "BIN=$folder/bin" "MODEL=$folder/my net.onnx" "CHIP=$folder/chip.json" > run.txt 2>&1; then
  echo "FAILED: a failing stage was not noticed"; failures=1
fi
stub prepare; later; run
expect "after a failed stage" "analyse:3 export:1 lower:3 prepare:1 schedule:1 select:1"
exit $failures
