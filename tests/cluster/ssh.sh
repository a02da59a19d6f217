#!/bin/bash
# A sweep by GNU parallel over ssh, with a stand-in for ssh that runs its command here; and what a local sweep promises.
#   ssh.sh BIN SOURCE
set -u
bin=$1 root=$2
command -v parallel > /dev/null || { echo "skipped: GNU parallel is not installed (scripts/install-dependencies --cluster)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PARALLEL_HOME="$work/parallel"
mkdir -p "$PARALLEL_HOME"
cat > "$work/ssh" << 'STUB'
#!/bin/bash
# ssh [options] HOST COMMAND: here.
while [ $# -gt 0 ]; do case "$1" in -o | -p | -l | -S) shift 2 ;; -*) shift ;; *) break ;; esac; done
echo "$1" >> "$(dirname "$0")/hosts"
shift
[ "$1" != -- ] || shift
exec sh -c "$*"
STUB
chmod +x "$work/ssh"
failures=0
check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=1; fi
}
printf 'model\tchip\toptions\tname\nlenet\tisaac-168x96\t\tone\nmlp\texample-64x64\t\ttwo\nmissing.onnx\tisaac-168x96\t\tthree\nlenet\tisaac-168x96\tLOWER_FLAGS="--max-depth 0"\tfour\n' > "$work/table.tsv"
sweep() { "$root/pipelines/sweep.py" "$1" "$work/table.tsv" --bin "$bin" "${@:2}" > "$work/out.txt" 2> "$work/messages.txt"; }
sweep run -o "$work/local" -j 2
check "a sweep with a failed cell ends with status 1" test $? = 1
check "the others are done" test "$(grep -c -P '\tok\t' "$work/local/results.tsv")" = 2
check "the failed cell says why" grep -q -P '^three\t.*\tfailed\t.*missing.onnx: no such file' "$work/local/results.tsv"
check "the refused cell says why" grep -q -P '^four\t.*\trefused\t.*max-depth' "$work/local/results.tsv"
cp "$work/local/results.tsv" "$work/first.tsv"
made() { "$bin/weft-cache" --store "$work/local/store" stats | awk '$1 == "made" { print $2 }'; }
before=$(made)
rm "$work/local/cells/two/result.json"
sweep collect -o "$work/local"
check "a cell without result is missing" grep -q -P '^two\t.*\tmissing\t' "$work/local/results.tsv"
sweep run -o "$work/local" -j 2
check "taken up again: the same results" cmp "$work/first.tsv" "$work/local/results.tsv"
check "... and no stage ran" test "$(made)" = "$before"
unset SHELL # as under a service
sweep ssh -o "$work/far" --hosts first,second --ssh "$work/ssh"
check "over ssh: the same results" diff "$work/first.tsv" "$work/far/results.tsv"
check "... on two machines" test "$(sort -u "$work/hosts" | grep -c -E '^(first|second)$')" = 2
printf 'model\tchip\nlenet\tno-chip\n' > "$work/table.tsv"
sweep run -o "$work/bad"
check "an unknown chip is a failed cell" grep -q 'no-chip' "$work/bad/results.tsv"
printf 'net\tchip\nlenet\tno-chip\n' > "$work/table.tsv"
sweep run -o "$work/bad"
check "a table without models: status 2" test $? = 2
[ $failures = 0 ] || cat "$work/messages.txt"
exit $failures
