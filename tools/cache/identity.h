#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/digest.h"

namespace weft::cache {

/// The file that `program` stands for: itself where it has a slash, else the first hit in PATH. Throws Failure(usage) where there is none.
[[nodiscard]] std::string find_program(const std::string& program);

/// What is needed of a 64-bit ELF file of this machine's byte order; all empty where it is none, or damaged.
struct ElfFacts {
    std::string build_id;
    std::vector<std::string> needed;      ///< names of shared libraries
    std::vector<std::string> folders;     ///< where it looks for them beside the system's places; $ORIGIN is `origin`
};
[[nodiscard]] ElfFacts read_elf(std::span<const std::byte> bytes, const std::filesystem::path& origin);

/// What a program is, independent of its place: "build:<GNU build id>" of an ELF file that has one, else "content:<digest>"; and the
/// same of the shared libraries that it finds beside itself (RUNPATH) or in LD_LIBRARY_PATH. Libraries of the system count as part
/// of the machine. For a script, its bytes: what it loads itself must be named as an input.
[[nodiscard]] std::string program_identity(Algorithm algorithm, const std::string& path);

}  // namespace weft::cache
