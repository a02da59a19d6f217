#include "artifact/program.h"
#include "pim/reader.h"

/// The first byte chooses: a binary core file, or a whole program.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    try {
        if (data[0] == 'b') {
            std::vector<weft::Instruction> instructions;
            weft::parse_binary_core(bytes, "fuzz", 0, 4, 2, instructions);
        } else {
            validate(weft::view(weft::parse_combined_program(bytes, "fuzz")), "fuzz");
        }
    } catch (const weft::Failure& failure) {
        if (failure.status() != weft::ExitStatus::bad_input && failure.status() != weft::ExitStatus::refused && failure.status() != weft::ExitStatus::system) throw;
    }
    return 0;
}
