#!/usr/bin/env python3
"""Manual pages: section 1 from the programs' --help, section 5 from the schemas' comments.

    packaging/man_pages.py --out DIR --version 0.1.0 --schemas schemas [PROGRAM...]
"""
import argparse
import re
import subprocess
from pathlib import Path

STATUSES = [("0", "done"), ("1", "the answer is no: does not fit, not supported, differs"), ("2", "wrong command line"), ("3", "an input file is not what it should be"),
            ("4", "system: input and output, memory, size limit"), ("70", "a bug in weft: please report it")]


def escape(text):
    """Text for groff: backslashes and dashes literally, no line taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def verbatim(lines):
    return ".nf\n.ft CR\n" + "\n".join(escape(line) for line in lines) + "\n.ft\n.fi\n"


def page(name, section, version, summary, body):
    return f'.TH {name.upper()} {section} "" "weft {version}" "weft"\n.SH NAME\n{escape(name)} \\- {escape(summary)}\n{body}'


def program_page(program, version):
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    name = Path(program).name.removesuffix(".py")
    lines = text.splitlines()
    usage = next(index for index, line in enumerate(lines) if line.startswith("Usage: "))
    summary = " ".join(lines[:usage]).strip() or next(line for line in lines[usage + 1:] if line.strip() and not line.startswith(" "))
    body = f".SH SYNOPSIS\n{escape(lines[usage].removeprefix('Usage: '))}\n"
    section = []

    def flush(title):
        return f".SH {title}\n{verbatim(section)}" if any(line.strip() for line in section) else ""

    title = "DESCRIPTION"
    for line in lines[usage + 1:]:
        heading = re.fullmatch(r"([A-Z][A-Za-z ]*):", line)
        if heading:
            body += flush(title)
            title, section = heading.group(1).upper(), []
        else:
            section.append(line)
    body += flush(title)
    body += ".SH EXIT STATUS\n" + "".join(f".TP\n.B {status}\n{escape(meaning)}\n" for status, meaning in STATUSES)
    body += ".SH SEE ALSO\n.BR weft\\-artifacts (5),\n.BR weft\\-inspect (1),\n.BR weft\\-cache (1)\n"
    return f"{name}.1", page(name, 1, version, summary.rstrip("."), body)


def schema_page(schema, version):
    text = schema.read_text()
    comment = [re.sub(r"^// ?", "", line) for line in text.split("namespace", 1)[0].splitlines()]
    extension = re.search(r'file_extension "(\w+)"', text).group(1)
    identifier = re.search(r'file_identifier "(\w+)"', text).group(1)
    name = f"weft-{schema.stem}"
    body = f".SH DESCRIPTION\nA FlatBuffers file with identifier {identifier} at bytes 4 to 7 and extension .{extension}.\n.PP\n"
    body += verbatim(comment)
    body += f".SH INSPECTION\n{verbatim([f'weft-inspect stat FILE.{extension}', f'flatc --json --strict-json share/weft/schemas/{schema.name} -- FILE.{extension}'])}"
    body += f".SH SCHEMA\n{verbatim(text.splitlines())}.SH SEE ALSO\n.BR weft\\-artifacts (5),\n.BR weft\\-inspect (1)\n"
    return f"{name}.5", page(name, 5, version, comment[0].rstrip("."), body), extension


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--schemas", type=Path, required=True)
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    for section in ("man1", "man5"):
        (arguments.out / section).mkdir(parents=True, exist_ok=True)
    for program in arguments.programs:
        name, text = program_page(program, arguments.version)
        name = name.replace("sweep.1", "weft-sweep.1") if name.startswith("sweep") else name
        (arguments.out / "man1" / name).write_text(text.replace(".TH SWEEP", ".TH WEFT-SWEEP").replace("NAME\nsweep", "NAME\nweft\\-sweep"))
    kinds = []
    for schema in sorted(arguments.schemas.glob("*.fbs")):
        name, text, extension = schema_page(schema, arguments.version)
        (arguments.out / "man5" / name).write_text(text)
        kinds.append((schema.stem, extension))
    body = (".SH DESCRIPTION\nweft's programs exchange FlatBuffers files, one kind per schema. All begin with an offset of four bytes and their identifier; the field "
            "file_bytes of each is its own size. Bulk data is columns: vectors of numbers or of structs without padding, indexed by dense ids.\n.SH KINDS\n")
    body += "".join(f".TP\n.B .{extension}\nsee\n.BR weft\\-{kind} (5)\n" for kind, extension in kinds)
    (arguments.out / "man5" / "weft-artifacts.5").write_text(page("weft-artifacts", 5, arguments.version, "files that weft's programs exchange", body))


if __name__ == "__main__":
    main()
