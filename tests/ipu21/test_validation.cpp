#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>

#include "chain.h"
#include "graphs.h"
#include "ipu21/rounding.h"
#include "machine.h"
#include "schedule/ipu21/operator_memory.h"
#include "validation_table.h"

// The table of docs/ipu21-validation.md: one record per workload and operator, and one per workload as a whole. A planner that
// changes moves figures here; the test names the record and the component, and WEFT_WRITE_VALIDATION=1 records the new ones
// (scripts/ipu21-validation does that and renders them). Times are kept in a file of their own and never compared.
using namespace weft;
using namespace weft::ipu21;

namespace {

const std::filesystem::path data = WEFT_TEST_DATA;
const std::filesystem::path table_path = data / "ipu21-validation.tsv";
const std::filesystem::path times_path = data / "ipu21-validation-times.tsv";
const std::filesystem::path measured_path = data / "ipu21-measured.tsv";

struct Workload {
    std::string name;
    GraphColumns graph;
    PrepareOptions options;
};

std::vector<Workload> workloads() {
    std::vector<Workload> list;
    const auto add = [&](const std::string& name, GraphColumns graph, std::vector<std::pair<std::string, std::string>> forced = {}) {
        PrepareOptions options;
        options.forced = std::move(forced);
        list.push_back({name, std::move(graph), options});
    };
    add("siglip-mlp-b4 measured columns-fast", test::mlp_graph(4, 729, 1152, 4608), {{"up", test::original_up}, {"down", test::original_down}});
    add("siglip-mlp-b4 measured rows-fast", test::mlp_graph(4, 729, 1152, 4608),
        {{"up", test::rows_fast(test::original_up)}, {"down", test::rows_fast(test::original_down)}});
    add("siglip-mlp-b4", test::mlp_graph(4, 729, 1152, 4608));
    add("siglip-mlp-b1 4304", test::mlp_graph(1, 729, 1152, 4304));
    add("siglip-attention 729x1152", test::attention_graph(729, 1152, 16));
    add("block 197x768 (ViT-B/16)", test::block_graph(197, 768, 3072, 12));
    add("block 384x768 (BERT base)", test::block_graph(384, 768, 3072, 12));
    add("block 1024x768 (GPT-2)", test::block_graph(1024, 768, 3072, 12));
    add("mixer 196x768 (Mixer-B/16)", test::mixer_graph(196, 768, 384, 3072));
    add("efficient attention 197x768", test::efficient_attention_graph(197, 768, 12));
    add("product 4096x4096x4096", test::linear_graph(4096, 4096, 4096));
    for (const std::uint32_t width : {768U, 1024U, 1152U}) add(fmt::format("attention 1024x{}", width), test::bare_attention_graph(1024, width, 16));
    return list;
}

test::ValidationTable empty_table() {
    using Kind = test::ColumnKind;
    test::ValidationTable table;
    for (const char* name : {"workload", "operator"}) table.columns.push_back({name, Kind::Key});
    for (const char* name : {"plan", "grid order", "input layout", "output layout", "local source", "staging source", "measured plan"}) {
        table.columns.push_back({name, Kind::Text});
    }
    for (const char* name : {"tiles", "grid rows", "grid columns", "grid inner", "calls", "phases",
                             "est local", "est exchange", "est staging", "est launch", "est total",
                             "local", "exchange", "staging", "launch", "total", "exchange and boundaries", "rest",
                             "measured exchange and boundaries", "measured rest", "measured total", "expected error ppm",
                             "roundings f16", "roundings f32", "rounding bound ppm",
                             "est standard bytes", "est interleaved bytes", "est row bytes", "placed standard bytes", "placed interleaved bytes", "placed end",
                             "enumerated", "plans", "states", "dominated", "capped", "frontier", "finalists"}) {
        table.columns.push_back({name, Kind::Number});
    }
    table.columns.push_back({"bound percent", Kind::Text});
    return table;
}

/// One record under construction; what is not set stays "-".
class Record {
public:
    explicit Record(test::ValidationTable& table) : table_(table), fields_(table.columns.size(), "-") { set("bound percent", "1"); }
    void set(const std::string& column, const std::string& value) { fields_[table_.column(column)] = value; }
    void set(const std::string& column, std::uint64_t value) { set(column, fmt::format("{}", value)); }
    void add() { table_.rows.push_back(fields_); }

private:
    test::ValidationTable& table_;
    std::vector<std::string> fields_;
};

std::uint64_t estimated_total(const TileOperatorTiming& t) {
    return t.estimated_local_cycles + t.estimated_exchange_cycles + t.estimated_staging_cycles + t.estimated_launch_cycles;
}
std::uint64_t final_total(const TileOperatorTiming& t) { return t.local_cycles + t.exchange_cycles + t.staging_cycles + t.launch_cycles; }

void set_cycles(Record& record, const TileOperatorTiming& t, std::uint32_t boundary) {
    record.set("phases", t.phases);
    record.set("est local", t.estimated_local_cycles);
    record.set("est exchange", t.estimated_exchange_cycles);
    record.set("est staging", t.estimated_staging_cycles);
    record.set("est launch", t.estimated_launch_cycles);
    record.set("est total", estimated_total(t));
    record.set("local", t.local_cycles);
    record.set("exchange", t.exchange_cycles);
    record.set("staging", t.staging_cycles);
    record.set("launch", t.launch_cycles);
    record.set("total", final_total(t));
    const std::uint64_t with_boundaries = t.exchange_cycles + std::uint64_t{t.phases} * boundary;
    record.set("exchange and boundaries", with_boundaries);
    record.set("rest", final_total(t) - with_boundaries);
}

PlacedBytes most(std::span<const PlacedBytes> steps) {
    PlacedBytes result;
    for (const PlacedBytes& step : steps) {
        result.standard = std::max(result.standard, step.standard);
        result.interleaved = std::max(result.interleaved, step.interleaved);
    }
    return result;
}

constexpr std::array sources{"analytical", "interpolated", "measured"};

void add_operators(test::ValidationTable& table, const std::string& workload, const test::Chain& chain, const TargetColumns& target) {
    const std::vector<PlacedBytes> placed = placed_bytes(view(chain.lowered.program), target.core_count);
    const std::vector<OperatorMemory> memory = operator_memory(view(chain.tasks), view(chain.schedules[0]), view(target));
    for (std::size_t op = 0; op < chain.tasks.tile_operators.size(); ++op) {
        const TileOperator& row = chain.tasks.tile_operators[op];
        const TilePlan& plan = chain.tasks.tile_plans[chain.schedules[0].plan_choice[op]];
        const TileLayout& input = chain.tasks.tile_layouts[chain.tasks.plan_layouts[plan.first_layout]];
        Record record(table);
        record.set("workload", workload);
        record.set("operator", chain.name(op));
        record.set("plan", chain.key(op));
        const bool gemm = static_cast<TileOperatorKind>(row.kind) == TileOperatorKind::Gemm;
        if (gemm) record.set("grid order", std::string(to_text(static_cast<GridOrder>(plan.order))));
        record.set("input layout", to_text(input));
        record.set("output layout", to_text(chain.tasks.tile_layouts[plan.output_layout]));
        record.set("local source", sources[plan.local_source]);
        record.set("staging source", sources[plan.staging_source]);
        record.set("tiles", plan.tiles);
        record.set("grid rows", plan.rows);
        record.set("grid columns", plan.columns);
        record.set("grid inner", plan.inner);
        record.set("calls", plan.calls);
        set_cycles(record, chain.timing.tile_operators[op], target.ipu21.measured_boundary_cycles);
        record.set("expected error ppm", plan.error_ppm);
        const Roundings roundings = roundings_of(row, plan, input, target.ipu21.amp_columns);
        record.set("roundings f16", roundings.narrow);
        record.set("roundings f32", roundings.wide);
        if (rounding_bound_ppm(roundings) != 0xffffffffU) record.set("rounding bound ppm", rounding_bound_ppm(roundings));
        record.set("est standard bytes", memory[op].standard);
        record.set("est interleaved bytes", memory[op].interleaved);
        std::vector<PlacedBytes> steps;
        for (std::size_t step = 0; step < placed.size(); ++step) {
            if (chain.lowered.program.tile_steps[step].operator_index == op) steps.push_back(placed[step]);
        }
        record.set("placed standard bytes", most(steps).standard);
        record.set("placed interleaved bytes", most(steps).interleaved);
        record.set("plans", row.plan_count);
        record.add();
    }
}

/// The workload as a whole, with what a card measured where that is recorded.
void add_whole(test::ValidationTable& table, const std::string& workload, const test::Chain& chain, const TargetColumns& target,
               const std::vector<std::vector<std::string>>& measured) {
    Record record(table);
    record.set("workload", workload);
    record.set("operator", "all");
    TileOperatorTiming sum{};
    for (const TileOperatorTiming& t : chain.timing.tile_operators) {
        sum.phases += t.phases;
        sum.local_cycles += t.local_cycles;
        sum.exchange_cycles += t.exchange_cycles;
        sum.staging_cycles += t.staging_cycles;
        sum.launch_cycles += t.launch_cycles;
        sum.estimated_local_cycles += t.estimated_local_cycles;
        sum.estimated_exchange_cycles += t.estimated_exchange_cycles;
        sum.estimated_staging_cycles += t.estimated_staging_cycles;
        sum.estimated_launch_cycles += t.estimated_launch_cycles;
    }
    set_cycles(record, sum, target.ipu21.measured_boundary_cycles);
    for (const auto& row : measured) {
        if (row[0] != workload) continue;
        record.set("measured plan", row[1]);
        record.set("measured exchange and boundaries", row[2]);
        record.set("measured total", row[3]);
        if (row[2] != "-") record.set("measured rest", std::stoull(row[3]) - std::stoull(row[2]));
    }
    const TileEstimate& estimate = chain.schedules[0].tile_estimate[0];
    record.set("est standard bytes", estimate.standard_bytes);
    record.set("est interleaved bytes", estimate.interleaved_bytes);
    record.set("est row bytes", estimate.row_bytes);
    const PlacedBytes placed = most(placed_bytes(view(chain.lowered.program), target.core_count));
    record.set("placed standard bytes", placed.standard);
    record.set("placed interleaved bytes", placed.interleaved);
    record.set("placed end", *std::ranges::max_element(chain.lowered.program.core_local_elems));
    record.set("enumerated", chain.figures.counts.enumerated);
    record.set("plans", chain.tasks.tile_plans.size());
    record.set("states", chain.counts.expanded);
    record.set("dominated", chain.counts.retention.dominated);
    record.set("capped", chain.counts.retention.capped);
    record.set("frontier", chain.counts.widest);
    record.set("finalists", chain.schedules.size());
    record.add();
}

void check_chain(const test::Chain& chain, const TargetColumns& target) {
    REQUIRE(!chain.lowered.failure);
    const TileEstimate& estimate = chain.schedules[0].tile_estimate[0];
    // The planner's peaks, from another walk over its choice.
    const std::vector<OperatorMemory> memory = operator_memory(view(chain.tasks), view(chain.schedules[0]), view(target));
    CHECK(std::ranges::max_element(memory, {}, &OperatorMemory::standard)->standard == estimate.standard_bytes);
    CHECK(std::ranges::max_element(memory, {}, &OperatorMemory::interleaved)->interleaved == estimate.interleaved_bytes);
    // What was scheduled for the estimate is what is scheduled in the end.
    CHECK(std::abs(static_cast<double>(estimate.cycles) / static_cast<double>(chain.timing.latency_cycles) - 1) < 0.005);
    // Sums are the latency.
    std::uint64_t total = 0;
    for (const TileOperatorTiming& t : chain.timing.tile_operators) total += final_total(t);
    CHECK(total == chain.timing.latency_cycles);
}

}  // namespace

TEST_CASE("the validation table holds; what moved is named") {
    const TargetColumns target = test::c600();
    const auto measured = test::read_fields(measured_path);
    test::ValidationTable now = empty_table();
    std::string times = "workload\tmilliseconds\n";
    for (const Workload& workload : workloads()) {
        INFO(workload.name);
        const auto begin = std::chrono::steady_clock::now();
        const test::Chain chain(workload.graph, target, workload.options);
        const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
        times += fmt::format("{}\t{:.0f}\n", workload.name, spent.count());
        check_chain(chain, target);
        add_operators(now, workload.name, chain, target);
        add_whole(now, workload.name, chain, target, measured);
    }
    if (std::getenv("WEFT_WRITE_VALIDATION") != nullptr) {
        publish_text(table_path, now.text());
        publish_text(times_path, times);
    }
    for (const std::string& line : moved(now, test::read_fields(table_path), "bound percent")) FAIL_CHECK(line);
}

TEST_CASE("the plan whose exchange was measured: model against card") {
    const auto rows = test::read_fields(table_path);
    test::ValidationTable table = empty_table();
    int compared = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const auto number = [&](const std::string& name) { return std::stod(rows[i][table.column(name)]); };
        if (rows[i][table.column("measured plan")] != "this plan") continue;
        CHECK(std::abs(number("exchange and boundaries") / number("measured exchange and boundaries") - 1) < 0.001);
        CHECK(std::abs(number("total") / number("measured total") - 1) < 0.005);
        CHECK(std::abs(number("rest") / number("measured rest") - 1) < 0.005);
        ++compared;
    }
    CHECK(compared == 2);
}

TEST_CASE("a table that moved names the record and the component") {
    test::ValidationTable table = empty_table();
    Record record(table);
    record.set("workload", "net");
    record.set("operator", "up");
    record.set("plan", "a plan");
    record.set("est exchange", 1000);
    record.add();
    const auto recorded = [&] {
        std::vector<std::vector<std::string>> rows{{}};
        for (const auto& column : table.columns) rows[0].push_back(column.name);
        rows.insert(rows.end(), table.rows.begin(), table.rows.end());
        return rows;
    };
    const auto before = recorded();
    CHECK(moved(table, before, "bound percent").empty());
    table.rows[0][table.column("est exchange")] = "1010";   // within the bound
    CHECK(moved(table, before, "bound percent").empty());
    table.rows[0][table.column("est exchange")] = "1011";
    CHECK(moved(table, before, "bound percent") == std::vector<std::string>{"net, up: est exchange moved from 1000 to 1011"});
    table.rows[0][table.column("est exchange")] = "-";
    CHECK(moved(table, before, "bound percent") == std::vector<std::string>{"net, up: est exchange moved from 1000 to -"});
    table.rows[0][table.column("est exchange")] = "1000";
    table.rows[0][table.column("plan")] = "another";
    CHECK(moved(table, before, "bound percent") == std::vector<std::string>{"net, up: plan moved from a plan to another"});
    table.rows[0][table.column("operator")] = "down";
    CHECK(moved(table, before, "bound percent") == std::vector<std::string>{"net, down: a new record", "net, up: the record is gone"});
    table.columns.pop_back();
    CHECK(moved(table, before, "operator").size() == 1);
}

TEST_CASE("rounding: chains of each kind of plan, and the bound") {
    const auto chain = [](const char* key) {
        const test::Chain planned(test::mlp_graph(4, 729, 1152, 4608), test::c600(), [&] {
            PrepareOptions options;
            options.forced = {{"up", key}};
            return options;
        }());
        const TilePlan& plan = planned.tasks.tile_plans[planned.schedules[0].plan_choice[0]];
        return roundings_of(planned.tasks.tile_operators[0], plan, planned.tasks.tile_layouts[planned.tasks.plan_layouts[plan.first_layout]], 16);
    };
    CHECK(chain(test::original_up.c_str()) == Roundings{0, 1152});
    CHECK(rounding_bound_ppm({0, 1}) == 489);          // 1 / 2047
    CHECK(rounding_bound_ppm({0, 1024}) == 1'000'000);
    CHECK(rounding_bound_ppm({0, 2048}) == 0xffffffffU);
    CHECK(rounding_bound_ppm({1000, 1}) == 489 + 60);
}
