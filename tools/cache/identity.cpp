#include "cache/identity.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "artifact/file.h"
#include "base/failure.h"

namespace weft::cache {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::vector<std::string> split_path(std::string_view text) {
    std::vector<std::string> folders;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        if (end > 0) folders.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return folders;
}

template <class T>
std::optional<T> at(Bytes bytes, std::uint64_t offset) {
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::string_view text_at(Bytes bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) return {};
    const char* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
    return {begin, ::strnlen(begin, bytes.size() - offset)};
}

std::string find_build_id(Bytes notes) {
    std::uint64_t offset = 0;
    while (const auto note = at<Elf64_Nhdr>(notes, offset)) {
        const std::uint64_t name = offset + sizeof(Elf64_Nhdr);
        const std::uint64_t description = name + (note->n_namesz + 3ULL) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && text_at(notes, name) == "GNU" && note->n_descsz != 0 && description + note->n_descsz <= notes.size()) {
            std::string id;
            for (std::uint64_t i = 0; i < note->n_descsz; ++i) id += fmt::format("{:02x}", std::to_integer<unsigned>(notes[description + i]));
            return id;
        }
        offset = description + (note->n_descsz + 3ULL) / 4 * 4;
    }
    return {};
}

}  // namespace

ElfFacts read_elf(Bytes bytes, const fs::path& origin) {
    ElfFacts elf;
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return elf;
    std::vector<Elf64_Phdr> loads;
    std::optional<Elf64_Phdr> dynamic;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        const auto segment = at<Elf64_Phdr>(bytes, header->e_phoff + std::uint64_t{i} * header->e_phentsize);
        if (!segment || segment->p_offset > bytes.size() || segment->p_filesz > bytes.size() - segment->p_offset) return elf;
        if (segment->p_type == PT_LOAD) loads.push_back(*segment);
        if (segment->p_type == PT_DYNAMIC) dynamic = segment;
        if (segment->p_type == PT_NOTE && elf.build_id.empty()) elf.build_id = find_build_id(bytes.subspan(segment->p_offset, segment->p_filesz));
    }
    if (!dynamic) return elf;
    std::uint64_t strings = 0;
    std::vector<Elf64_Dyn> entries;
    for (std::uint64_t offset = dynamic->p_offset; const auto entry = at<Elf64_Dyn>(bytes, offset); offset += sizeof(Elf64_Dyn)) {
        if (entry->d_tag == DT_NULL) break;
        entries.push_back(*entry);
        if (entry->d_tag != DT_STRTAB) continue;
        for (const auto& load : loads) {
            if (entry->d_un.d_ptr >= load.p_vaddr && entry->d_un.d_ptr < load.p_vaddr + load.p_filesz) strings = entry->d_un.d_ptr - load.p_vaddr + load.p_offset;
        }
    }
    for (const auto& entry : entries) {
        const std::string text(text_at(bytes, strings + entry.d_un.d_val));
        if (entry.d_tag == DT_NEEDED) elf.needed.push_back(text);
        if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
        for (std::string folder : split_path(text)) {
            for (const std::string_view variable : {"$ORIGIN", "${ORIGIN}"}) {
                if (const auto place = folder.find(variable); place != std::string::npos) folder.replace(place, variable.size(), origin.string());
            }
            elf.folders.push_back(std::move(folder));
        }
    }
    return elf;
}

namespace {

void append_identity(Algorithm algorithm, const fs::path& path, std::set<std::string>& seen, std::string& text) {
    if (!seen.insert(path.string()).second) return;
    const MappedFile file(path);
    ElfFacts elf = read_elf(file.bytes(), fs::absolute(path).parent_path());
    text += elf.build_id.empty() ? "content:" + digest(algorithm, file.bytes()) : "build:" + elf.build_id;
    if (const char* extra = std::getenv("LD_LIBRARY_PATH"); extra != nullptr) {
        for (auto& folder : split_path(extra)) elf.folders.push_back(std::move(folder));
    }
    for (const auto& library : elf.needed) {
        for (const auto& folder : elf.folders) {
            std::error_code error;
            if (!fs::is_regular_file(fs::path(folder) / library, error)) continue;
            text += fmt::format(" {}=", library);
            append_identity(algorithm, fs::path(folder) / library, seen, text);
            break;
        }
    }
}

}  // namespace

std::string find_program(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        if (::access(program.c_str(), X_OK) != 0) throw Failure(ExitStatus::usage, fmt::format("{}: no such program", program));
        return program;
    }
    const char* path = std::getenv("PATH");
    for (const auto& folder : split_path(path == nullptr ? "/usr/bin:/bin" : path)) {
        const fs::path file = fs::path(folder) / program;
        std::error_code error;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error)) return file.string();
    }
    throw Failure(ExitStatus::usage, fmt::format("{}: no such program in PATH", program));
}

std::string program_identity(Algorithm algorithm, const std::string& path) {
    std::string text;
    std::set<std::string> seen;
    append_identity(algorithm, fs::canonical(path), seen, text);
    return text;
}

}  // namespace weft::cache
