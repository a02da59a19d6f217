#include "export/export.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

#include "artifact/artifact.h"
#include "export/directory.h"
#include "pim/reader.h"
#include "small_program.h"

namespace {

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

/// A folder that is gone after the test.
struct ScratchFolder {
    fs::path path;
    ScratchFolder() {
        std::string pattern = (fs::temp_directory_path() / "weft-export-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~ScratchFolder() { fs::remove_all(path); }
    [[nodiscard]] std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
    }
};

std::string hex(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return out;
}

std::string record(const Instruction& instruction) {
    std::string out;
    append_record(out, instruction);
    return hex(out);
}

/// What a core executes, loops unrolled.
std::vector<Instruction> executed(const Program& program, std::size_t core) {
    std::vector<Instruction> list;
    for_each_executed(program, program.instructions, core, [&](const Instruction& row) { list.push_back(row); });
    return list;
}

TEST_CASE("records have the published bytes") {
    CHECK(record(setbw()) == "08000000" "00000000" "08000000" "08000000" "00000000");
    CHECK(record(make(Opcode::St, 8, 1, 0, 0, 256)) == "1a080100" "00000000" "00000000" "00000000" "00010000");
    CHECK(record(make(Opcode::Sldi, 3, 0, 0, -2)) == "01030000" "feffffff" "00000000" "00000000" "00000000");
    Instruction mvmul = make(Opcode::Mvmul, 5, 4, 0, 8, 7);
    mvmul.offset_value = 1;   // relu
    CHECK(record(mvmul) == "09050400" "08000000" "01000000" "07000000" "00000000");
    CHECK(record(make(Opcode::Vvadd, 1, 2, 3, 0, 64)) == "0a010200" "03000000" "00000000" "00000000" "40000000");
    CHECK(record(make(Opcode::Vrsl, 1, 2, 3, 0, 64)) == "18010200" "03000000" "00000000" "00000000" "40000000");
    CHECK(record(make(Opcode::Lldi, 1, 0, 0, 9, 64)) == "1b010000" "09000000" "00000000" "00000000" "40000000");
    CHECK(record(make(Opcode::Send, 6, 6, 0, 17, 48)) == "1d060600" "11000000" "00000000" "00000000" "30000000");
    CHECK(record(make(Opcode::Recv, 6, 0, 0, 17, 48)) == "1e060000" "11000000" "00000000" "00000000" "30000000");
    CHECK(record(wait(3, 2)) == "1f000000" "00000000" "03000000" "02000000" "00000000");
    CHECK(record(make(Opcode::Sync, 0, 0, 0, 5, 3)) == "20000000" "05000000" "03000000" "00000000" "00000000");
}

TEST_CASE("a core file begins with magic, version and the number of executed instructions") {
    const ProgramColumns columns = small_program();
    const Program program = view(columns);
    const std::string once = core_binary(program, program.instructions, 0, 1);
    CHECK(executed_count(program, 0) == 5 + 3 * 4 + 2 * 3);
    CHECK(once.size() == 12 + 20 * 23);
    CHECK(hex(once.substr(0, 12)) == "50494d42" "01000000" "17000000");
    const std::string thrice = core_binary(program, program.instructions, 0, 3);
    CHECK(thrice.size() == 12 + 3 * 20 * 23);
    CHECK(hex(thrice.substr(0, 12)) == "50494d42" "01000000" "45000000");
    CHECK(thrice.substr(12 + 2 * 20 * 23) == once.substr(12));
    CHECK(hex(core_binary(program, program.instructions, 2, 1)) == "50494d42" "01000000" "00000000");
}

TEST_CASE("loops are unrolled with their steps") {
    const ProgramColumns columns = small_program();
    const auto list = executed(view(columns), 0);
    REQUIRE(list.size() == 23);
    CHECK(list[5].immediate == 64);
    CHECK(list[9].immediate == 74);
    CHECK(list[13].immediate == 84);
    CHECK(list[14].immediate == 512 + 2 * 32);
    for (const auto& row : list) CHECK(row.step == 0);
}

TEST_CASE("both folder formats read back as the executed instructions") {
    const ProgramColumns columns = small_program();
    const Program program = view(columns);
    const TargetColumns target = small_target();
    for (const auto format : {ExportFormat::pimsim_binary, ExportFormat::pimsim_json}) {
        const ScratchFolder scratch;
        ExportOptions options;
        options.format = format;
        export_program(program, view(target), options, "small.prog", scratch.path / "out");
        const ProgramColumns back_columns = read_simulator_program(scratch.path / "out");
        const Program back = view(back_columns);
        REQUIRE(back.core_first_run.size() == program.core_first_run.size());
        for (std::size_t core = 0; core < 3; ++core) CHECK(executed(back, core) == executed(program, core));
        REQUIRE(back.groups.size() == program.groups.size());
        for (std::size_t group = 0; group < back.groups.size(); ++group) CHECK(back.groups[group].crossbars == program.groups[group].crossbars);
        CHECK(scratch.entries() == 1);
    }
}

TEST_CASE("chip and network files carry the target") {
    TargetColumns target = small_target();
    target.link_latency_ps[0 * 5 + 4] = 15500;
    SimulationSettings settings;
    settings.mode = 1;
    settings.time_ms = 2.5;
    const auto chip = nlohmann::json::parse(chip_json(view(target), settings));
    CHECK(chip["sim_config"]["sim_mode"] == 1);
    CHECK(chip["sim_config"]["sim_time"] == 2.5);
    CHECK(chip["sim_config"]["report_verbose_level"] == 1);
    const auto& config = chip["chip_config"];
    CHECK(config["core_cnt"] == 4);
    CHECK(config["global_memory_switch_id"] == -10);
    CHECK(config["core_config"]["global_memory_switch_id"] == -10);
    CHECK(config["core_config"]["matrix_config"]["period"] == 0.78125);
    CHECK(config["core_config"]["matrix_config"]["xbar_latency"] == 7);
    CHECK(config["core_config"]["local_memory_config"]["write_latency_cycle"] == 30);
    CHECK(config["global_memory_config"]["read_latency_cycle"] == 40);
    CHECK(config["network_config"]["net_config_file_path"] == "network.json");
    const auto network = nlohmann::json::parse(network_json(view(target)));
    CHECK(network["latency"]["0"]["-10"] == 15.5);
    CHECK(network["latency"]["0"]["1"] == 4);
    CHECK_FALSE(network["latency"]["1"].contains("1"));
    CHECK(network["latency"].contains("-10"));
    CHECK(network.contains("energy"));
}

TEST_CASE("a folder appears whole, replaces an earlier export, and spares anything else") {
    const ScratchFolder scratch;
    const fs::path out = scratch.path / "out";
    {
        DirectoryPublisher first(out);
        first.add("config.json", "1");
        first.add("core_0.pim", "1");
        CHECK_FALSE(fs::exists(out));
        first.publish();
    }
    CHECK(read_text(out / "config.json") == "1");
    {
        DirectoryPublisher abandoned(out);
        abandoned.add("config.json", "2");
    }
    CHECK(read_text(out / "config.json") == "1");
    CHECK(scratch.entries() == 1);
    {
        DirectoryPublisher second(out / "");   // a trailing slash means the same folder
        second.add("config.json", "3");
        second.publish();
    }
    CHECK(read_text(out / "config.json") == "3");
    CHECK_FALSE(fs::exists(out / "core_0.pim"));
    CHECK(scratch.entries() == 1);
    std::ofstream(out / "thesis.tex") << "years of work";
    CHECK_THROWS_AS(DirectoryPublisher{out}, Failure);
    CHECK(fs::exists(out / "thesis.tex"));
    std::ofstream(scratch.path / "file") << "x";
    CHECK_THROWS_AS(DirectoryPublisher{scratch.path / "file"}, Failure);
    CHECK_THROWS_AS((DirectoryPublisher{scratch.path / "no" / "such" / "folder"}), Failure);
}

TEST_CASE("weft-export: statuses") {
    const ScratchFolder scratch;
    const auto path = [&](const char* name) { return (scratch.path / name).string(); };
    const ProgramColumns good = small_program();
    ProgramColumns bad = small_program();
    bad.instructions[1] = make(Opcode::Nop);
    write_artifact<Program>(path("good.prog"), view(good));
    write_artifact<Program>(path("bad.prog"), view(bad));
    const TargetColumns target = small_target();
    write_artifact<Target>(path("chip.target"), view(target));
    const auto status = [&](const std::string& arguments) {
        const int code = std::system(fmt::format("cd '{}' && '{}/weft-export' {} > stdout 2> stderr", scratch.path.string(), WEFT_BIN, arguments).c_str());
        return WEXITSTATUS(code);
    };
    CHECK(status("good.prog --target chip.target -o out") == 0);
    CHECK(fs::exists(scratch.path / "out" / "core_2.pim"));
    CHECK(read_text(path("stdout")).empty());
    CHECK(status("bad.prog --target chip.target -o other") == 1);
    CHECK(read_text(path("stderr")).find("nop") != std::string::npos);
    CHECK_FALSE(fs::exists(scratch.path / "other"));
    CHECK(status("chip.target --target chip.target -o other") == 3);
    CHECK(status("missing.prog --target chip.target -o other") == 3);
    CHECK(status("good.prog -o other") == 2);
    CHECK(status("good.prog --target chip.target -o other --format tarball") == 2);
    CHECK(status("good.prog --target chip.target -o no/such/folder") == 4);
}

}  // namespace
