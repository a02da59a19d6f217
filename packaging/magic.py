#!/usr/bin/env python3
"""Lines for file(1) that name weft's artifacts: packaging/magic.py OUT SCHEMA..."""
import re
import sys
from pathlib import Path

lines = ["# weft's artifacts: file -m magic net.prog"]
for path in sorted(map(Path, sys.argv[2:])):
    identifier = re.search(r'file_identifier "(\w+)"', path.read_text()).group(1)
    lines.append(f"4\tstring\t{identifier}\tweft {path.stem} (FlatBuffers, schema {path.name})")
Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
