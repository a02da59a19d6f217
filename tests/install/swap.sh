#!/bin/bash
# The worked examples of docs/swap-a-stage.md, with the commands that stand there: their schedules verify, are lowered, analysed and
# selected, and the programs compute the right values.
#   swap.sh BIN SOURCE
set -eu
bin=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$root/schemas" "$root/examples" "$root/targets" .
"$bin/weft-zoo" lenet --seed 1 -o net.onnx
# The lines that build the C++ example.
bash -euc "$(sed -n 's/^    \(flatc --cpp .*\|g++ .*\)$/\1/p' "$root/docs/swap-a-stage.md" | sed 's/^flatc/mkdir -p gen; flatc/; s/-O2/-O2 -Wall -Wextra -Werror/')"
expected() { "$bin/weft-inspect" stat "$1" | awk -F '\t' -v key="$2" '$1 == key { print $2 }'; }
for program in ./whole-families examples/swap-a-stage/round_robin.py; do
  grep -q "make SCHEDULE=$program " "$root/docs/swap-a-stage.md"
  rm -rf out
  SCHEDULE="$program" "$root/scripts/compile" --bin "$bin" --model net.onnx --chip targets/isaac-168x96.json --out out --name net > /dev/null 2> messages || { cat messages; exit 1; }
  "$bin/weft-inspect" verify out/net.cands out/net-0.sched out/net-0.prog out/net.timing > /dev/null
  strategy=$(expected out/net-0.sched strategy)
  [ "$strategy" = "$(basename "$program" .py | tr _ -)" ] || { echo "FAILED: the schedule is of '$strategy'"; exit 1; }
  [ "$(expected out/net.timing availability)" = Available ] || { echo "FAILED: no timing"; exit 1; }
  # Values: three inferences against the reference executor.
  "$bin/pipeline_values" inputs out/net.graph 3 in normal
  "$bin/pipeline_values" reference out/net.graph out/blobs in reference 3
  inputs=()
  while read -r file; do inputs+=(--input "$file"); done < <(find in -name '*.npy' | sort -V)
  "$bin/weft-simulate" out/net.prog --target out/net.target --graph out/net.graph --blobs out/blobs "${inputs[@]}" --outputs values > /dev/null
  "$bin/pipeline_values" compare values reference 1e-4 3
  rm -rf in reference values
  echo "ok: $program, interval $(expected out/net.timing interval_ns) ns"
done
