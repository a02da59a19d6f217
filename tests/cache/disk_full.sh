#!/bin/bash
# A full disk: a clear message, nothing half-written, and all well again once there is room. Needs the right to mount a small tmpfs.
set -u
bin=$1
work=$(mktemp -d)
disk="$work/disk"
mkdir "$disk"
trap 'umount "$disk" 2> /dev/null; rm -rf "$work"' EXIT
mount -t tmpfs -o size=2m weft-test "$disk" 2> /dev/null || { echo "skipped: no right to mount a tmpfs"; exit 77; }
failures=0
check() {   # check WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=1; fi
}
cat > "$work/make" << 'STUB'
#!/bin/sh
head -c "$2" /dev/zero | tr '\0' "$1" > "$3"
STUB
chmod +x "$work/make"
cache() { "$bin/weft-cache" --store "$disk/store" --out "$work/$3" -- "$work/make" "$1" "$2" "$work/$3" 2> "$work/messages"; }
status_is() { [ "$status" = "$1" ]; }
empty() { [ -z "$(find "$1" -mindepth 1 2> /dev/null)" ]; }
clean() { "$bin/weft-cache" --store "$disk/store" --read-only fsck > /dev/null; }

cache a 200000 small
check "a small file" cmp -s "$work/small" <(head -c 200000 /dev/zero | tr '\0' a)
before=$(find "$disk/store" -type f | wc -l)
# The command itself finds no room.
cache b 4000000 large; status=$?
check "no room for the command's file: it fails" test "$status" != 0
check "... and says why" grep -q 'No space left' "$work/messages"
check "... and leaves no result" test ! -e "$work/large" -a ! -L "$work/large"
check "... and no rest" empty "$disk/store/tmp"
check "... and no new file" test "$(find "$disk/store" -type f | wc -l)" = "$before"
# Just enough for the command, not for the record.
dd if=/dev/zero of="$disk/filler" bs=4096 2> /dev/null
check "the disk is full" test "$(df --output=avail "$disk" | tail -1)" -eq 0
cache c 100 tiny; status=$?
check "no room for anything: it fails" test "$status" != 0
check "... and says why" grep -q 'No space left' "$work/messages"
check "... and leaves no result" test ! -e "$work/tiny" -a ! -L "$work/tiny"
check "... and no rest" empty "$disk/store/tmp"
check "what was stored is still whole" clean
cache a 200000 again; status=$?
check "what was stored is still of use (status $status)" cmp -s "$work/again" "$work/small"
# Room for the object, none for the record, and every step between: free a page at a time.
for pages in 1 2 3 4 5 6; do
  truncate -s -$((4096)) "$disk/filler"
  cache d 3000 step; status=$?
  if [ "$status" = 0 ]; then check "with $pages pages: the result is whole" test "$(stat -L -c %s "$work/step")" = 3000
  else check "with $pages pages: no result" test ! -e "$work/step"; fi
  check "with $pages pages: the store is whole" clean
done
rm "$disk/filler"
for size in 100 4000; do
  cache c $size tiny; status=$?
  check "with room again: status 0, not $status" status_is 0
  check "... and the result" test "$(stat -L -c %s "$work/tiny")" = $size
done
exit $failures
