#!/bin/bash
# docs/inspect.md holds what its commands print.
set -u
root=$1 bin=$2
if diff "$root/docs/inspect.md" <("$root/scripts/inspect-doc" "$bin"); then echo "docs/inspect.md is true"; else
  echo "docs/inspect.md is stale: scripts/inspect-doc build/release/bin > docs/inspect.md"
  exit 1
fi
