#include "export/traps.h"

#include <doctest/doctest.h>

#include "small_program.h"

namespace {

using namespace weft;
using namespace weft::test;

std::string traps_of(const ProgramColumns& program, ExportFormat format = ExportFormat::pimsim_binary) {
    const TargetColumns target = small_target();
    std::string all;
    for (const auto& trap : find_traps(view(program), view(target), format)) all += trap + "\n";
    return all;
}

/// The small program with `change` applied must be refused with a text that holds `words`.
void check_trap(const char* words, const std::function<void(ProgramColumns&)>& change) {
    ProgramColumns program = small_program();
    change(program);
    const std::string traps = traps_of(program);
    CAPTURE(traps);
    CHECK(traps.find(words) != std::string::npos);
}

TEST_CASE("a sound program has no traps") {
    CHECK(traps_of(small_program()).empty());
    CHECK(traps_of(small_program(), ExportFormat::pimsim_json).empty());
    CHECK(traps_of(small_program(), ExportFormat::native_json).empty());
}

TEST_CASE("every trap of the simulator is refused") {
    check_trap("nop", [](auto& program) { program.instructions[1] = make(Opcode::Nop); });
    check_trap("sld loads nothing", [](auto& program) { program.instructions[1] = make(Opcode::Sld, 1, 2); });
    check_trap("rejects vsoftmax", [](auto& program) { program.instructions[8] = make(Opcode::Vsoftmax, 5, 5, 0, 0, 32); });
    check_trap("both source and destination", [](auto& program) { program.instructions[1] = make(Opcode::Saddi, 4, 4, 0, 10); });
    check_trap("both source and destination", [](auto& program) { program.instructions[1] = make(Opcode::Smuli, 4, 4, 0, 10); });
    check_trap("both source and destination", [](auto& program) { program.instructions[1] = make(Opcode::Sadd, 4, 5, 4); });
    check_trap("binary format cannot hold r6", [](auto& program) { program.instructions[1] = make(Opcode::Ssub, 4, 5, 6); });
    check_trap("register r32", [](auto& program) { program.instructions[1].rd = 32; });
    check_trap("r31 and its successor", [](auto& program) { program.instructions[4].rs1 = 31; });
    check_trap("r31 and its successor", [](auto& program) { program.instructions.back().rd = 31; });
    check_trap("must begin with setbw", [](auto& program) { program.instructions[0] = make(Opcode::Sldi, 1); });
    check_trap("bit widths must be positive", [](auto& program) { program.instructions[0].immediate = 0; });
    check_trap("bit widths must be positive", [](auto& program) { program.instructions[0].length = 0; });
    check_trap("does not end with", [](auto& program) { program.instructions.back() = make(Opcode::Sldi, 1); });
    check_trap("weights of 0 bits", [](auto& program) { program.instructions[7].immediate = 0; });
    check_trap("group 2 of 2", [](auto& program) { program.instructions[7].length = 2; });
    check_trap("group -1 of 2", [](auto& program) { program.instructions[7].length = -1; });
    check_trap("no crossbars", [](auto& program) { program.groups[1].crossbars = 0; });
    check_trap("9 crossbars", [](auto& program) { program.groups[1].crossbars = 5; });
    check_trap("offsets", [](auto& program) { program.instructions[8].offset_select = 1; });
    check_trap("offsets", [](auto& program) { program.instructions[4].offset_value = 4; });
    check_trap("a length of -1", [](auto& program) { program.instructions[8].length = -1; });
    check_trap("event register 32", [](auto& program) { program.instructions[11].length = 32; });
    check_trap("never waits", [](auto& program) { program.instructions[11].offset_value = 0; });
    check_trap("unknown operation 33", [](auto& program) { program.instructions[8].op = 33; });
}

TEST_CASE("messages and tokens must match") {
    check_trap("core 2 is idle", [](auto& program) { program.instructions[10].immediate = 2; });
    check_trap("core 3 does not exist", [](auto& program) { program.instructions[10].immediate = 3; });
    check_trap("core -1 does not exist", [](auto& program) { program.instructions[10].immediate = -1; });
    check_trap("sends to itself", [](auto& program) { program.instructions[10].immediate = 0; });
    check_trap("core 2 is idle", [](auto& program) { program.instructions[15].immediate = 2; });
    check_trap("sent with 40 bytes and received with 48", [](auto& program) { program.instructions[10].length = 40; });
    check_trap("sends 2 messages to core 1 in a round, which receives 1", [](auto& program) {
        program.runs[3].trip_count = 1;
        program.runs[2].trip_count = 2;
    });
    check_trap("sends 0 messages to core 1 in a round, which receives 2",
               [](auto& program) { program.instructions[10] = make(Opcode::Lmv, 6, 6, 0, 0, 48); });
    check_trap("leaves 1 tokens over", [](auto& program) { program.instructions[11].offset_value = 2; program.runs[2].trip_count = 1; program.runs[3].trip_count = 3; });
    check_trap("leaves -2 tokens over", [](auto& program) { program.instructions[11].offset_value = 2; });
    check_trap("event register 4: a round leaves -2", [](auto& program) { program.instructions[11].length = 4; });
}

TEST_CASE("messages of equal totals but different order are told apart") {
    const auto send = [](std::int32_t bytes) { return make(Opcode::Send, 1, 1, 0, 1, bytes); };
    const auto receive = [](std::int32_t bytes) { return make(Opcode::Recv, 1, 0, 0, 0, bytes); };
    const auto with_orders = [&](bool swapped) {
        return build({{{1, {setbw()}}, {2, {send(16), send(32)}}},
                      {{1, {setbw(), receive(16), receive(swapped ? 16 : 32), receive(swapped ? 32 : 16), receive(32)}}}});
    };
    CHECK(traps_of(with_orders(false)).empty());
    CHECK(traps_of(with_orders(true)).find("message 1 from core 0 to core 1 is sent with 32 bytes and received with 16") != std::string::npos);
}

TEST_CASE("chips and programs that do not fit each other") {
    check_trap("the program has 5 cores, the chip 4", [](auto& program) {
        for (int core = 0; core < 2; ++core) {
            program.core_first_run.push_back(program.core_first_run.back());
            program.core_first_group.push_back(program.core_first_group.back());
        }
    });
    CHECK(traps_of(build({{}, {}})).find("every core's program is empty") != std::string::npos);
    CHECK(traps_of(build({{{1, {setbw()}}}})).find("never counts its rounds") != std::string::npos);
}

TEST_CASE("a JSON file can hold what a binary one cannot") {
    ProgramColumns program = small_program();
    program.instructions[1] = make(Opcode::Sadd, 4, 5, 6);
    CHECK_FALSE(traps_of(program, ExportFormat::pimsim_binary).empty());
    CHECK(traps_of(program, ExportFormat::pimsim_json).empty());
}

TEST_CASE("the list of traps is bounded") {
    ProgramColumns program = small_program();
    for (auto& row : program.instructions) row = make(Opcode::Nop);
    const TargetColumns target = small_target();
    CHECK(find_traps(view(program), view(target), ExportFormat::pimsim_binary, 3).size() == 3);
}

}  // namespace
