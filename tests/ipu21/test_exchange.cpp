#include <doctest/doctest.h>

#include <algorithm>

#include "exchange_cases.h"
#include "ipu21/check_exchange.h"
#include "ipu21/exchange_counters.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;
using test::random_phase;
using test::Shape;

TEST_CASE("schedules of random phases pass the independent checker, respect the bounds, and duplex never loses") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        const Shape shape{2 + random.below(round % 10 == 0 ? 1470U : 24U), 1 + random.below(60), 1 + random.below(20), 1 + random.below(4148)};
        const Phase phase = random_phase(random, shape, round % 3 == 0);
        check_phase(phase, topology.tile_count(), 4148, "random");
        const PhaseSchedule exclusive = schedule_exclusive(target, topology, phase);
        const PhaseSchedule duplex = schedule_full_duplex(target, topology, phase);
        CHECK(find_fault(target, topology, phase, exclusive, ExchangeDiscipline::Exclusive) == "");
        CHECK(find_fault(target, topology, phase, duplex, ExchangeDiscipline::FullDuplex) == "");
        CHECK(exclusive.cycles >= lower_bound_cycles(target, topology, phase, ExchangeDiscipline::Exclusive));
        CHECK(duplex.cycles >= lower_bound_cycles(target, topology, phase, ExchangeDiscipline::FullDuplex));
        CHECK(duplex.cycles <= exclusive.cycles);
        // Within a slot no tile appears twice.
        for (std::uint32_t slot = 0; slot < exclusive.slots; ++slot) {
            std::vector<int> roles(topology.tile_count(), 0);
            for (std::size_t row = 0; row < phase.transfers.size(); ++row) {
                if (exclusive.times[row].slot != slot) continue;
                CHECK(++roles[phase.transfers[row].source] == 1);
                for (const std::uint32_t tile : phase.receivers_of(phase.transfers[row])) CHECK(++roles[tile] == 1);
            }
        }
    }
}

TEST_CASE("the checker finds planted faults") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(2);
    const Phase phase = random_phase(random, {6, 12, 3, 500}, false);
    const PhaseSchedule good = schedule_exclusive(target, topology, phase);
    const auto fault = [&](const PhaseSchedule& schedule) { return find_fault(target, topology, phase, schedule, ExchangeDiscipline::Exclusive); };
    REQUIRE(fault(good) == "");
    for (std::size_t row = 0; row < phase.transfers.size(); ++row) {
        if (good.times[row].start == 0) continue;
        // Each transfer starts as early as possible, so one cycle earlier collides.
        PhaseSchedule early = good;
        --early.times[row].start;
        --early.times[row].end;
        CHECK(fault(early) != "");
    }
    PhaseSchedule shorter = good;
    --shorter.times[3].end;
    CHECK(fault(shorter) != "");
    PhaseSchedule horizon = good;
    ++horizon.cycles;
    CHECK(fault(horizon) != "");
    PhaseSchedule missing = good;
    missing.times.pop_back();
    CHECK(fault(missing) != "");
}

TEST_CASE("greedy against every order on up to seven transfers") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(3);
    double worst_exclusive = 1;
    double worst_duplex = 1;
    double sum_exclusive = 0;
    int rounds = 0;
    for (; rounds < 80; ++rounds) {
        const Shape shape{3 + random.below(6), 2 + random.below(rounds < 10 ? 6U : 5U), 1 + random.below(3), rounds % 2 == 0 ? 1U + random.below(2000) : 1000};
        const Phase phase = random_phase(random, shape, false);
        const std::uint64_t best_exclusive = test::shortest_phase(target, topology, phase, true);
        const std::uint64_t best_duplex = test::shortest_phase(target, topology, phase, false);
        const double exclusive = static_cast<double>(schedule_exclusive(target, topology, phase).cycles) / static_cast<double>(best_exclusive);
        const double duplex = static_cast<double>(schedule_full_duplex(target, topology, phase).cycles) / static_cast<double>(best_duplex);
        CHECK(exclusive >= 1);
        CHECK(duplex >= 1);
        CHECK(best_duplex >= lower_bound_cycles(target, topology, phase, ExchangeDiscipline::FullDuplex));
        CHECK(best_exclusive >= lower_bound_cycles(target, topology, phase, ExchangeDiscipline::Exclusive));
        worst_exclusive = std::max(worst_exclusive, exclusive);
        worst_duplex = std::max(worst_duplex, duplex);
        sum_exclusive += exclusive;
    }
    MESSAGE("greedy / best: exclusive mean " << sum_exclusive / rounds << ", worst " << worst_exclusive << "; full duplex worst " << worst_duplex);
    CHECK(worst_exclusive <= 1.6);
    CHECK(sum_exclusive / rounds <= 1.1);
    CHECK(worst_duplex <= 1.6);
}

TEST_CASE("the order in which transfers are listed changes nothing where priorities differ") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(4);
    for (int round = 0; round < 40; ++round) {
        Phase phase = random_phase(random, {20, 15, 4, 4148}, false);
        // One transfer per source and size: no two transfers tie.
        std::ranges::sort(phase.transfers, {}, [](const Transfer& t) { return std::pair(t.source, t.words); });
        const auto same = [](const Transfer& a, const Transfer& b) { return a.source == b.source && a.words == b.words; };
        phase.transfers.erase(std::unique(phase.transfers.begin(), phase.transfers.end(), same), phase.transfers.end());
        Phase shuffled = phase;
        for (std::size_t i = shuffled.transfers.size(); i > 1; --i) std::swap(shuffled.transfers[i - 1], shuffled.transfers[random.below(static_cast<std::uint32_t>(i))]);
        const PhaseSchedule a = schedule_exclusive(target, topology, phase);
        const PhaseSchedule b = schedule_exclusive(target, topology, shuffled);
        CHECK(a.cycles == b.cycles);
        CHECK(schedule_full_duplex(target, topology, phase).cycles == schedule_full_duplex(target, topology, shuffled).cycles);
        for (std::size_t i = 0; i < phase.transfers.size(); ++i) {
            const auto at = std::ranges::find(shuffled.transfers, phase.transfers[i]) - shuffled.transfers.begin();
            CHECK(a.times[i] == b.times[static_cast<std::size_t>(at)]);
        }
    }
}

TEST_CASE("long spans are cut, contiguous pieces are joined again, words are conserved") {
    const std::uint32_t receivers[] = {4, 5, 9};
    Phase phase;
    add_transfer(phase, TileId(1), receivers, 10'000, 4148);
    REQUIRE(phase.transfers.size() == 3);
    CHECK(phase.transfers[0].words + phase.transfers[1].words + phase.transfers[2].words == 10'000);
    CHECK(coalesce(phase, 4148).transfers == phase.transfers);   // no addresses yet

    Phase small;
    const std::uint32_t words[] = {100, 200, 4000, 50};
    std::uint32_t address = 0x80000;
    for (const std::uint32_t count : words) {
        small.transfers.push_back({1, static_cast<std::uint32_t>(small.receivers.size()), 3, count});
        small.receivers.insert(small.receivers.end(), std::begin(receivers), std::end(receivers));
        small.source_address.push_back(address);
        for (std::uint32_t i = 0; i < 3; ++i) small.receiver_address.push_back(address + 1024 * i);
        address += 4 * count;
    }
    const Phase joined = coalesce(small, 4148);
    REQUIRE(joined.transfers.size() == 2);
    CHECK(joined.transfers[0].words == 300);
    CHECK(joined.transfers[1].words == 4050);
    CHECK(joined.source_address[1] == 0x80000 + 1200);
    check_phase(joined, 16, 4148, "joined");
    // A gap at one receiver alone keeps pieces apart.
    small.receiver_address[4] += 4;
    CHECK(coalesce(small, 4148).transfers.size() == 3);
}

TEST_CASE("impossible transfers are refused by name") {
    Phase phase;
    phase.receivers = {1, 2};
    const auto status = [&](const Transfer& transfer) {
        phase.transfers = {transfer};
        try {
            check_phase(phase, 8, 4148, "net.prog");
        } catch (const Failure& failure) {
            CHECK(std::string(failure.what()).find("net.prog: transfer 0") == 0);
            return failure.status();
        }
        return ExitStatus::done;
    };
    CHECK(status({0, 0, 2, 10}) == ExitStatus::done);
    CHECK(status({9, 0, 2, 10}) == ExitStatus::bad_input);
    CHECK(status({1, 0, 2, 10}) == ExitStatus::bad_input);
    CHECK(status({0, 0, 2, 0}) == ExitStatus::bad_input);
    CHECK(status({0, 0, 2, 4149}) == ExitStatus::bad_input);
    CHECK(status({0, 1, 2, 10}) == ExitStatus::bad_input);
    CHECK(status({0, 0, 0, 10}) == ExitStatus::bad_input);
    phase.receivers = {2, 2};
    CHECK(status({0, 0, 2, 10}) == ExitStatus::bad_input);
    phase.receivers = {2, 8};
    CHECK(status({0, 0, 2, 10}) == ExitStatus::bad_input);
}

TEST_CASE("tiles that both send and receive decide the slots: chains and pairs by hand") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    const std::uint32_t ring[] = {1, 2, 3, 0};
    Phase phase;
    for (std::uint32_t t = 0; t < 4; ++t) add_transfer(phase, TileId(t), {&ring[t], 1}, 1000, 4148);
    CHECK(schedule_exclusive(target, topology, phase).slots == 2);
    const PhaseSchedule duplex = schedule_full_duplex(target, topology, phase);
    CHECK(duplex.cycles < 1300);   // all four at once
    const ExchangeCounters counters = count_exchange(topology, phase);
    CHECK(counters.tiles_sending_and_receiving == 4);
    CHECK(counters.pair_send_words == 2000);
    CHECK(counters.pair_receive_words == 2000);
    CHECK(counters.pairs_unrelated_payload == 2);
}

TEST_CASE("counters of random phases, counted again the slow way") {
    const TargetColumns columns = test::c600();
    const Topology topology(view(columns));
    Random random(11);
    for (int round = 0; round < 60; ++round) {
        const std::uint32_t tiles = 3 + random.below(12);
        const Phase phase = test::random_phase(random, {tiles, 1 + random.below(12), 1 + random.below(6), 3000}, false);
        const auto receives = [&](const Transfer& t, std::uint32_t tile) { return std::ranges::count(phase.receivers_of(t), tile) != 0; };
        const auto words_in = [&](std::uint32_t a, std::uint32_t b) {
            std::uint64_t words = 0;
            for (const Transfer& t : phase.transfers) words += receives(t, a) || receives(t, b) ? t.words : 0;
            return words;
        };
        const auto words_out = [&](std::uint32_t a, std::uint32_t b) {
            std::uint64_t words = 0;
            for (const Transfer& t : phase.transfers) words += t.source == a || t.source == b ? t.words : 0;
            return words;
        };
        ExchangeCounters expected;
        expected.transfers = static_cast<std::uint32_t>(phase.transfers.size());
        bool first = true;
        for (const Transfer& t : phase.transfers) {
            expected.largest_fan_out = std::max(expected.largest_fan_out, t.receiver_count);
            expected.payload_words += t.words;
            expected.delivered_words += std::uint64_t{t.words} * t.receiver_count;
            for (const std::uint32_t tile : phase.receivers_of(t)) {
                const std::int32_t route = topology.route_cycles(TileId(t.source), TileId(tile));
                expected.shortest_route_cycles = first ? route : std::min(expected.shortest_route_cycles, route);
                expected.longest_route_cycles = first ? route : std::max(expected.longest_route_cycles, route);
                first = false;
            }
        }
        for (std::uint32_t tile = 0; tile < tiles + 1; ++tile) {
            expected.tile_send_words = std::max(expected.tile_send_words, words_out(tile, tile));
            expected.tile_receive_words = std::max(expected.tile_receive_words, words_in(tile, tile));
            std::uint32_t roles = 0;
            for (const Transfer& t : phase.transfers) roles += (t.source == tile ? 1U : 0U) + (receives(t, tile) ? 1U : 0U);
            expected.tile_transfers = std::max(expected.tile_transfers, roles);
            expected.tiles_sending_and_receiving += words_out(tile, tile) != 0 && words_in(tile, tile) != 0 ? 1 : 0;
        }
        for (std::uint32_t tile = 0; tile < tiles + 1; tile += 2) {
            const std::uint32_t partner = topology.partner(TileId(tile)).value;
            expected.pair_send_words = std::max(expected.pair_send_words, words_out(tile, partner));
            expected.pair_receive_words = std::max(expected.pair_receive_words, words_in(tile, partner));
            const auto both = [&](const Transfer& t) { return receives(t, tile) && receives(t, partner); };
            const auto either = [&](const Transfer& t) { return receives(t, tile) != receives(t, partner); };
            const bool receiving = words_in(tile, tile) != 0 && words_in(partner, partner) != 0;
            expected.pairs_same_payload += receiving && std::ranges::none_of(phase.transfers, either) ? 1 : 0;
            expected.pairs_unrelated_payload += receiving && std::ranges::none_of(phase.transfers, both) ? 1 : 0;
        }
        CHECK(count_exchange(topology, phase) == expected);
    }
}

TEST_CASE("the critical chain ends with the phase, and every transfer of it waits for the one before") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(12);
    for (int round = 0; round < 60; ++round) {
        const Phase phase = test::random_phase(random, {3 + random.below(12), 1 + random.below(20), 1 + random.below(4), 3000}, false);
        const PhaseSchedule exclusive = schedule_exclusive(target, topology, phase);
        const auto chain = critical_chain(phase, exclusive.times, ExchangeDiscipline::Exclusive);
        REQUIRE(!chain.empty());
        CHECK(exclusive.times[chain.front()].start == 0);
        CHECK(exclusive.times[chain.back()].end == exclusive.cycles);
        CHECK(chain.size() <= exclusive.slots);
        const auto tiles_of = [&](std::uint32_t row) {
            const auto receivers = phase.receivers_of(phase.transfers[row]);
            std::vector<std::uint32_t> tiles(receivers.begin(), receivers.end());
            tiles.push_back(phase.transfers[row].source);
            return tiles;
        };
        for (std::size_t i = 1; i < chain.size(); ++i) {
            CHECK(exclusive.times[chain[i]].start == exclusive.times[chain[i - 1]].end + 1);
            const auto mine = tiles_of(chain[i]);
            CHECK(std::ranges::any_of(tiles_of(chain[i - 1]), [&](std::uint32_t tile) { return std::ranges::count(mine, tile) != 0; }));
        }
        const PhaseSchedule duplex = schedule_full_duplex(target, topology, phase);
        const auto overlapping = critical_chain(phase, duplex.times, ExchangeDiscipline::FullDuplex);
        CHECK(duplex.times[overlapping.back()].end == duplex.cycles);
        CHECK(std::ranges::is_sorted(overlapping, {}, [&](std::uint32_t row) { return duplex.times[row].start; }));
    }
    CHECK(critical_chain({}, {}, ExchangeDiscipline::Exclusive).empty());
}

namespace {

/// `words` from tile 2p to the pairs `to`, everything well aligned; read and written elements differ.
void add_paired(Phase& phase, std::uint32_t source, const std::vector<std::uint32_t>& pairs, std::uint32_t words, std::uint32_t address = 0xA0000) {
    const auto first = static_cast<std::uint32_t>(phase.receivers.size());
    for (const std::uint32_t pair : pairs) {
        for (const std::uint32_t tile : {2 * pair, 2 * pair + 1}) {
            phase.receivers.push_back(tile);
            phase.receiver_address.push_back(address);
        }
    }
    phase.transfers.push_back({source, first, static_cast<std::uint32_t>(2 * pairs.size()), words});
    phase.source_address.push_back(0x80000);
}

}  // namespace

TEST_CASE("the 64-bit form halves a phase whose senders and partners receive nothing; each of its conditions counts") {
    const TargetColumns columns = test::c600(ExchangeDiscipline::FullDuplex);
    const Target target = view(columns);
    const Topology topology(target);
    Phase phase;
    add_paired(phase, 0, {10, 11, 12}, 4096);
    add_paired(phase, 2, {20, 21}, 4000);
    const PhaseSchedule wide = schedule_full_duplex(target, topology, phase);
    CHECK(find_fault(target, topology, phase, wide, ExchangeDiscipline::FullDuplex) == "");
    CHECK(wide.times[0].paired);
    CHECK(wide.cycles < 2048 + 250);
    CHECK(wide.cycles >= lower_bound_cycles(target, topology, phase, ExchangeDiscipline::FullDuplex));
    const auto eligible = [&](const auto& change) {
        Phase other = phase;
        change(other);
        return paired_transfers(target, topology, other)[0] != 0;
    };
    CHECK(eligible([](Phase&) {}));
    CHECK(!eligible([](Phase& p) { p.transfers[0].words = 126; }));
    CHECK(!eligible([](Phase& p) { p.transfers[0].words = 4095; }));
    CHECK(!eligible([](Phase& p) { p.source_address[0] += 4; }));
    CHECK(!eligible([](Phase& p) { p.receiver_address[1] += 8; }));
    CHECK(!eligible([](Phase& p) { p.receiver_address[0] = p.receiver_address[1] = 0xA0004; }));
    CHECK(!eligible([](Phase& p) { p.receivers[1] = 30; }));
    CHECK(!eligible([](Phase& p) { p.transfers[0].receiver_count = 1; }));
    CHECK(!eligible([](Phase& p) { p.transfers[0].source = 21; }));   // its partner, tile 20, receives
    // The checker knows them too: the same schedule on a phase where the form is not legal.
    Phase odd = phase;
    odd.receiver_address[1] += 8;
    CHECK(find_fault(target, topology, odd, wide, ExchangeDiscipline::FullDuplex) != "");
}

TEST_CASE("the 64-bit form gains nothing where the reserved partner is itself a receiver: the recorded experiment") {
    const TargetColumns columns = test::c600(ExchangeDiscipline::FullDuplex);
    const Target target = view(columns);
    const Topology topology(target);
    // 80 rows x 18 columns, rows-fast: groups of 80 neighbours, each owner inside its own group, two panels of 4,096 words.
    Phase placed;
    Phase narrow;
    for (std::uint32_t group = 0; group < 18; ++group) {
        for (std::uint32_t panel = 0; panel < 2; ++panel) {
            const std::uint32_t owner = 80 * group + 7;
            std::vector<std::uint32_t> receivers;
            for (std::uint32_t tile = 80 * group; tile < 80 * group + 80; ++tile) {
                if (tile != owner) receivers.push_back(tile);
            }
            add_transfer(narrow, TileId(owner), receivers, 4096, 4148);
        }
    }
    placed = narrow;
    placed.source_address.assign(placed.transfers.size(), 0x80000);
    placed.receiver_address.assign(placed.receivers.size(), 0xA0000);
    const auto paired = paired_transfers(target, topology, placed);
    CHECK(std::ranges::count(paired, 1) == 0);   // the partner is a destination, so none may
    CHECK(schedule_full_duplex(target, topology, narrow).cycles >= 8192);
}

TEST_CASE("full duplex: a tile does not receive into the element that it sends from") {
    const TargetColumns columns = test::c600(ExchangeDiscipline::FullDuplex);
    const Target target = view(columns);
    const Topology topology(target);
    const auto cycles = [&](std::uint32_t received_at) {
        Phase phase;
        const std::uint32_t ring[] = {40, 80, 0};
        const std::uint32_t from[] = {0, 40, 80};
        for (std::uint32_t i = 0; i < 3; ++i) {
            add_transfer(phase, TileId(from[i]), {&ring[i], 1}, 2000, 4148);
            phase.source_address.push_back(0x80000);
            phase.receiver_address.push_back(received_at);
        }
        const PhaseSchedule schedule = schedule_full_duplex(target, topology, phase);
        CHECK(find_fault(target, topology, phase, schedule, ExchangeDiscipline::FullDuplex) == "");
        return schedule.cycles;
    };
    CHECK(cycles(0xA0000) < 2400);    // another element: all three at once
    CHECK(cycles(0x84000) > 4000);    // the same 32 KiB element, other bytes
    CHECK(cycles(0x60000) < 2400);    // the other region
    CHECK(elements_of(columns.ipu21, 0x4C000, 4).first == 0);
    CHECK(elements_of(columns.ipu21, 0x4FFFC, 8).last == 1);
    CHECK(elements_of(columns.ipu21, 0x80000, 32768).first == elements_of(columns.ipu21, 0x80000, 32768).last);
    // A schedule that ignores the elements is caught.
    Phase phase;
    const std::uint32_t ring[] = {40, 0};
    const std::uint32_t from[] = {0, 40};
    for (std::uint32_t i = 0; i < 2; ++i) add_transfer(phase, TileId(from[i]), {&ring[i], 1}, 2000, 4148);
    const PhaseSchedule blind = schedule_full_duplex(target, topology, phase);
    phase.source_address = {0x80000, 0x80000};
    phase.receiver_address = {0x84000, 0x84000};
    CHECK(find_fault(target, topology, phase, blind, ExchangeDiscipline::FullDuplex).find("element") != std::string::npos);
}
