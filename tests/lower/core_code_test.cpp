#include "pim/core_code.h"

#include <doctest/doctest.h>

#include <map>

#include "base/random.h"

using namespace weft;

namespace {

/// What one executed instruction reads and writes, registers resolved.
struct Executed {
    Opcode op;
    std::int32_t target;
    std::int32_t first;
    std::int32_t second;
    std::int32_t length;
    bool operator==(const Executed&) const = default;
};

Executed expected(const Operation& operation, std::int32_t trip) {
    const auto at = [&](Address address) { return address.base + trip * address.stride; };
    Executed result{operation.op, 0, 0, 0, operation.length};
    switch (operation.op) {
        case Opcode::Vvadd:
        case Opcode::Vmv: result.second = at(operation.second); [[fallthrough]];
        case Opcode::Vrelu:
        case Opcode::Lmv:
        case Opcode::Mvmul:
            result.target = at(operation.target);
            result.first = at(operation.first);
            break;
        case Opcode::Send: result.first = at(operation.first); break;
        case Opcode::Ld:
        case Opcode::St:
            result.target = at(operation.target);
            result.first = at(operation.first);
            break;
        default: result.target = at(operation.target); break;
    }
    if (operation.op == Opcode::Mvmul) result.length = operation.argument;
    return result;
}

std::vector<Executed> execute(const CoreCode& code) {
    std::vector<std::int32_t> registers(32, 0);
    std::vector<Executed> result;
    for (const Run& run : code.runs()) {
        for (std::uint32_t trip = 0; trip < run.trip_count; ++trip) {
            for (std::uint32_t i = 0; i < run.instruction_count; ++i) {
                const Instruction& in = code.instructions()[run.first_instruction + i];
                const auto op = static_cast<Opcode>(in.op);
                if (op == Opcode::Setbw) continue;
                if (op == Opcode::Sldi) {
                    registers[in.rd] = in.immediate + static_cast<std::int32_t>(trip) * in.step;
                    continue;
                }
                Executed executed{op, 0, 0, 0, in.length};
                if (op == Opcode::Send) {
                    executed.first = registers[in.rd];
                } else {
                    // Global addresses are the low words of register pairs.
                    executed.target = registers[in.rd + (op == Opcode::St ? 1U : 0U)];
                    if (op != Opcode::Recv && op != Opcode::Lldi) executed.first = registers[in.rs1 + (op == Opcode::Ld ? 1U : 0U)];
                    if (op == Opcode::Vvadd || op == Opcode::Vmv) executed.second = registers[in.rs2];
                }
                result.push_back(executed);
            }
        }
    }
    return result;
}

Operation random_operation(Random& random, bool loop) {
    static constexpr Opcode kinds[] = {Opcode::Vvadd, Opcode::Vmv, Opcode::Vrelu, Opcode::Lmv, Opcode::Mvmul,
                                       Opcode::Send,  Opcode::Recv, Opcode::Ld,    Opcode::St};
    const auto address = [&] {
        return Address{static_cast<std::int32_t>(random.below(40)) * 8,
                       random.below(2) == 0 ? 0 : static_cast<std::int32_t>(random.below(5)) * 4};
    };
    Operation operation;
    operation.op = kinds[random.below(loop ? 7 : 9)];
    operation.target = address();
    operation.first = address();
    operation.second = address();
    operation.length = static_cast<std::int32_t>(1 + random.below(9));
    operation.argument = static_cast<std::int32_t>(random.below(7));
    if (operation.op == Opcode::Ld) operation.first.stride = 0;
    if (operation.op == Opcode::St) operation.target.stride = 0;
    return operation;
}

}  // namespace

TEST_CASE("emitted code does what its operations say, loop by loop") {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        CoreCode code(8);
        code.set_bit_widths(8, 8);
        std::vector<Executed> wanted;
        for (std::uint32_t block = 0; block < 6; ++block) {
            const std::uint32_t trips = 1 + random.below(4);
            std::vector<Operation> body(1 + random.below(30));
            for (Operation& operation : body) operation = random_operation(random, trips > 1);
            code.append(body, trips, block % 2);
            for (std::uint32_t trip = 0; trip < trips; ++trip) {
                for (const Operation& operation : body) wanted.push_back(expected(operation, static_cast<std::int32_t>(trip)));
            }
        }
        REQUIRE(execute(code) == wanted);
    }
}

TEST_CASE("registers are reused and r28, the high word of global addresses, stays zero") {
    CoreCode code(8);
    const Operation add{Opcode::Vvadd, {64, 0}, {64, 0}, {128, 0}, 16, 0};
    code.append({&add, 1}, 1, 0);
    code.append({&add, 1}, 1, 0);
    CHECK(code.instructions().size() == 4);   // two loads, two additions
    CHECK(code.runs().size() == 1);
    const Operation loop{Opcode::Vvadd, {0, 16}, {0, 16}, {128, 0}, 16, 0};
    code.append({&loop, 1}, 8, 0);
    CHECK(code.runs().size() == 2);
    CHECK(code.runs()[1].instruction_count == 2);   // only the moving address is loaded inside the loop
    const Operation load{Opcode::Ld, {0, 0}, {4096, 0}, {}, 16, 0};
    code.append({&load, 1}, 1, 0);
    for (const Instruction& in : code.instructions()) CHECK_FALSE((static_cast<Opcode>(in.op) == Opcode::Sldi && in.rd == 28));
}
