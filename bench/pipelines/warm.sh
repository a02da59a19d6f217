#!/bin/bash
# One network's chain: made from nothing, made again in the same folder, and in a new folder from a warm store. Wall and processor time.
#   bench/pipelines/warm.sh --bin DIR [--model NAME] [--chip CHIP.json] [--jobs N] [--runs N]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
model=resnet18 chip="$root/targets/isaac-168x96.json" jobs=2 runs=10
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=$(realpath "$2") ;;
    --model) model=$2 ;;
    --chip) chip=$(realpath "$2") ;;
    --jobs) jobs=$2 ;;
    --runs) runs=$2 ;;
    *) echo "warm.sh: error: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift 2
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$bin/weft-zoo" "$model" --seed 1 -o net.onnx
touch -d '1 minute ago' net.onnx
build() { make --no-print-directory -s -j "$jobs" -C "$1" -f "$root/pipelines/model.mk" MODEL="$work/net.onnx" CHIP="$chip" BIN="$bin" STORE="$work/store" NAME=net > /dev/null 2>&1; }
TIMEFORMAT='%R %U %S'
# smallest NAME COMMAND...: of all runs, by wall time.
smallest() {
  local name=$1
  shift
  for folders in $(seq "$runs"); do { time "$@"; } 2>&1; done | sort -n | head -n 1 |
    awk -v n="$name" '{ printf "%-34s %8.0f ms wall %8.0f ms processor\n", n, 1000 * $1, 1000 * ($2 + $3) }'
}
# Each time another folder, and none is removed meanwhile: file systems give out the places of files just removed slowly.
folders=0
new_folder() { mkdir "new$folders"; build "new$folders"; }
mkdir first
made() { "$bin/weft-cache" --store store stats | awk '$1 == "made" { print $2 }'; }
runs=1 smallest "from nothing" build first
count=$(made)
smallest "again, in the same folder" build first
smallest "in a new folder, store warm" new_folder
[ "$(made)" = "$count" ] || { echo "a stage ran"; exit 1; }
echo "$count stages ran, all of them the first time"
