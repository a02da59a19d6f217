#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "artifact/file.h"
#include "chain.h"
#include "graphs.h"
#include "machine.h"

// The table of docs/ipu21.md: one record per workload and operator. A planner that changes moves figures here; the test names
// the component, and WEFT_WRITE_VALIDATION=1 records the new ones (scripts/ipu21-validation renders them).
using namespace weft;
using namespace weft::ipu21;

namespace {

const std::filesystem::path table_path = std::filesystem::path(WEFT_TEST_DATA) / "ipu21-validation.tsv";
constexpr double bound_percent = 1.0;

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
    return list;
}

const std::vector<std::string> text_columns{"workload", "operator", "plan", "input layout", "output layout", "local source"};
const std::vector<std::string> number_columns{"tiles", "est local", "est exchange", "est staging", "est launch", "local", "exchange", "staging",
                                              "launch", "phases", "standard bytes", "interleaved bytes", "placed bytes", "plans", "states"};

struct Record {
    std::vector<std::string> texts;
    std::vector<std::uint64_t> numbers;
};

std::vector<Record> records_of_workload(const Workload& workload) {
    const TargetColumns target = test::c600();
    const test::Chain chain(workload.graph, target, workload.options);
    REQUIRE(!chain.lowered.failure);
    const TileEstimate& estimate = chain.schedules[0].tile_estimate[0];
    std::uint64_t placed = 0;
    for (const std::uint32_t bytes : chain.lowered.program.core_local_elems) placed = std::max<std::uint64_t>(placed, bytes);
    std::vector<Record> records;
    constexpr std::array sources{"analytical", "interpolated", "measured"};
    for (std::size_t op = 0; op < chain.tasks.tile_operators.size(); ++op) {
        const TilePlan& plan = chain.tasks.tile_plans[chain.schedules[0].plan_choice[op]];
        const TileOperatorTiming& t = chain.timing.tile_operators[op];
        Record record;
        record.texts = {workload.name, chain.name(op), chain.key(op), to_text(chain.tasks.tile_layouts[chain.tasks.plan_layouts[plan.first_layout]]),
                        to_text(chain.tasks.tile_layouts[plan.output_layout]), sources[plan.local_source]};
        record.numbers = {plan.tiles, t.estimated_local_cycles, t.estimated_exchange_cycles, t.estimated_staging_cycles, t.estimated_launch_cycles,
                          t.local_cycles, t.exchange_cycles, t.staging_cycles, t.launch_cycles, t.phases, estimate.standard_bytes,
                          estimate.interleaved_bytes, placed, chain.tasks.tile_operators[op].plan_count, chain.counts.expanded};
        records.push_back(std::move(record));
    }
    return records;
}

std::vector<Record> read_table() {
    std::istringstream lines(read_text(table_path));
    std::vector<Record> records;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        Record record;
        std::string field;
        for (std::size_t i = 0; std::getline(fields, field, '\t'); ++i) {
            if (i < text_columns.size()) record.texts.push_back(field);
            else record.numbers.push_back(std::stoull(field));
        }
        records.push_back(std::move(record));
    }
    return records;
}

void write_table(const std::vector<Record>& records) {
    std::string text;
    for (const std::string& name : text_columns) text += name + "\t";
    for (const std::string& name : number_columns) text += name + (&name == &number_columns.back() ? "\n" : "\t");
    for (const Record& record : records) {
        for (const std::string& field : record.texts) text += field + "\t";
        for (std::size_t i = 0; i < record.numbers.size(); ++i) text += fmt::format("{}{}", record.numbers[i], i + 1 == record.numbers.size() ? "\n" : "\t");
    }
    publish_text(table_path, text);
}

}  // namespace

TEST_CASE("the validation table holds; what moved is named") {
    std::vector<Record> now;
    for (const Workload& workload : workloads()) {
        const auto records = records_of_workload(workload);
        now.insert(now.end(), records.begin(), records.end());
    }
    if (std::getenv("WEFT_WRITE_VALIDATION") != nullptr) write_table(now);
    const std::vector<Record> recorded = read_table();
    REQUIRE(now.size() == recorded.size());
    for (std::size_t row = 0; row < now.size(); ++row) {
        REQUIRE(recorded[row].texts.size() == text_columns.size());
        REQUIRE(recorded[row].numbers.size() == number_columns.size());
        const std::string where = now[row].texts[0] + ", " + now[row].texts[1];
        for (std::size_t i = 0; i < text_columns.size(); ++i) {
            INFO(where << ": " << text_columns[i]);
            CHECK(now[row].texts[i] == recorded[row].texts[i]);
        }
        for (std::size_t i = 0; i < number_columns.size(); ++i) {
            INFO(where << ": " << number_columns[i] << " moved from " << recorded[row].numbers[i] << " to " << now[row].numbers[i]);
            const auto before = static_cast<double>(recorded[row].numbers[i]);
            const auto after = static_cast<double>(now[row].numbers[i]);
            CHECK(std::abs(after - before) <= before * bound_percent / 100);
        }
    }
}
