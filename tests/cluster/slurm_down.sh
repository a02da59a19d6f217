#!/bin/bash
# slurm_down.sh FOLDER: ends what slurm_up.sh FOLDER started, by the recorded processes only (read before the end: daemons remove
# their files early).
folder=$1
export SLURM_CONF="$folder/slurm.conf" PATH="$PATH:/usr/sbin"
processes=$(cat "$folder"/slurmctld.pid "$folder"/slurmd-n?.pid 2> /dev/null)
munged=$(cat "$folder/munge/pid" 2> /dev/null)
gone() { for _ in $(seq "$2"); do kill -0 "$1" 2> /dev/null || return 0; sleep 0.1; done; return 1; }
timeout 10 scontrol shutdown > /dev/null 2>&1
for process in $processes; do gone "$process" 30 || { kill "$process" 2> /dev/null; gone "$process" 30; }; done
[ -z "$munged" ] || { kill "$munged" 2> /dev/null; gone "$munged" 30; }
true
