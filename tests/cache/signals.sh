#!/bin/bash
# weft-cache that is told to end: its command ends too, nothing is left, the status says which signal.
set -u
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=1; fi
}
cat > slow << 'STUB'
#!/bin/sh
echo $$ > command.pid
printf half > "$1"
exec sleep 30
STUB
chmod +x slow
# Ended, or ended and not yet collected by its new parent.
gone() { for _ in $(seq 20); do grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status" || return 0; sleep 0.1; done; return 1; }
for signal in TERM INT HUP KILL; do
  rm -f command.pid
  # A background job of a shell without job control ignores SIGINT; env gives it back.
  env --default-signal=INT "$bin/weft-cache" --store store --out out --stamp stamp -- ./slow out &
  cache=$!
  for _ in $(seq 100); do [ -s command.pid ] && break; sleep 0.05; done
  command=$(cat command.pid)
  kill -$signal $cache
  wait $cache 2> /dev/null
  status=$?
  expected=$((128 + $(kill -l $signal)))
  check "SIG$signal: status $expected, not $status" test $status = $expected
  check "SIG$signal: the command ended too" gone "$command"
  check "SIG$signal: no result" test ! -e out -a ! -e stamp
  [ $signal = KILL ] || check "SIG$signal: no rest" test -z "$(ls store/tmp 2> /dev/null)"
done
printf '#!/bin/sh\necho done > "$1"\n' > slow
"$bin/weft-cache" --store store --out out --stamp stamp -- ./slow out
check "afterwards it runs" grep -q done out
exit $failures
