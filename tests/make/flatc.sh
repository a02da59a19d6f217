#!/bin/bash
# The flatc lines of docs/artifacts.md work as printed, on the files of version 1.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$root/schemas" schemas
count=0
while read -r line; do
  schema=$(sed -E 's|.*schemas/([a-z]+)\.fbs.*|\1|' <<< "$line")
  file=${line##* }
  cp "$root/tests/fuzz/corpus/$schema/version-1.${file##*.}" "$file"
  eval "$line"
  json=${file%.*}.json
  python3 -m json.tool "$json" > /dev/null
  grep -q file_bytes "$json"
  rm "$file" "$json"
  count=$((count + 1))
done < <(sed -n 's/^    \(flatc .*\)$/\1/p' "$root/docs/artifacts.md")
kinds=$(find "$root/schemas" -name '*.fbs' | wc -l)
[ "$count" = "$kinds" ] || { echo "docs/artifacts.md has $count flatc lines for $kinds schemas"; exit 1; }
echo "$count flatc lines work"
