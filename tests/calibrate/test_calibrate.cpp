#include <doctest/doctest.h>

#include "../ipu21/machine.h"
#include "calibrate/calibrate.h"
#include "ipu21/kernel_costs.h"

using namespace weft;

namespace {

const char* const profile = R"({
  "schemaVersion": 1, "target": "ipu21", "buildId": "1f", "clockHz": 1500000000, "host": "lab", "toolVersion": "profile 2.1", "date": "2026-08-12",
  "measurements": [
    {"key": {"kernel": "gemm", "dimensions": {"rows": 36, "inner": 64, "columns": 128, "multiply": "f16", "accumulate": "f16",
      "mode": "accumulate", "load": "interleaved", "mixture": "one", "orientation": "normal", "source": "direct", "align": 32, "tail": "16"}},
     "samples": 17, "minimumCycles": 24800, "medianCycles": 24844, "p95Cycles": 25000, "maximumCycles": 26000, "mergedInvocations": 2},
    {"key": {"kernel": "stage", "dimensions": {"bytes": 8192}}, "samples": 4,
     "minimumCycles": 1300, "medianCycles": 1308, "p95Cycles": 1310, "maximumCycles": 1312, "quarantined": true},
    {"key": {"kernel": "exchange", "dimensions": {}}, "samples": 4,
     "minimumCycles": 1, "medianCycles": 1, "p95Cycles": 1, "maximumCycles": 1}
  ]})";

ExitStatus status_of(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    try {
        (void)import_measurements(nlohmann::json::parse(text), "p.json");
    } catch (const Failure& failure) {
        CHECK(std::string(failure.what()).find("p.json") == 0);
        return failure.status();
    }
    return ExitStatus::done;
}

}  // namespace

TEST_CASE("the exporter's table: merged invocations divided, exchange left out, unknown fields named") {
    const Measurements m = import_measurements(nlohmann::json::parse(profile), "p.json");
    REQUIRE(m.records.size() == 2);
    CHECK(m.clock_hz == 1'500'000'000);
    CHECK(m.unknown_fields == std::vector<std::string>{"/host"});
    const KernelRecord& gemm = m.records[0];
    // The importer's key is the one that the planner asks for.
    CHECK(gemm.key == ipu21::gemm_key(test::c600().ipu21, {36, 64, 128, 2, true, true, false}));
    CHECK(gemm.median == 12'422);
    CHECK(gemm.build == "1f");
    CHECK(gemm.tool == "profile 2.1");
    CHECK(gemm.date == "2026-08-12");
    CHECK(gemm.merged == 2);
    CHECK(m.records[1].merged == 1);
    CHECK(m.records[1].status == RecordStatus::quarantined);
}

TEST_CASE("errors against the model; export and import are inverse") {
    const TargetColumns target = test::c600();
    std::vector<KernelRecord> records = import_measurements(nlohmann::json::parse(profile), "p.json").records;
    CHECK(set_errors(view(target), records) == 2);
    CHECK(records[0].error_ppm == 0);                     // 294 + 4 (1152 + 1880) = 12,422
    CHECK(records[1].error_ppm == (1366 - 1308) * 1'000'000 / 1308);
    const auto families = family_errors(records);
    REQUIRE(families.size() == 2);
    CHECK(families[1].bias_ppm == records[1].error_ppm);
    const Measurements again = import_measurements(nlohmann::json::parse(export_measurements(records, 1'500'000'000).dump()), "p.json");
    REQUIRE(again.records.size() == 2);
    for (KernelRecord& record : records) record.error_ppm = 0;
    CHECK(again.records == records);
}

TEST_CASE("what a table says beside what is read is kept, in the artifact too, and written out again at its place") {
    nlohmann::json table = nlohmann::json::parse(profile);
    table["driver"] = {{"version", "3.1"}, {"flags", {1, 2.5, nullptr}}};
    table["measurements"][0]["stalls"] = {{"load", 12}, {"note", "a, \"b\""}};
    table["measurements"][0]["key"]["variant"] = true;
    const auto roundtrip = [](const nlohmann::json& json) {
        const Measurements m = import_measurements(json, "p.json");
        const KernelsColumns columns = kernels_of(m.records, KernelUnit::Cycles, m.clock_hz);
        validate(view(columns), "p.kernels");
        const auto bytes = serialize(view(columns));
        const Kernels back = read_artifact<Kernels>(std::as_bytes(std::span(bytes.data(), bytes.size())), "p.kernels");
        return nlohmann::json::parse(export_measurements(records_of(back), back.clock_hz).dump());
    };
    const nlohmann::json once = roundtrip(table);
    CHECK(once["driver"] == table["driver"]);
    CHECK(once["host"] == table["host"]);
    const auto gemm = std::ranges::find_if(once["measurements"], [](const auto& m) { return m["key"]["kernel"] == "gemm"; });
    REQUIRE(gemm != once["measurements"].end());
    CHECK((*gemm)["stalls"] == table["measurements"][0]["stalls"]);
    CHECK((*gemm)["key"]["variant"] == true);
    CHECK(roundtrip(once) == once);
    // Tables that say different things, in one export: each measurement says it for itself.
    std::vector<KernelRecord> records = import_measurements(table, "p.json").records;
    records[1].table_fields = R"({"driver":"other","host":"lab"})";
    const nlohmann::ordered_json both = export_measurements(records, 0);
    CHECK(!both.contains("driver"));
    CHECK(both["host"] == "lab");
    CHECK(both["measurements"][0]["driver"]["version"] == "3.1");
    CHECK(both["measurements"][1]["driver"] == "other");
    // Of two records that merge only what both say.
    KernelRecord other = records[0];
    other.fields = "{}";
    const auto merged = merge_records({records[0], other}, "p.json");
    CHECK(merged[0].fields.empty());
    CHECK(merged[0].key_fields == records[0].key_fields);
}

TEST_CASE("fields nested without end, and kept texts that are no objects, are refused") {
    nlohmann::json deep = 1;
    for (int i = 0; i < 70; ++i) deep = nlohmann::json::array({deep});
    nlohmann::json table = nlohmann::json::parse(profile);
    table["deep"] = deep;
    CHECK_THROWS_AS((void)import_measurements(table, "p.json"), Failure);
    table.erase("deep");
    table["measurements"][0]["samples"] = deep;
    CHECK_THROWS_AS((void)import_measurements(table, "p.json"), Failure);
    table["measurements"][0]["samples"] = 1;
    std::vector<KernelRecord> records = import_measurements(table, "p.json").records;
    records[0].fields = "[1";
    CHECK_THROWS_AS((void)export_measurements(records, 0), Failure);
    records[0].fields = "3";
    CHECK_THROWS_AS((void)export_measurements(records, 0), Failure);
}

TEST_CASE("bad tables are refused by place") {
    CHECK(status_of(profile, "\"schemaVersion\": 1", "\"schemaVersion\": 2") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"samples\": 17", "\"samples\": 0") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"medianCycles\": 24844", "\"medianCycles\": 30000") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"medianCycles\": 24844", "\"medianCycles\": -1") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"rows\": 36", "\"rows\": 3.5") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"kernel\": \"gemm\", ", "") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"load\": \"interleaved\"", "\"load\": \"a,b\"") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"measurements\": [", "\"measurement\": [") == ExitStatus::bad_input);
    CHECK(status_of(profile, "\"host\": \"lab\"", "\"host\": 1") == ExitStatus::done);
}
