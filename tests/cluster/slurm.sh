#!/bin/bash
# A sweep on a real Slurm of two nodes, one of which is killed in the middle: every byte as in the local run.
#   slurm.sh BIN SOURCE
set -u
bin=$1 root=$2
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
chmod 755 "$work"
"$here/slurm_up.sh" "$work/slurm"
status=$?
[ $status = 0 ] || { rm -rf "$work"; exit $status; }
export SLURM_CONF="$work/slurm/slurm.conf" PATH="$PATH:/usr/sbin"
trap 'scancel -u root; "$here/slurm_down.sh" "$work/slurm"; rm -rf "$work"' EXIT
failures=0
check() {   # check WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=1; fi
}

# Six networks on two chips, and one that is refused, which is a result like any other.
{
  printf 'model\tchip\toptions\n'
  for model in lenet mlp resnet18:32 squeezenet1_1:32 mobilenetv2:32 googlenet:32; do
    for chip in isaac-168x96 puma-138x128; do printf '%s\t%s\tSCHEDULE_FLAGS="--placement-moves 10"\n' $model $chip; done
  done
  printf 'lenet\tisaac-168x96\tLOWER_FLAGS="--max-depth 1"\n'
} > "$work/table.tsv"
cells=$(($(wc -l < "$work/table.tsv") - 1))
sweep() { "$root/pipelines/sweep.py" "$1" "$work/table.tsv" --bin "$bin" "${@:2}"; }

sweep run -o "$work/local" -j 2 2> "$work/local.txt" > "$work/local.out" || cat "$work/local.txt"
cat "$work/local.out"

sweep slurm -o "$work/cluster" --poll 0.2 2> "$work/cluster.txt" > "$work/cluster.out" &
driver=$!
# Node n2 dies with all its processes while a cell runs there and a few are done.
on_node() { grep -lzs "^SLURMD_NODENAME=$1" $(grep -lzs "^SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ) | tr -dc '0-9\n'; }
for _ in $(seq 600); do
  done=$(ls "$work"/cluster/cells/*/result.json 2> /dev/null | wc -l)
  if [ "$done" -ge 2 ] && victims=$(on_node n2) && [ "$(wc -w <<< "$victims")" -ge 3 ]; then
    # Stopped, they cannot end by themselves meanwhile. A cell that is well under way has a make.
    kill -STOP $victims 2> /dev/null
    victims=$(on_node n2)
    ps -o comm= -p "$(paste -sd, <<< "$victims")" 2> /dev/null | grep -qx make && break
    kill -CONT $victims 2> /dev/null
  fi
  victims=
  sleep 0.05
done
# The daemon, the processes that hold the jobs, and the jobs.
kill -KILL $(cat "$work/slurm/slurmd-n2.pid") $(for process in $victims; do ps -o ppid= -p "$process"; done | sort -u | grep -v '^ *[01]$') $victims 2> /dev/null
scontrol update nodename=n2 state=down reason=killed
echo "node n2 killed with $(wc -w <<< "$victims") processes of its jobs after $SECONDS s, $done of $cells cells done"
check "a cell died with it" test -n "$victims"
slurmd -N n2 -f "$SLURM_CONF"
scontrol update nodename=n2 state=resume 2> /dev/null   # it may have come back by itself
# Slurm lets requeued jobs wait two minutes; the administrator who knows that the node is back need not.
while kill -0 $driver 2> /dev/null; do
  for job in $(squeue -h -r -t PENDING -o '%A %r' | awk '$2 == "BeginTime" { print $1 }'); do scontrol update jobid="$job" starttime=now; done
  sleep 0.3
done
wait $driver
echo "weft-sweep slurm ended with status $? after $SECONDS s"
tail -n 4 "$work/cluster.txt"
cat "$work/cluster.out"

same() { cmp "$work/local/$1" "$work/cluster/$1"; }
check "a cell was requeued" grep -q 'Restarts=[1-9]' <(scontrol show jobs -o)
check "results.tsv is the same" same results.tsv
check "results.json is the same" same results.json
check "all cells are there" test "$(grep -c -P '\tok\t' "$work/cluster/results.tsv")" = $((cells - 1))
check "the refusal says why" grep -q -P '\trefused\t.*max-depth' "$work/cluster/results.tsv"
# Artifacts, exports and weights; reports carry the time of their run.
sums() { (cd "$1" && find cells \( -name 'net*' -o -path '*/net.pimsim/*' -o -path '*/blobs/*' \) -not -path '*/reports/*' -not -name '*.part' -print0 | sort -z | xargs -0 cksum 2> /dev/null); }
sums "$work/local" > "$work/local.sums"; sums "$work/cluster" > "$work/cluster.sums"
check "$(wc -l < "$work/local.sums") files of the cells are the same" diff "$work/local.sums" "$work/cluster.sums"
check "there are many" test "$(sums "$work/cluster" | wc -l)" -gt 1000
# The long stages sent out by srun.
mkdir "$work/launched"
make --no-print-directory -s -j4 -C "$work/launched" -f "$root/pipelines/model.mk" MODEL="$work/local/models/lenet.onnx" CHIP="$root/targets/isaac-168x96.json" BIN="$bin" NAME=net \
  SCHEDULE_FLAGS='--placement-moves 10' SCHEDULE_LAUNCHER='srun -Q -n1 -c1' LOWER_LAUNCHER='srun -Q -n1 -c1' > "$work/launched.txt" 2>&1 || cat "$work/launched.txt"
check "stages launched by srun make the same program" cmp "$work/local/cells/lenet-isaac-168x96-0/net.prog" "$work/launched/net.prog"
check "the store is whole" "$bin/weft-cache" --store "$work/cluster/store" --read-only fsck
exit $failures
