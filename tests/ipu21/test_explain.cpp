#include <doctest/doctest.h>

#include <algorithm>

#include "analyse/ipu21/explain.h"
#include "chain.h"
#include "graphs.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;

namespace {

PrepareOptions original_plans() {
    PrepareOptions options;
    options.forced = {{"up", test::original_up}, {"down", test::original_down}};
    return options;
}

/// Every component of every operator is the sum of its parts, and no part has two names.
void check_parts(const test::Chain& chain, const TargetColumns& target) {
    const Explanation e = explain(view(chain.tasks), view(chain.schedules[0]), view(target));
    CHECK(e.cycles == chain.schedules[0].tile_estimate[0].cycles);
    REQUIRE(e.operators.size() == chain.timing.tile_operators.size());
    for (std::size_t op = 0; op < e.operators.size(); ++op) {
        const TileOperatorTiming& t = chain.timing.tile_operators[op];
        const std::array<std::uint64_t, component_count> wanted{t.estimated_local_cycles, t.estimated_exchange_cycles, t.estimated_staging_cycles,
                                                                t.estimated_launch_cycles};
        for (std::size_t component = 0; component < component_count; ++component) {
            std::int64_t sum = 0;
            for (const CostPart& part : e.operators[op].parts) {
                if (part.component == static_cast<CostComponent>(component)) sum += part.cycles;
                CHECK(part.cycles != 0);
            }
            INFO(e.operators[op].name << " " << to_text(static_cast<CostComponent>(component)));
            CHECK(sum == static_cast<std::int64_t>(wanted[component]));
        }
    }
}

}  // namespace

TEST_CASE("the estimate's parts add up, per operator and component") {
    const TargetColumns target = test::c600();
    check_parts(test::Chain(test::mlp_graph(4, 729, 1152, 4608), target), target);
    check_parts(test::Chain(test::mlp_graph(4, 729, 1152, 4608), target, original_plans()), target);
    for (const ExchangeDiscipline discipline : {ExchangeDiscipline::Exclusive, ExchangeDiscipline::FullDuplex}) {
        TargetColumns small = test::c600(discipline);
        small.core_count = 128;
        check_parts(test::Chain(test::block_graph(96, 128, 512, 4), small), small);
    }
}

TEST_CASE("the chosen plan against the measured one: no slower, and every component of the difference has its cause") {
    const TargetColumns target = test::c600();
    const test::Chain chosen(test::mlp_graph(4, 729, 1152, 4608), target);
    const test::Chain original(test::mlp_graph(4, 729, 1152, 4608), target, original_plans());
    const Explanation mine = explain(view(chosen.tasks), view(chosen.schedules[0]), view(target));
    const Explanation other = explain(view(original.tasks), view(original.schedules[0]), view(target));
    CHECK(mine.cycles <= other.cycles);
    std::int64_t sum = 0;
    for (const CostComponent c : {CostComponent::Local, CostComponent::Exchange, CostComponent::Staging, CostComponent::Launch}) sum += mine.component(c) - other.component(c);
    CHECK(sum == static_cast<std::int64_t>(mine.cycles) - static_cast<std::int64_t>(other.cycles));
    // Nothing is left to a remainder: both plans rest on the model and on scheduled phases alone.
    for (const Explanation* e : {&mine, &other}) {
        for (const OperatorParts& op : e->operators) {
            for (const CostPart& part : op.parts) {
                CHECK(part.name.find("less modelled") == std::string::npos);
                CHECK(part.name != "estimated less scheduled");
                CHECK(!part.drivers.empty());
            }
        }
    }
    const std::string text = comparison_table(mine, other);
    CHECK(text.find("the sum of all parts") != std::string::npos);
    CHECK(text.find(test::original_down) != std::string::npos);
    CHECK(explanation_table(mine).find("all: " + std::to_string(mine.cycles)) != std::string::npos);
    CHECK(explanation_json(mine)["cycles"] == mine.cycles);
}

TEST_CASE("measured kernels stand apart from the model; an altered schedule is refused") {
    const GraphColumns graph = test::mlp_graph(4, 729, 1152, 4608);
    const TargetColumns target = test::c600();
    std::vector<KernelRecord> records;
    for (const bool accumulate : {false, true}) {
        KernelRecord record;
        record.key = gemm_key(target.ipu21, GemmCall{36, 64, 128, 2, true, accumulate, false});
        record.median = record.minimum = record.p95 = record.maximum = 12'000;
        records.push_back(record);
    }
    const KernelTable table(records, "", "", "test");
    PrepareOptions options = original_plans();
    options.kernels = &table;
    test::Chain chain(graph, target, options);
    check_parts(chain, target);
    const Explanation e = explain(view(chain.tasks), view(chain.schedules[0]), view(target));
    const auto& parts = e.operators[0].parts;
    const auto measured = std::ranges::find(parts, std::string("measured less modelled"), &CostPart::name);
    REQUIRE(measured != parts.end());
    CHECK(measured->cycles == 36 * (12'000 - 12'422));
    chain.schedules[0].tile_estimate[0].cycles += 1;
    CHECK_THROWS_AS((void)explain(view(chain.tasks), view(chain.schedules[0]), view(target)), Failure);
    chain.schedules[0].plan_choice.pop_back();
    CHECK_THROWS_AS((void)explain(view(chain.tasks), view(chain.schedules[0]), view(target)), Failure);
}
