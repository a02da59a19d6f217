#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "target/target.h"

using namespace weft;

namespace {

/// A folder that goes away with the test.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("weft-target-test-{}", ::getpid())) { std::filesystem::create_directories(path_); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

constexpr const char* small_network = R"({"layout": [1, 2], "bus_width": 8, "weft_mesh": {"base_ns": 1.5, "hop_ns": 2, "memory_ns": 15}})";

std::string chip_text(const std::string& core_config, const std::string& chip_rest = "", const std::string& network = small_network) {
    return fmt::format(R"({{"chip_config": {{"core_cnt": 2, "core_config": {{{}}}, "network_config": {}{}}}}})", core_config, network, chip_rest);
}

ExitStatus status_of(const std::filesystem::path& file, std::string& message) {
    try {
        (void)resolve_target(file, "t");
    } catch (const Failure& failure) {
        message = failure.what();
        return failure.status();
    }
    return ExitStatus::done;
}

std::filesystem::path shipped(const std::string& name) { return std::filesystem::path(WEFT_SOURCE) / "targets" / name; }

}  // namespace

TEST_CASE("what a chip file leaves out has the simulator's defaults") {
    const Folder folder;
    const auto target = resolve_target(folder.write("chip.json", chip_text("")), "small").columns;
    validate(view(target), "small");
    CHECK(target.name == "small");
    CHECK(target.core_count == 2);
    CHECK(target.memory_switch_id == -10);
    CHECK(target.core.period_fs == 1'000'000);
    CHECK(target.core.rob_entries == 1);
    CHECK(target.core.vector_width_elems == 16);
    CHECK(target.core.vector_step_ns == 8);
    CHECK(target.core.local_data_width_bytes == 16);
    CHECK(target.core.local_read_cycles == 8);
    CHECK(target.core.local_write_cycles == 10);
    CHECK(target.core.local_memory_bytes == 1 << 20);
    CHECK(target.core.crossbar_count == 1);
    CHECK(target.core.matrix_period_fs == 781'250);
    CHECK(target.core.matrix_pipelined);
    CHECK(target.core.dac_count == 128);
    CHECK(target.core.crossbar_read_fs == 30'000'000);
    CHECK(target.core.cell_bits == 2);
    CHECK(target.memory.data_width_bytes == 16);
    CHECK(target.memory.write_cycles == 10);
}

TEST_CASE("the mesh rule: base and hops between cores, one figure to the memory, nothing to oneself") {
    const Folder folder;
    const auto target = resolve_target(folder.write("chip.json", chip_text("")), "small").columns;
    // base 1.5 + one hop of 2; memory 15. Rows: core 0, core 1, memory.
    CHECK(target.link_latency_ps == std::vector<std::uint32_t>{0, 3500, 15000, 3500, 0, 15000, 15000, 15000, 0});
}

TEST_CASE("a table file is read relative to the chip file and may leave pairs out") {
    const Folder folder;
    folder.write("table.json", R"({"latency": {"0": {"1": 4, "-10": 15}, "1": {"0": 0.25}, "7": {"0": 1}}, "energy": {}})");
    const auto resolved = resolve_target(
        folder.write("chip.json", chip_text("", "", R"({"layout": [1, 2], "net_config_file_path": "table.json"})")), "small");
    CHECK(resolved.columns.link_latency_ps == std::vector<std::uint32_t>{0, 4000, 15000, 250, 0, 0, 0, 0, 0});
    REQUIRE(resolved.notes.size() == 1);
    CHECK(resolved.notes[0].find("1 links belong to switches that the chip does not have") != std::string::npos);
}

TEST_CASE("the written network table resolves to the same target") {
    for (const char* name : {"isaac-168x96.json", "pimcomp-144x64.json", "puma-138x128.json", "example-64x64.json"}) {
        CAPTURE(name);
        const Folder folder;
        const auto by_rule = resolve_target(shipped(name), "chip");
        CHECK(by_rule.unknown_keys.empty());
        CHECK(by_rule.notes.empty());
        folder.write("net.json", network_json(view(by_rule.columns), 46).dump());
        const auto chip = folder.write("chip.json", simulator_chip_json(shipped(name), "net.json").dump());
        const auto by_table = resolve_target(chip, "chip");
        const auto first = serialize(view(by_rule.columns));
        const auto second = serialize(view(by_table.columns));
        REQUIRE(first.size() == second.size());
        CHECK(std::equal(first.data(), first.data() + first.size(), second.data()));
        CHECK(by_table.unknown_keys.empty());
    }
}

TEST_CASE("isaac-168x96 has the documented figures") {
    const auto target = resolve_target(shipped("isaac-168x96.json"), "isaac").columns;
    CHECK(target.core_count == 168);
    CHECK(target.core.crossbar_count == 96);
    CHECK(target.core.matrix_period_fs == 1'000'000);
    CHECK(target.network.layout_columns == 14);
    // From corner to corner: 11 + 13 hops.
    CHECK(target.link_latency_ps[167] == 2000 + 24 * 2000);
}

TEST_CASE("unknown keys are named by their path, ignored ones listed") {
    const Folder folder;
    const auto resolved = resolve_target(
        folder.write("chip.json", chip_text(R"("rob_sise": 2, "matrix_config": {"adc_resolution": 8, "adc_cout": 3, "xbar_read_power": 1}, "period": 1)",
                                            R"(, "surprise": 1)")),
        "small");
    CHECK(resolved.unknown_keys == std::vector<std::string>{"/chip_config/core_config/matrix_config/adc_cout", "/chip_config/core_config/rob_sise",
                                                            "/chip_config/surprise"});
    CHECK(resolved.ignored_keys == std::vector<std::string>{"/chip_config/core_config/matrix_config/xbar_read_power",
                                                            "/chip_config/core_config/matrix_config/adc_resolution"});
}

TEST_CASE("impossible values fail and name the key") {
    const Folder folder;
    struct Case {
        std::string core;
        std::string rest;
        std::string network;
        std::string key;
    };
    const std::vector<Case> cases = {
        {R"("rob_size": 0)", "", small_network, "core_config/rob_size"},
        {R"("rob_size": -1)", "", small_network, "core_config/rob_size"},
        {R"("period": 0)", "", small_network, "core_config/period"},
        {R"("period": -2)", "", small_network, "core_config/period"},
        {R"("period": "1")", "", small_network, "core_config/period"},
        {R"("vector_width": 0)", "", small_network, "core_config/vector_width"},
        {R"("local_memory_config": {"data_width": 0})", "", small_network, "local_memory_config/data_width"},
        {R"("local_memory_config": {"read_latency_cycle": -1})", "", small_network, "local_memory_config/read_latency_cycle"},
        {R"("matrix_config": {"adc_count": 0})", "", small_network, "matrix_config/adc_count"},
        {R"("matrix_config": {"dac_resolution": 0})", "", small_network, "matrix_config/dac_resolution"},
        {R"("matrix_config": {"xbar_size": [128]})", "", small_network, "matrix_config/xbar_size"},
        {R"("matrix_config": {"xbar_size": [0, 128]})", "", small_network, "matrix_config/xbar_size"},
        {R"("matrix_config": {"pipeline_mode": 1})", "", small_network, "matrix_config/pipeline_mode"},
        {R"("matrix_config": 3)", "", small_network, "core_config/matrix_config"},
        {R"("global_memory_switch_id": -9)", "", small_network, "global_memory_switch_id"},
        {"", R"(, "global_memory_switch_id": 1)", small_network, "chip_config/global_memory_switch_id"},
        {"", "", R"({"bus_width": 8})", "network_config/layout"},
        {"", "", R"({"layout": [1, 1], "weft_mesh": {}})", "network_config/layout"},
        {"", "", R"({"layout": [1, 2], "bus_width": 0, "weft_mesh": {}})", "network_config/bus_width"},
        {"", "", R"({"layout": [1, 2]})", "net_config_file_path"},
        {"", "", R"({"layout": [1, 2], "weft_mesh": {"hop_ns": -1}})", "weft_mesh/hop_ns"},
    };
    for (const Case& one : cases) {
        CAPTURE(one.key);
        std::string message;
        CHECK(status_of(folder.write("chip.json", chip_text(one.core, one.rest, one.network)), message) == ExitStatus::bad_input);
        CHECK(message.find(one.key) != std::string::npos);
        CHECK(message.find("chip.json") != std::string::npos);
    }
}

TEST_CASE("files that are no chips fail") {
    const Folder folder;
    std::string message;
    CHECK(status_of(folder.write("chip.json", "{"), message) == ExitStatus::bad_input);
    CHECK(status_of(folder.write("chip.json", "[]"), message) == ExitStatus::bad_input);
    CHECK(status_of(folder.write("chip.json", "{}"), message) == ExitStatus::bad_input);
    CHECK(status_of(folder.write("chip.json", chip_text("", "", R"({"layout": [1, 2], "net_config_file_path": "nowhere.json"})")), message) == ExitStatus::bad_input);
    CHECK(message.find("nowhere.json") != std::string::npos);
    for (const char* table : {"{\"latency\": {}}", "{\"latency\": {\"x\": {}}, \"energy\": {}}", "{\"latency\": {\"0\": {\"1\": \"4\"}}, \"energy\": {}}",
                              "{\"latency\": {\"0\": 4}, \"energy\": {}}", "{\"latency\": {\"0\": {\"1\": -4}}, \"energy\": {}}"}) {
        CAPTURE(table);
        folder.write("table.json", table);
        CHECK(status_of(folder.write("chip.json", chip_text("", "", R"({"layout": [1, 2], "net_config_file_path": "table.json"})")), message) ==
              ExitStatus::bad_input);
        CHECK(message.find("table.json") != std::string::npos);
    }
    CHECK(status_of(folder.write("chip.json", R"({"chip_config": {"core_cnt": 2, "network_config": {"layout": [1, 2], "weft_mesh": {}}},
                                                 "sim_config": {"report_verbose_level": 2}})"), message) == ExitStatus::bad_input);
}

TEST_CASE("a fraction in a whole number is cut off with a note, as the simulator does") {
    const Folder folder;
    const auto resolved = resolve_target(folder.write("chip.json", chip_text(R"("vector_width": 8.75)")), "small");
    CHECK(resolved.columns.core.vector_width_elems == 8);
    REQUIRE(resolved.notes.size() == 1);
    CHECK(resolved.notes[0].find("core_config/vector_width") != std::string::npos);
}
