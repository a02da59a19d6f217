#include "simulate/check.h"

#include <doctest/doctest.h>

#include "program_maker.h"

using namespace weft;
using namespace weft::test;

namespace {

/// The refusal's text; empty where the program passes.
std::string refusal(const ProgramMaker& maker, const TargetColumns& chip, bool latency = true) {
    try {
        (void)check_program(maker.program(), view(chip), latency, "test");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::refused);
        return failure.what();
    }
    return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("nop is refused anywhere") {
    ProgramMaker maker;
    maker.core({setbw(), make(Opcode::Nop), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    CHECK(contains(refusal(maker, example_chip(1)), "row 1 (nop)"));
}

TEST_CASE("a list that ends with a scalar never finishes in latency mode") {
    for (const Instruction& last : {sldi(1, 2), setbw()}) {
        ProgramMaker maker;
        maker.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 64), last});
        CHECK(contains(refusal(maker, example_chip(1)), "never finishes"));
        CHECK(refusal(maker, example_chip(1), false).empty());
    }
}

TEST_CASE("more cores, crossbars or memory than the chip has") {
    ProgramMaker cores;
    cores.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    cores.core({});
    CHECK(contains(refusal(cores, example_chip(1)), "2 cores, the chip 1"));

    ProgramMaker crossbars;
    crossbars.columns.groups = {{40, 0, 0, 0, 0}, {25, 0, 0, 0, 0}};
    crossbars.core({setbw(), make(Opcode::Mvmul, 1, 2, 0, 8, 1)});
    CHECK(contains(refusal(crossbars, example_chip(1)), "needs 65 crossbars"));
    crossbars.columns.groups[1].crossbars = 24;
    CHECK(refusal(crossbars, example_chip(1)).empty());

    ProgramMaker memory;
    memory.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 64)}, (1U << 20U) + 1);
    CHECK(contains(refusal(memory, example_chip(1)), "local memory"));
}

TEST_CASE("a group of values must fit its crossbars") {
    ProgramMaker maker(ValueKind::F32);
    maker.columns.groups = {{2, 128, 256, 0, 0}};
    maker.core({setbw(), make(Opcode::Mvmul, 1, 2, 0, 8, 0)}, 1000);
    CHECK(refusal(maker, example_chip(1)).empty());
    maker.columns.groups[0].columns = 257;
    CHECK(contains(refusal(maker, example_chip(1)), "do not fit 2 crossbars"));
    maker.columns.groups[0] = {2, 129, 256, 0, 0};
    CHECK(contains(refusal(maker, example_chip(1)), "do not fit 2 crossbars"));
}

TEST_CASE("vsoftmax is for native programs") {
    ProgramMaker timing;
    timing.core({setbw(), make(Opcode::Vsoftmax, 1, 2, 0, 0, 8)});
    CHECK(contains(refusal(timing, example_chip(1)), "vsoftmax"));
    ProgramMaker native(ValueKind::F32);
    native.core({setbw(), make(Opcode::Vsoftmax, 1, 2, 0, 0, 8)}, 64);
    CHECK(refusal(native, example_chip(1)).empty());
}

TEST_CASE("what the simulator accepts and hardly anyone means is warned of") {
    ProgramMaker maker;
    maker.core({make(Opcode::Vrelu, 1, 2, 0, 0, 8), make(Opcode::Saddi, 3, 3, 0, 1), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    maker.core({make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    const auto warnings = check_program(maker.program(), view(example_chip(2)), false, "test");
    REQUIRE(warnings.size() == 3);
    CHECK(contains(warnings[0], "core 0: no setbw"));
    CHECK(contains(warnings[1], "core 1: a list of one instruction"));
    CHECK(contains(warnings[2], "1 scalar instructions write a register they read"));
}
