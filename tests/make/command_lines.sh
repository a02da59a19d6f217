#!/bin/bash
# What every program's command line has in common: help, version, statuses, the form of messages.
set -u
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
check() {   # check WHAT CONDITION...
  local what=$1
  shift
  if ! "$@"; then echo "FAILED: $what"; failures=1; fi
}
status_is() { [ "$status" = "$1" ]; }
run() { "$program" "$@" > stdout 2> stderr < /dev/null; status=$?; }

for program in "$bin"/weft-*; do
  name=$(basename "$program")
  run --help
  check "$name --help: status" status_is 0
  check "$name --help: examples" grep -qi example stdout
  check "$name --help: usage" grep -q "Usage: $name" stdout
  check "$name --help: nothing on standard error" test ! -s stderr
  run --version
  check "$name --version" grep -Eqx "$name [0-9]+\.[0-9]+\.[0-9]+" stdout
  run --no-such-option
  check "$name --no-such-option: status" status_is 2
  check "$name --no-such-option: message" grep -q "^$name: error: " stderr
  check "$name --no-such-option: nothing on standard output" test ! -s stdout
  "$program" --help > /dev/full 2> stderr
  status=$?
  check "$name --help > /dev/full: status" status_is 4
done

# A missing and a foreign input file: status 3 and a message that names the file.
printf 'this is no artifact of weft' > foreign
input_of() {
  case "$1" in
    frontend) echo "$2 -o out.graph" ;;
    target) echo "$2 -o out.target" ;;
    prepare) echo "$2 --target $2 -o out.tasks" ;;
    schedule) echo "$2 --target $2 -o out.cands" ;;
    lower) echo "$2 $2 --target $2 -o out.prog" ;;
    analyse) echo "$2 --target $2 -o out.timing" ;;
    select) echo "$2 $2 -o out.selection" ;;
    export) echo "$2 --target $2 -o out" ;;
    simulate) echo "$2 --target $2" ;;
    inspect) echo "stat $2" ;;
  esac
}
for stage in frontend target prepare schedule lower analyse select export simulate inspect; do
  program="$bin/weft-$stage"
  for file in missing foreign; do
    # shellcheck disable=SC2046  # the words are arguments
    run $(input_of "$stage" "$file")
    check "weft-$stage with a $file file: status 3, not $status" status_is 3
    check "weft-$stage with a $file file: names it" grep -q "^weft-$stage: error: .*$file" stderr
    check "weft-$stage with a $file file: leaves nothing" test -z "$(find . -name 'out*')"
  done
done
[ "$failures" = 0 ] && echo "all programs keep the conventions"
exit $failures
