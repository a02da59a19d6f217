#include "pim/timing.h"

#include <doctest/doctest.h>

#include "example_target.h"

using namespace weft;
using test::example_target;

TEST_CASE("the example chip's worked examples") {
    const TargetColumns target = example_target(2);
    const PimTiming timing(view(target));
    CHECK(timing.scalar_ns() == 1);
    CHECK(timing.mvmul_ns(1) == 5189);   // 5168 cycles, 16 to read, 2 to write, 3 to issue and retire
    CHECK(timing.mvmul_ns(4) == 5195);
    CHECK(timing.vector_ns(Opcode::Vvadd, 64) == 21);
    CHECK(timing.vector_ns(Opcode::Vrelu, 64) == 20);
    CHECK(timing.vector_ns(Opcode::Vvadd, 0) == 3);
    CHECK(timing.load_ns(CoreId(0), 64) == 23);     // its last access is one clock long, so noticed one clock late
    CHECK(timing.load_ns(CoreId(0), 128) == 27);
    CHECK(timing.store_ns(CoreId(0), 1024) == 2003);
    CHECK(timing.memory_read_ns(1024) == 64);
    CHECK(timing.memory_write_ns(1) == 1);
    CHECK(timing.network_ns(CoreId(0), CoreId(1), 1000) == 500);
    CHECK(timing.results_per_crossbar() == 128);
}

TEST_CASE("copies and fills notice their end on the clock") {
    const TargetColumns target = example_target(2);
    const PimTiming timing(view(target));
    CHECK(timing.copy_ns(0) == 3);
    CHECK(timing.copy_ns(64) == 4);
    CHECK(timing.copy_ns(65) == 6);
    CHECK(timing.fill_ns(0) == 3);
    CHECK(timing.fill_ns(64) == 4);    // exactly one clock: noticed one late
    CHECK(timing.fill_ns(65) == 4);
    CHECK(timing.fill_ns(129) == 5);
}

TEST_CASE("both ends of an undisturbed message") {
    const TargetColumns target = example_target(2);
    const PimTiming timing(view(target));
    // Request and permission 4 each, read 16, data 125 flits of 4, write 16; 2 to issue and retire.
    CHECK(timing.send_ns(CoreId(0), CoreId(1), 1000) == 8 + 16 + 2);
    CHECK(timing.recv_ns(CoreId(0), CoreId(1), 1000) == 8 + 16 + 500 + 16 + 2);
    CHECK(timing.send_ns(CoreId(0), CoreId(1), 8) == 8 + 1 + 1 + 2);
    CHECK(timing.recv_ns(CoreId(0), CoreId(1), 8) == 8 + 1 + 4 + 1 + 1 + 2);
}

TEST_CASE("clocks that do not divide one another") {
    TargetColumns target = example_target(1);
    target.core.period_fs = 2'000'000;
    target.core.local_period_fs = 1'500'000;
    target.core.matrix_period_fs = 781'250;
    const PimTiming timing(view(target));
    // Two reads of 1.5, computation 16, write 1.5: 20.5 is noticed at 22.
    CHECK(timing.vector_ns(Opcode::Vvadd, 64) == 26);
    CHECK(timing.scalar_ns() == 2);
    // front 1 + 39 + 1 cycles, back 12 + 63 * 10, 8 passes: 41 + 642 + 7 * 642 = 5177 cycles = 4044.531 ns;
    // with 24 to read and 3 to write 4071.531, noticed at 4072.
    CHECK(timing.mvmul_ns(1) == 2 + 4072 + 4);
}

TEST_CASE("a chip without a clock is refused") {
    TargetColumns target = example_target(1);
    target.core.period_fs = 0;
    CHECK_THROWS_AS(PimTiming(view(target)), Failure);
    target = example_target(1);
    target.network.bus_width_bytes = 0;
    CHECK_THROWS_AS(PimTiming(view(target)), Failure);
    target = example_target(2);
    target.link_latency_ps.pop_back();
    CHECK_THROWS_AS(PimTiming(view(target)), Failure);
}

TEST_CASE("measured instructions take the place of modelled ones where the table has or spans the point") {
    const TargetColumns target = example_target(2);
    const PimTiming model(view(target));
    const auto record = [](const KernelKey& key, std::int64_t ns) {
        KernelRecord r;
        r.key = key;
        r.minimum = r.median = r.p95 = r.maximum = static_cast<std::uint64_t>(ns);
        return r;
    };
    const std::vector<KernelRecord> records{record(mvmul_key(2), 7000), record(vector_key(Opcode::Vvadd, 64), 100), record(vector_key(Opcode::Vvadd, 128), 200),
                                            record(copy_key(64), 11)};
    const KernelTable table(records, "", "", "test");
    const PimTiming timing(view(target), &table);
    CHECK(timing.mvmul_ns(2) == 7000);
    CHECK(timing.mvmul_ns(3) == model.mvmul_ns(3));
    CHECK(timing.vector_ns(Opcode::Vvadd, 64) == 100);
    CHECK(timing.vector_ns(Opcode::Vvadd, 96) == 150);
    CHECK(timing.vector_ns(Opcode::Vvadd, 129) == model.vector_ns(Opcode::Vvadd, 129));
    CHECK(timing.vector_ns(Opcode::Vvmul, 64) == model.vector_ns(Opcode::Vvmul, 64));
    CHECK(timing.copy_ns(64) == 11);
    CHECK(timing.analytical_ns(mvmul_key(2)) == model.mvmul_ns(2));
    CHECK(timing.analytical_ns(vector_key(Opcode::Vrelu, 17)) == model.vector_ns(Opcode::Vrelu, 17));
    CHECK(!timing.analytical_ns({"gemm", "", {{"rows", 4}}}));
}
