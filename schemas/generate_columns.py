#!/usr/bin/env python3
"""Write the C++ column types of one schema: plain row structs, a table of columns, reading, writing and visiting.

    generate_columns.py schemas/program.fbs OUTPUT_DIRECTORY

FlatBuffers' own generated code does the encoding and the verifying; this adds what every stage would otherwise write by
hand: rows as plain structs of the same layout (checked at compile time), one struct of columns in two forms (owned vectors
to build, spans over the mapped file to read), and a reader that names a missing column. The grammar is the part of the
FlatBuffers schema language that weft uses: enums, structs of scalars, tables of scalars, strings, vectors, and
tables that hold scalars only.
"""
import re
import sys
from pathlib import Path

SCALARS = {
    "bool": "bool", "ubyte": "std::uint8_t", "byte": "std::int8_t", "ushort": "std::uint16_t", "short": "std::int16_t",
    "uint": "std::uint32_t", "int": "std::int32_t", "ulong": "std::uint64_t", "long": "std::int64_t",
    "float": "float", "double": "double",
}


# The root field that holds the file's exact size; the reader checks it, no one else sees it.
SIZE_FIELD = "file_bytes"


def parse(text):
    text = re.sub(r"//[^\n]*", "", text)
    enums = [name for name in re.findall(r"enum\s+(\w+)\s*:", text)]
    records = {}
    optional = set()
    for kind, name, body in re.findall(r"\b(struct|table)\s+(\w+)\s*\{([^}]*)\}", text):
        rows = re.findall(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*[^;(]+)?(\([^)]*\))?\s*;", body)
        fields = [(field, field_type) for field, field_type, _ in rows]
        # Vectors added after a schema's first release are not required: absent means empty, and empty is not stored.
        optional |= {(name, field) for field, field_type, attributes in rows if field_type[0] == "[" and "required" not in attributes}
        records[name] = (kind, fields)
    root = re.search(r"root_type\s+(\w+)", text).group(1)
    identifier = re.search(r'file_identifier\s+"(\w{4})"', text).group(1)
    extension = re.search(r'file_extension\s+"(\w+)"', text).group(1)
    return enums, records, root, identifier, extension, optional


class Schema:
    def __init__(self, path):
        self.stem = path.stem
        self.enums, self.records, self.root, self.identifier, self.extension, self.optional = parse(path.read_text())

    def cpp(self, type_name):
        if type_name in SCALARS:
            return SCALARS[type_name]
        if type_name == "string":
            return "std::string"
        return type_name

    def columns(self):
        return [(field, kind) for field, kind in self.records[self.root][1] if field != SIZE_FIELD]

    def is_struct(self, type_name):
        return type_name in self.records and self.records[type_name][0] == "struct"

    def is_table(self, type_name):
        return type_name in self.records and self.records[type_name][0] == "table"


def row_types(schema):
    out = []
    for name in schema.enums:
        out.append(f"using fbs::{name};")
    for name, (kind, fields) in schema.records.items():
        if name == schema.root:
            continue
        members = "\n".join(f"    {schema.cpp(t)} {f}{{}};" for f, t in fields)
        out.append(f"struct {name} {{\n{members}\n    bool operator==(const {name}&) const = default;\n}};")
        if kind == "struct":
            out.append(f"static_assert(sizeof({name}) == sizeof(fbs::{name}) && std::is_trivially_copyable_v<{name}>);")
            # Hidden padding would put uninitialised bytes into artifacts.
            members_size = " + ".join(f"sizeof({schema.cpp(t)})" for _, t in fields)
            out.append(f"static_assert(sizeof({name}) == {members_size}, \"{name} has padding\");")
    return "\n".join(out)


def root_type(schema):
    root = schema.root
    members = []
    for field, type_name in schema.columns():
        if type_name == "[string]":
            members.append(f"    std::vector<std::string> {field};")
        elif type_name.startswith("["):
            members.append(f"    Column<{schema.cpp(type_name[1:-1])}> {field};")
        else:
            members.append(f"    {schema.cpp(type_name)} {field}{{}};")
    return f"template <template <class> class Column>\nstruct {root}Table {{\n" + "\n".join(members) + f"""
}};
/// The columns to build: owned vectors.
using {root}Columns = {root}Table<OwnedColumn>;
/// The columns to read: spans over a mapped file or over {root}Columns, which must outlive them.
using {root} = {root}Table<SpanColumn>;
/// Spans over `columns`.
{root} view(const {root}Columns& columns);
/// The file's bytes; a pure function of the columns.
flatbuffers::DetachedBuffer serialize(const {root}& columns);
template <>
struct ArtifactTraits<{root}> {{
    static constexpr std::string_view identifier = "{schema.identifier}";
    static constexpr std::string_view extension = "{schema.extension}";
    static constexpr std::string_view kind = "{schema.stem}";
    /// FlatBuffers' structural verification with raised limits, and the exact size.
    static bool verify(std::span<const std::byte> bytes);
    /// Spans over verified bytes. A missing column throws Failure naming it.
    static {root} read(std::span<const std::byte> bytes, std::string_view file);
}};"""


def view_function(schema):
    lines = [f"    {schema.root} result;"]
    for field, _ in schema.columns():
        lines.append(f"    result.{field} = columns.{field};")
    return f"{schema.root} view(const {schema.root}Columns& columns) {{\n" + "\n".join(lines) + "\n    return result;\n}"


def write_table(schema, type_name, source, variable):
    fields = schema.records[type_name][1]
    lines = []
    for field, field_type in fields:
        target = f"{variable}_{field}"
        if field_type == "[string]":
            lines.append(f"    const auto {target} = builder.CreateVectorOfStrings({source}.{field});")
        elif field_type.startswith("["):
            element = field_type[1:-1]
            if schema.is_struct(element):
                create = (f"builder.CreateVectorOfStructs(\n"
                          f"        reinterpret_cast<const fbs::{element}*>({source}.{field}.data()), {source}.{field}.size())")
            else:
                create = f"builder.CreateVector({source}.{field}.data(), {source}.{field}.size())"
            if (type_name, field) in schema.optional:
                lines.append(f"    decltype({create}) {target} = 0;")
                lines.append(f"    if (!{source}.{field}.empty()) {target} = {create};")
            else:
                lines.append(f"    const auto {target} = {create};")
        elif field_type == "string":
            lines.append(f"    const auto {target} = builder.CreateString({source}.{field});")
        elif schema.is_table(field_type):
            lines += write_table(schema, field_type, f"{source}.{field}", target)
    lines.append(f"    fbs::{type_name}Builder {variable}_builder(builder);")
    for field, field_type in fields:
        composite = field_type.startswith("[") or field_type == "string" or schema.is_table(field_type)
        value = f"{variable}_{field}" if composite else f"{source}.{field}"
        if field == SIZE_FIELD:
            value = "1"  # patched below; the default 0 would not be stored
        lines.append(f"    {variable}_builder.add_{field}({value});")
    lines.append(f"    const auto {variable} = {variable}_builder.Finish();")
    return lines


def size_estimate(schema):
    terms = ["std::size_t{4096}"]
    for field, field_type in schema.records[schema.root][1]:
        if field_type.startswith("[") and field_type != "[string]":
            terms.append(f"columns.{field}.size_bytes()")
    return " + ".join(terms)


def read_table(schema, type_name, source, target):
    lines = []
    for field, field_type in schema.records[type_name][1]:
        if field == SIZE_FIELD:
            continue
        if field_type == "[string]":
            lines.append(f'    if ({source}->{field}() == nullptr) missing_column(file, "{field}");')
            lines.append(f"    for (const auto* text : *{source}->{field}()) {target}.{field}.push_back(text->str());")
        elif field_type.startswith("["):
            read = f'{target}.{field} = column<{schema.cpp(field_type[1:-1])}>({source}->{field}(), file, "{field}");'
            guard = f"if ({source}->{field}() != nullptr) " if (type_name, field) in schema.optional else ""
            lines.append(f"    {guard}{read}")
        elif field_type == "string":
            lines.append(f"    if ({source}->{field}() != nullptr) {target}.{field} = {source}->{field}()->str();")
        elif schema.is_table(field_type):
            lines.append(f"    if (const auto* part = {source}->{field}(); part != nullptr) {{")
            lines += ["    " + line for line in read_table(schema, field_type, "part", f"{target}.{field}")]
            lines.append("    }")
        else:
            lines.append(f"    {target}.{field} = {source}->{field}();")
    return lines


def header(schema):
    return f"""// Generated from schemas/{schema.stem}.fbs; do not edit.
#pragma once

#include "artifact/columns.h"
#include "{schema.stem}_generated.h"

namespace weft {{

{row_types(schema)}

{root_type(schema)}

}}  // namespace weft
"""


def source(schema):
    root = schema.root
    write = "\n".join(write_table(schema, root, "columns", "root"))
    read = "\n".join(read_table(schema, root, "root", "result"))
    return f"""// Generated from schemas/{schema.stem}.fbs; do not edit.
#include "{schema.stem}_columns.h"

namespace weft {{

{view_function(schema)}

flatbuffers::DetachedBuffer serialize(const {root}& columns) {{
    const std::size_t estimate = {size_estimate(schema)};
    guard_artifact_size(estimate);
    flatbuffers::FlatBufferBuilder builder(estimate);
{write}
    builder.Finish(root, "{schema.identifier}");
    flatbuffers::GetMutableRoot<flatbuffers::Table>(builder.GetBufferPointer())
        ->SetField<std::uint32_t>(fbs::{root}::VT_FILE_BYTES, builder.GetSize(), 0);
    return builder.Release();
}}

bool ArtifactTraits<{root}>::verify(std::span<const std::byte> bytes) {{
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), 64, artifact_table_limit);
    return fbs::Verify{root}Buffer(verifier) && fbs::Get{root}(bytes.data())->file_bytes() == bytes.size();
}}

{root} ArtifactTraits<{root}>::read(std::span<const std::byte> bytes, [[maybe_unused]] std::string_view file) {{
    const auto* root = fbs::Get{root}(bytes.data());
    {root} result;
{read}
    return result;
}}

}}  // namespace weft
"""


def visitors(schema):
    out = []
    for name in schema.enums:
        out.append(f"inline std::string_view enum_text({name} value) {{ return fbs::EnumName{name}(value); }}")
    for name, (_, fields) in schema.records.items():
        is_root = name == schema.root
        fields = schema.columns() if is_root else fields
        calls = "\n".join(f'    visit("{field}", row.{field});' for field, _ in fields)
        function = "for_each_column" if is_root else "for_each_field"
        out.append(f"template <class Visitor>\nvoid {function}(const {name}& row, Visitor&& visit) {{\n{calls}\n}}")
    return "\n".join(out)


def visit_header(schema):
    return f"""// Generated from schemas/{schema.stem}.fbs; do not edit.
#pragma once

#include "{schema.stem}_columns.h"

namespace weft {{

// visit(name, value) for every column of the artifact and for every field of a row, in schema order.
{visitors(schema)}

}}  // namespace weft
"""


def main():
    path, directory = Path(sys.argv[1]), Path(sys.argv[2])
    schema = Schema(path)
    (directory / f"{schema.stem}_columns.h").write_text(header(schema))
    (directory / f"{schema.stem}_columns.cpp").write_text(source(schema))
    (directory / f"{schema.stem}_visit.h").write_text(visit_header(schema))


if __name__ == "__main__":
    main()
