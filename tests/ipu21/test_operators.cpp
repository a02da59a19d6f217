#include <doctest/doctest.h>

#include "chain.h"
#include "graphs.h"
#include "ipu21/kernel_costs.h"
#include "machine.h"

using namespace weft;
using test::GraphBuilder;
using K = TileOperatorKind;

namespace {

TargetColumns small_machine() {
    TargetColumns target = test::c600();
    target.core_count = 64;
    return target;
}

std::vector<K> kinds_of(const TasksColumns& tasks) {
    std::vector<K> kinds;
    for (const TileOperator& op : tasks.tile_operators) kinds.push_back(static_cast<K>(op.kind));
    return kinds;
}

enum class GeluForm : std::uint8_t { operation, erf, tanh };

/// A Gelu of `x`: the operator itself, or the chain that exporters write for it.
std::uint32_t gelu(GraphBuilder& g, std::uint32_t x, GeluForm form) {
    const std::vector<std::uint32_t> dims = g.dims_of(x);
    const auto binary = [&](OperatorKind kind, std::uint32_t a, std::uint32_t b) { return g.node(kind, "step", {a, b}, dims); };
    const auto constant = [&] { return g.weight({1}); };
    if (form == GeluForm::operation) {
        const std::uint32_t result = g.unary(OperatorKind::Gelu, "gelu", x);
        g.real(AttributeKey::Alpha, 0);
        return result;
    }
    std::uint32_t inner = no_id;
    if (form == GeluForm::erf) {
        inner = g.unary(OperatorKind::Erf, "erf", binary(OperatorKind::Div, x, constant()));
    } else {
        const std::uint32_t cube = binary(OperatorKind::Mul, binary(OperatorKind::Mul, x, x), x);
        const std::uint32_t sum = binary(OperatorKind::Add, x, binary(OperatorKind::Mul, cube, constant()));
        inner = g.unary(OperatorKind::Tanh, "tanh", binary(OperatorKind::Mul, sum, constant()));
    }
    const std::uint32_t gate = binary(OperatorKind::Add, inner, constant());
    return binary(OperatorKind::Mul, binary(OperatorKind::Mul, x, gate), constant());
}

}  // namespace

TEST_CASE("Gelu: the operator, the chain around Erf and the chain around Tanh become the same operator with the same plan") {
    const TargetColumns target = small_machine();
    std::vector<std::uint64_t> cycles;
    for (const GeluForm form : {GeluForm::operation, GeluForm::erf, GeluForm::tanh}) {
        GraphBuilder g;
        const std::uint32_t up = g.linear("up", g.input("x", {1, 64, 128}), 256);
        g.output(g.linear("down", gelu(g, up, form), 128));
        const test::Chain chain(g.graph(), target);
        REQUIRE(!chain.lowered.failure);
        CHECK(kinds_of(chain.tasks) == std::vector<K>{K::Gemm, K::Gelu, K::Gemm});
        cycles.push_back(chain.timing.tile_operators[1].local_cycles);
    }
    CHECK(cycles[0] > 0);
    CHECK(cycles == std::vector<std::uint64_t>(3, cycles[0]));
}

TEST_CASE("Softmax and Cast have plans of their own; a reshape that keeps the last axis is a view") {
    const TargetColumns target = small_machine();
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 64, 128}), 256, true);
    const std::uint32_t view = g.node(OperatorKind::Reshape, "view", {up}, {64, 256});
    const std::uint32_t soft = g.unary(OperatorKind::Softmax, "softmax", view);
    g.ints(AttributeKey::Axis, {1});
    const std::uint32_t cast = g.unary(OperatorKind::Cast, "cast", soft);
    g.output(g.linear("down", cast, 128));
    const test::Chain chain(g.graph(), target);
    REQUIRE(!chain.lowered.failure);
    CHECK(kinds_of(chain.tasks) == std::vector<K>{K::Gemm, K::Softmax, K::Cast, K::Gemm});
    for (const TileOperatorTiming& t : chain.timing.tile_operators) CHECK(t.local_cycles > 0);
}

TEST_CASE("a measured staging copy changes the cost of staging and no other") {
    const GraphColumns graph = test::mlp_graph(4, 729, 1152, 4608);
    const TargetColumns target = test::c600();
    ipu21::PrepareOptions options;
    options.forced = {{"up", "parallel-reduction 15x48x2 inner-fast owners=inner-fast k64 n64 standard weights=1x1x15 panels=1 fan-in=2 split=1x2 staged normal f16"}};
    const auto plan_of = [&](const KernelTable* table) {
        options.kernels = table;
        const TasksColumns tasks = ipu21::prepare(view(graph), view(target), options);
        return tasks.tile_plans[tasks.tile_operators[0].first_plan];
    };
    const TilePlan model = plan_of(nullptr);
    KernelRecord record;
    record.key = ipu21::amount_key("stage", "bytes", std::uint64_t{2} * 576 * 96);
    record.median = record.minimum = record.p95 = record.maximum = 10'000;
    const KernelTable table(std::span(&record, 1), "", "", "test");
    const TilePlan measured = plan_of(&table);
    CHECK(model.staging_cycles != 10'000);
    CHECK(measured.staging_cycles == 10'000);
    CHECK(measured.local_cycles == model.local_cycles);
    CHECK(measured.exchange_cycles == model.exchange_cycles);
    CHECK(measured.launch_cycles == model.launch_cycles);
    CHECK(measured.staging_source == static_cast<std::uint32_t>(CostSource::Measured));
    CHECK(measured.local_source == model.local_source);
}
