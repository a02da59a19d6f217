#include "lower/pim/touch.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"

using namespace weft;
using namespace weft::lower_pim;

namespace {

Operation random_operation(Random& random, std::uint32_t groups) {
    const auto address = [&] {
        return Address{static_cast<std::int32_t>(100 + random.below(200)), static_cast<std::int32_t>(random.below(9)) - 4};
    };
    Operation operation;
    operation.target = address();
    operation.first = address();
    operation.second = address();
    operation.length = static_cast<std::int32_t>(1 + random.below(20));
    switch (random.below(4)) {
        case 0:
            operation.op = Opcode::Mvmul;
            operation.argument = static_cast<std::int32_t>(random.below(groups));
            break;
        case 1: operation.op = Opcode::Vvadd; break;
        case 2: operation.op = Opcode::Lmv; break;
        default:
            operation.op = Opcode::Vmv;
            operation.second = {static_cast<std::int32_t>(random.below(4)), 0};
            break;
    }
    return operation;
}

/// Elements that one repetition of an operation reads or writes, by the definition of the instruction.
std::vector<std::int64_t> elements_of(const Operation& operation, std::span<const ArrayGroup> groups, std::int64_t trip) {
    std::vector<std::int64_t> elements;
    const auto run = [&](Address address, std::int64_t length, std::int64_t step) {
        for (std::int64_t i = 0; i < length; ++i) elements.push_back(address.base + trip * address.stride + i * step);
    };
    if (operation.op == Opcode::Mvmul) {
        const ArrayGroup& group = groups[static_cast<std::size_t>(operation.argument)];
        run(operation.first, group.rows, 1);
        run(operation.target, group.columns, 1);
        return elements;
    }
    run(operation.first, operation.length, operation.op == Opcode::Vmv ? operation.second.base : 1);
    run(operation.target, operation.length, 1);
    if (operation.op == Opcode::Vvadd) run(operation.second, operation.length, 1);
    return elements;
}

}  // namespace

TEST_CASE("first and last use are those of every single repetition") {
    Random random(21);
    int touched = 0;
    for (int round = 0; round < 400; ++round) {
        std::vector<ArrayGroup> groups(1 + random.below(3));
        for (ArrayGroup& group : groups) group.rows = 1 + random.below(12), group.columns = 1 + random.below(12);
        OperationList list;
        const std::uint32_t loops = random.below(5);
        for (std::uint32_t l = 0; l < loops; ++l) {
            std::vector<Operation> body(1 + random.below(3));
            for (Operation& operation : body) operation = random_operation(random, static_cast<std::uint32_t>(groups.size()));
            list.append(body, 1 + random.below(12), l);
        }
        const TouchIndex index(list, groups);
        const auto first = static_cast<std::int32_t>(80 + random.below(240));
        const auto length = static_cast<std::int32_t>(1 + random.below(15));
        WeavePoint expected_first{static_cast<std::uint32_t>(list.loops().size()), 0};
        WeavePoint expected_last{0, 0};
        for (std::uint32_t l = 0; l < list.loops().size(); ++l) {
            for (std::uint32_t trip = 0; trip < list.loops()[l].trips; ++trip) {
                bool meets = false;
                for (const Operation& operation : list.body(list.loops()[l])) {
                    for (const std::int64_t element : elements_of(operation, groups, trip)) meets = meets || (element >= first && element < first + length);
                }
                if (!meets) continue;
                expected_first = std::min(expected_first, WeavePoint{l, trip});
                expected_last = trip + 1 == list.loops()[l].trips ? WeavePoint{l + 1, 0} : WeavePoint{l, trip + 1};
                ++touched;
            }
        }
        const Touch touch = index.of(first, length);
        // A strided read counts as everything between its ends, which may be more but never less.
        CHECK(touch.first <= expected_first);
        CHECK(touch.last >= expected_last);
        const bool strided = std::any_of(list.loops().begin(), list.loops().end(), [&](const OperationList::Loop& loop) {
            const auto body = list.body(loop);
            return std::any_of(body.begin(), body.end(), [](const Operation& operation) { return operation.op == Opcode::Vmv; });
        });
        if (!strided) {
            CHECK(touch.first == expected_first);
            CHECK(touch.last == expected_last);
        }
    }
    CHECK(touched > 1000);
}
