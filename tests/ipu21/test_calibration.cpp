#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>

#include "calibration.h"
#include "ipu21/check_exchange.h"
#include "ipu21/exchange_counters.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;

namespace {

struct Recorded {
    std::uint64_t cycles;
    std::uint32_t transfers;
    std::uint32_t fan_out;
};

std::vector<Recorded> recorded_phases(const std::string& name) {
    std::ifstream file(std::string(WEFT_TEST_DATA) + "/oracle-ipu21/" + name);
    std::vector<Recorded> result;
    for (std::string line; std::getline(file, line);) {
        unsigned index = 0;
        unsigned long long cycles = 0;
        Recorded row{};
        if (std::sscanf(line.c_str(), "%u cycles=%llu transfers=%u fan=%u", &index, &cycles, &row.transfers, &row.fan_out) != 4) continue;
        row.cycles = cycles;
        result.push_back(row);
    }
    return result;
}

std::vector<PlannedPhase> mlp_phases(GridOrder order, GridOrder owners, std::uint32_t batch) {
    auto phases = gemm_phases(test::up_projection(order, owners, batch), 4148);
    auto down = gemm_phases(test::down_projection(order, owners, batch), 4148);
    phases.insert(phases.end(), std::make_move_iterator(down.begin()), std::make_move_iterator(down.end()));
    return phases;
}

struct Sums {
    std::uint64_t up = 0;
    std::uint64_t down_weights = 0;
    std::uint64_t reduction = 0;
    std::uint32_t phases = 0;
    [[nodiscard]] std::uint64_t total() const { return up + down_weights + reduction; }
};

Sums scheduled_sums(GridOrder order, GridOrder owners, ExchangeDiscipline discipline) {
    const TargetColumns columns = test::c600(discipline);
    const Target target = view(columns);
    const Topology topology(target);
    Sums sums;
    for (const PlannedPhase& planned : mlp_phases(order, owners, 4)) {
        const PhaseSchedule schedule = schedule_phase(target, topology, planned.phase);
        CHECK(find_fault(target, topology, planned.phase, schedule, discipline) == "");
        if (planned.role == PhaseRole::Reduction) {
            sums.reduction += schedule.cycles;
        } else if (sums.phases < 18) {
            sums.up += schedule.cycles;
        } else {
            sums.down_weights += schedule.cycles;
        }
        ++sums.phases;
    }
    return sums;
}

bool within(std::uint64_t value, std::uint64_t expected, double share) {
    const double difference = static_cast<double>(value) - static_cast<double>(expected);
    return difference <= share * static_cast<double>(expected) && -difference <= share * static_cast<double>(expected);
}

void compare_with_recorded(const std::string& name, GridOrder order, std::uint32_t batch) {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    const std::vector<Recorded> recorded = recorded_phases(name);
    // The recorded rows-fast plan kept the columns-fast owners of the weights.
    const std::vector<PlannedPhase> phases = mlp_phases(order, GridOrder::ColumnsFast, batch);
    REQUIRE(recorded.size() == 38);
    REQUIRE(phases.size() == recorded.size());
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const PhaseSchedule schedule = schedule_exclusive(target, topology, phases[i].phase);
        const ExchangeCounters counters = count_exchange(topology, phases[i].phase);
        INFO(name << " phase " << i << ": " << schedule.cycles << " against " << recorded[i].cycles);
        CHECK(counters.transfers == recorded[i].transfers);
        CHECK(counters.largest_fan_out == recorded[i].fan_out);
        CHECK(schedule.cycles == recorded[i].cycles);
    }
}

}  // namespace

TEST_CASE("exclusive discipline, owners of the original: the six sums and the order of the two grids") {
    const Sums columns = scheduled_sums(GridOrder::ColumnsFast, GridOrder::ColumnsFast, ExchangeDiscipline::Exclusive);
    const Sums rows = scheduled_sums(GridOrder::RowsFast, GridOrder::ColumnsFast, ExchangeDiscipline::Exclusive);
    MESSAGE("columns-fast " << columns.up << " + " << columns.down_weights << " + " << columns.reduction << " = " << columns.total());
    MESSAGE("rows-fast " << rows.up << " + " << rows.down_weights << " + " << rows.reduction << " = " << rows.total());
    CHECK(columns.phases == 38);
    CHECK(columns.up == 152'082);
    CHECK(columns.down_weights == 205'249);
    CHECK(columns.reduction == 114'951);
    CHECK(columns.total() == 472'282);
    CHECK(rows.up == 302'830);
    CHECK(rows.down_weights == 311'023);
    CHECK(rows.reduction == 114'857);
    CHECK(rows.total() == 728'710);
    CHECK(columns.total() < rows.total());
    // Measured = scheduled + the boundary of each phase.
    CHECK(within(columns.total() + 328 * 38, 484'530, 0.001));
    CHECK(within(rows.total() + 328 * 38, 741'414, 0.001));
}

TEST_CASE("exclusive discipline with matched owners: rows-fast is no slower on the up-projection") {
    const Sums columns = scheduled_sums(GridOrder::ColumnsFast, GridOrder::ColumnsFast, ExchangeDiscipline::Exclusive);
    const Sums rows = scheduled_sums(GridOrder::RowsFast, GridOrder::RowsFast, ExchangeDiscipline::Exclusive);
    MESSAGE("matched: up " << columns.up << " and " << rows.up << ", down " << columns.down_weights << " and " << rows.down_weights);
    CHECK(rows.up <= columns.up);
    CHECK(rows.up == 151'660);
}

TEST_CASE("full duplex: the two orders lie within 4 % of each other, matched owners or not") {
    const Sums columns = scheduled_sums(GridOrder::ColumnsFast, GridOrder::ColumnsFast, ExchangeDiscipline::FullDuplex);
    const Sums rows = scheduled_sums(GridOrder::RowsFast, GridOrder::ColumnsFast, ExchangeDiscipline::FullDuplex);
    MESSAGE("full duplex: " << columns.up << " + " << columns.down_weights << " + " << columns.reduction << " and " << rows.up << " + "
                            << rows.down_weights << " + " << rows.reduction);
    CHECK(within(rows.up, columns.up, 0.04));
    CHECK(within(rows.down_weights, columns.down_weights, 0.04));
    CHECK(within(rows.total(), columns.total(), 0.04));
}

TEST_CASE("recorded phases, each to the cycle") {
    compare_with_recorded("scheduled_noterev_cols_4_729_1152_4608_1472.txt", GridOrder::ColumnsFast, 4);
    compare_with_recorded("scheduled_noterev_rows_4_729_1152_4608_1472.txt", GridOrder::RowsFast, 4);
    compare_with_recorded("scheduled_noterev_cols_1_729_1152_4608_1472.txt", GridOrder::ColumnsFast, 1);
}

TEST_CASE("counters of one up-projection phase: what tells the orders apart is the tiles in both roles, not the bytes") {
    const TargetColumns target = test::c600();
    const Topology topology(view(target));
    const auto columns = gemm_phases(test::up_projection(GridOrder::ColumnsFast, GridOrder::ColumnsFast), 4148);
    const auto rows = gemm_phases(test::up_projection(GridOrder::RowsFast, GridOrder::ColumnsFast), 4148);
    const ExchangeCounters c = count_exchange(topology, columns[0].phase);
    const ExchangeCounters r = count_exchange(topology, rows[0].phase);
    CHECK(c.pairs_same_payload == 0);
    CHECK(r.pairs_same_payload == 719);
    CHECK(c.tiles_sending_and_receiving == 0);
    CHECK(r.tiles_sending_and_receiving == 17);
    CHECK(c.longest_route_cycles - c.shortest_route_cycles == 81);
    CHECK(r.longest_route_cycles - r.shortest_route_cycles == 77);
    CHECK(critical_bytes(c) == critical_bytes(r));
}
