#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "export/pimsim.h"
#include "export/projection.h"
#include "small_program.h"

namespace {

using namespace weft;
using namespace weft::test;

TEST_CASE("addresses and sizes become bytes of floats; lengths, strides and counts stay") {
    const ProgramColumns columns = small_program();
    const Program program = view(columns);
    const auto native = native_instructions(program, "small.prog");
    REQUIRE(native.size() == program.instructions.size());
    for (std::size_t row = 0; row < native.size(); ++row) {
        const Instruction& before = program.instructions[row];
        Instruction expected = before;
        switch (static_cast<Opcode>(before.op)) {
            case Opcode::Setbw: expected.immediate = expected.length = 32; break;
            case Opcode::Mvmul: expected.immediate = 32; break;
            case Opcode::Ld:
            case Opcode::St:
            case Opcode::Lmv:
            case Opcode::Lldi:
            case Opcode::Send:
            case Opcode::Recv: expected.length *= 4; break;
            case Opcode::Sldi:
                // r7 of core 1 holds a stride, r2 of core 0 and r8 of core 1 the high words of global addresses (all 0).
                if (before.rd != 7) expected.immediate *= 4;
                expected.step *= 4;
                break;
            default: break;
        }
        CAPTURE(row);
        CHECK(native[row] == expected);
    }
}

TEST_CASE("what has no native form is refused") {
    const auto refused = [](const std::function<void(ProgramColumns&)>& change) {
        ProgramColumns program = small_program();
        change(program);
        CHECK_THROWS_AS(static_cast<void>(native_instructions(view(program), "small.prog")), Failure);
    };
    refused([](auto& program) { program.instructions[1] = make(Opcode::Smul, 1, 2, 3); });
    refused([](auto& program) { program.instructions[1] = make(Opcode::Sld, 1, 2); });
    refused([](auto& program) { program.instructions[1] = make(Opcode::Saddi, 1, 2, 0, 4); });         // r2 is a high word, so not + 4
    refused([](auto& program) { program.instructions[2].immediate = 1; });                             // high word of an address
    refused([](auto& program) { program.instructions[5].immediate = 0x20000000; });                    // passes 2^31 bytes
    refused([](auto& program) { program.instructions[5].step = 0x0fffffff; });                         // in its last repetition
    refused([](auto& program) { program.instructions.at(program.instructions.size() - 4).rs2 = 1; });  // an address as a stride
    refused([](auto& program) { program.instructions.at(program.instructions.size() - 2).immediate = 7; });
}

TEST_CASE("registers are followed into the next round") {
    // r1 is used before it is written: in every round but the first it holds what the round before left.
    const ProgramColumns program = build({{{1, {setbw(), make(Opcode::Vrelu, 1, 1, 0, 0, 8), make(Opcode::Sldi, 1, 0, 0, 16), make(Opcode::Lmv, 2, 2, 0, 0, 8)}}}});
    CHECK(native_instructions(view(program), "small.prog")[2].immediate == 64);
}

TEST_CASE("addresses made by arithmetic are scaled at their immediates") {
    // Two halves of a buffer used in turn: r28 = r29, r29 = 96 - r29; r1 = 32 + r28.
    const ProgramColumns program = build({{{1,
                                            {setbw(), make(Opcode::Saddi, 28, 29), make(Opcode::Smuli, 30, 29, 0, -1), make(Opcode::Saddi, 29, 30, 0, 96),
                                             make(Opcode::Saddi, 1, 28, 0, 32), make(Opcode::Sldi, 2, 0, 0, 5), make(Opcode::Vmv, 1, 1, 2, 0, 8)}}}});
    const auto native = native_instructions(view(program), "small.prog");
    CHECK(native[2].immediate == -1);
    CHECK(native[3].immediate == 384);
    CHECK(native[4].immediate == 128);
    CHECK(native[5].immediate == 5);
}

TEST_CASE("the native image lists weights, groups, constants and ports in bytes") {
    ProgramColumns program = small_program();
    program.depth = 3;
    program.weights.push_back({0x0123456789abcdefULL, 0xfedcba9876543210ULL, 64});
    program.blocks.push_back({0, 1, 2, 8, 8, 0, 8, 1});
    program.groups[0].block_count = 1;
    program.constants.push_back({1, 100, 4, 1, 0, 0xffffffffU, 0, 0, 1.0F, 0.5F});
    program.inputs.push_back({0, 256, 4, 5, 3, 1, 5, 1, 20, 0});
    program.outputs.push_back({9, 1000, 1, 1, 10, 0, 0, 0, 1, 3});
    const auto image = nlohmann::json::parse(native_image_json(view(program)));
    CHECK(image["element_bytes"] == 4);
    CHECK(image["depth"] == 3);
    CHECK(image["weights"][0]["hash"] == "0123456789abcdeffedcba9876543210");
    CHECK(image["groups"].size() == 3);
    CHECK(image["groups"][0][0]["blocks"][0]["column"] == 2);
    CHECK(image["constants"][0]["address"] == 400);
    CHECK_FALSE(image["constants"][0].contains("weight"));
    CHECK(image["constants"][0]["shift"] == 0.5);
    CHECK(image["inputs"][0]["address"] == 1024);
    CHECK(image["outputs"][0]["round_offset"] == 3);
}

}  // namespace
