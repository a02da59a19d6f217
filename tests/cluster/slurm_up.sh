#!/bin/bash
# slurm_up.sh FOLDER: a Slurm of two nodes on this machine, for tests: its own configuration, ports, munge socket and key, all in
# FOLDER. No systemd, no cgroups; needs root. Prints what is missing and ends with 77 where it cannot run; slurm_down.sh ends it.
set -eu
folder=$1
skip() { echo "skipped: $*"; exit 77; }
for program in slurmctld slurmd sbatch munged; do
  command -v "$program" > /dev/null || [ -x "/usr/sbin/$program" ] || skip "$program is not installed (scripts/install-dependencies --cluster)"
done
[ "$(id -u)" = 0 ] || skip "starting a Slurm needs root"
export PATH="$PATH:/usr/sbin"
host=$(hostname -s)
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

mkdir -p "$folder"/{state,spool-n1,spool-n2,munge}
chmod 755 "$folder" "$folder/munge"
dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 2> /dev/null
chown -R munge: "$folder/munge"
chmod 400 "$folder/munge/key"
runuser -u munge -- /usr/sbin/munged --key-file="$folder/munge/key" --socket="$folder/munge/socket" --log-file="$folder/munge/log" --pid-file="$folder/munge/pid" \
  --seed-file="$folder/munge/seed"

cat > "$folder/slurm.conf" << CONF
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmctldPort=$(free_port)
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
StateSaveLocation=$folder/state
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdLogFile=$folder/slurmd-%n.log
SlurmdSpoolDir=$folder/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
MinJobAge=300
KillWait=5
InactiveLimit=0
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=2 RealMemory=1000 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
export SLURM_CONF="$folder/slurm.conf"
slurmctld -c -f "$SLURM_CONF"
for node in n1 n2; do slurmd -N $node -f "$SLURM_CONF"; done
for _ in $(seq 200); do
  [ "$(sinfo -h -N -o %T 2> /dev/null | sort -u)" = idle ] && exit 0
  sleep 0.1
done
echo "the nodes did not come up"
tail -n 5 "$folder"/*.log
"$(dirname "$0")/slurm_down.sh" "$folder"
exit 1
