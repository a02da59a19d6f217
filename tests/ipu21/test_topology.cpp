#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "ipu21/phase.h"
#include "ipu21/topology.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;

TEST_CASE("logical tiles are a permutation of the array and neighbours are hardware pairs") {
    const TargetColumns target = test::c600();
    const Topology topology(view(target));
    REQUIRE(topology.tile_count() == 1472);
    std::set<std::uint32_t> seen;
    for (std::uint32_t t = 0; t < 1472; ++t) {
        seen.insert(topology.physical(TileId(t)));
        CHECK((topology.physical(TileId(t)) ^ 2U) == topology.physical(TileId(t ^ 1U)));
        CHECK(topology.partner(TileId(t)) == TileId(t ^ 1U));
    }
    CHECK(seen.size() == 1472);
    CHECK(*seen.rbegin() == 1471);
}

TEST_CASE("an odd last tile has no partner") {
    TargetColumns target = test::c600();
    target.core_count = 31;
    const Topology topology(view(target));
    CHECK(topology.partner(TileId(30)).is_none());
    CHECK(topology.partner(TileId(29)) == TileId(28));
}

TEST_CASE("routes: range, mean and golden spans") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    std::int32_t least = 1000;
    std::int32_t most = -1000;
    std::int64_t sum = 0;
    for (std::uint32_t s = 0; s < 1472; ++s) {
        for (std::uint32_t d = 0; d < 1472; ++d) {
            if (s == d) continue;
            const std::int32_t route = topology.route_cycles(TileId(s), TileId(d));
            least = std::min(least, route);
            most = std::max(most, route);
            sum += route;
        }
    }
    // The specification gives -78 .. +108 from a sample; over all pairs the longest route, tile 780 to tile 0, takes 112.
    CHECK(least == -78);
    CHECK(most == 112);
    CHECK(topology.route_cycles(TileId(780), TileId(0)) == 112);
    CHECK(sum / (1472 * 1471) == -9);
    std::vector<std::uint32_t> group;
    for (std::uint32_t t = 18; t <= 1440; t += 18) group.push_back(t);
    CHECK(transfer_timing(target, topology, TileId(0), group, 4096, false).end == 4218);
    const std::array<std::uint32_t, 1> one{18};
    CHECK(transfer_timing(target, topology, TileId(0), one, 1152, false).end == 1228);
    // The dedicated form: fixed receive event, 214 cycles over the words on the last row.
    const std::array<std::uint32_t, 1> last_row{44};
    REQUIRE(topology.row(TileId(44)) == 22);
    CHECK(transfer_timing(target, topology, TileId(0), last_row, 1152, true).end == 1152 + 214);
}
