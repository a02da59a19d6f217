#!/bin/bash
# What a hit of weft-cache costs: time per call of weft-cache, and of the stage that it spares, for the stages of one network.
#   bench/cache/hits.sh --bin DIR [--calls N] [--model NAME] [--chip CHIP.json]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
calls=50 model=resnet18 chip="$root/targets/isaac-168x96.json"
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=$(realpath "$2") ;;
    --calls) calls=$2 ;;
    --model) model=$2 ;;
    --chip) chip=$(realpath "$2") ;;
    *) echo "hits.sh: error: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift 2
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$bin/weft-zoo" "$model" --seed 1 -o net.onnx
sleep 3   # the hash of a file that changed lately is not remembered

now() { date +%s%N; }
# measure NAME CACHE-OPTIONS... -- COMMAND...
printf '%-10s %12s %12s %10s\n' stage 'hit ms' 'stage ms' 'hit/stage'
measure() {
  local name=$1 begin
  shift
  cached() { "$bin/weft-cache" --store store "$@" > /dev/null 2>&1; }
  begin=$(now); cached "$@"; local miss=$(($(now) - begin))
  cached "$@"
  begin=$(now)
  for _ in $(seq "$calls"); do cached "$@"; done
  local hit=$((($(now) - begin) / calls))
  awk -v n="$name" -v h=$hit -v m=$miss 'BEGIN { printf "%-10s %12.2f %12.1f %10.4f\n", n, h / 1e6, m / 1e6, h / m }'
}
measure zoo --out lenet.onnx -- "$bin/weft-zoo" lenet -o lenet.onnx
measure frontend --in net.onnx --out net.graph --out-blobs blobs --deps net.d -- "$bin/weft-frontend" net.onnx -o net.graph --blobs blobs --depfile net.d
measure target --in "$chip" --out chip.target --deps chip.d -- "$bin/weft-target" "$chip" -o chip.target --depfile chip.d
measure prepare --in net.graph --in chip.target --out net.tasks -- "$bin/weft-prepare" net.graph --target chip.target -o net.tasks
measure schedule --in net.tasks --in chip.target --out net.cands --out-pattern 'net-*.sched' -- "$bin/weft-schedule" net.tasks --target chip.target -o net.cands
measure lower --in net.tasks --in net-0.sched --in chip.target --out net-0.prog -- "$bin/weft-lower" net.tasks net-0.sched --target chip.target -o net-0.prog
measure analyse --in net-0.prog --in chip.target --out net-0.timing -- "$bin/weft-analyse" net-0.prog --target chip.target -o net-0.timing
measure export --in net-0.prog --in chip.target --out-folder net.pimsim -- "$bin/weft-export" net-0.prog --target chip.target -o net.pimsim
