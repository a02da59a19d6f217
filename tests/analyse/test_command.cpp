// The command lines of weft-analyse and weft-select: exit statuses, files written, equal bytes for equal inputs.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "artifact/candidates.h"
#include "artifact/selection.h"
#include "artifact/timing.h"
#include "pim/random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

/// A folder that goes when the test does.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("weft-analyse-{}", getpid())) { std::filesystem::create_directories(path_); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// Exit status of one of weft's programs; its output goes to `folder`/out and `folder`/err.
int run(const Folder& folder, const std::string& arguments) {
    const std::string command = fmt::format("{}/weft-{} >'{}' 2>'{}'", WEFT_BIN, arguments, folder.file("out"), folder.file("err"));
    const int status = std::system(command.c_str());   // NOLINT: fixed text
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void write_program(const Folder& folder, const std::string& name, const TestProgram& program) {
    const ProgramColumns columns = columns_of(program);
    write_artifact(folder.file(name), view(columns));
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

}  // namespace

TEST_CASE("analyse and select from the command line") {
    const Folder folder;
    const TargetColumns target = example_target(2);
    write_artifact(folder.file("chip.target"), view(target));
    const std::string chip = " --target " + quoted(folder.file("chip.target"));
    const auto pair = [](std::int32_t work) {
        return TestProgram{{{{setbw(), sized(Opcode::Vvadd, work), message(Opcode::Send, 1, 64)}, 1}},
                           {{{setbw(), message(Opcode::Recv, 0, 64), sized(Opcode::Vvadd, 16)}, 1}}};
    };
    write_program(folder, "net-0.prog", pair(4096));
    write_program(folder, "net-1.prog", pair(1024));
    for (const char* name : {"net-0", "net-1"}) {
        const std::string program = quoted(folder.file(std::string(name) + ".prog"));
        const std::string timing = folder.file(std::string(name) + ".timing");
        REQUIRE(run(folder, "analyse " + program + chip + " -o " + quoted(timing)) == 0);
        CHECK(read_text(folder.file("out")).find("interval") != std::string::npos);
        const std::string first = read_text(timing);
        REQUIRE(run(folder, "analyse -q " + program + chip + " -o " + quoted(timing) + " --report " + quoted(folder.file(std::string(name) + ".report"))) == 0);
        CHECK(read_text(folder.file("out")).empty());
        CHECK(read_text(timing) == first);
        const Artifact<Timing> written(timing);
        CHECK(written->availability == Availability::Available);
        CHECK(written->program_hash_low == Artifact<Program>(folder.file(std::string(name) + ".prog")).hash().low);
    }

    CandidatesColumns candidates;
    candidates.file_names = {"net-0.sched", "net-1.sched"};
    candidates.strategies = {"ordered-packing", "other"};
    candidates.hash_high = candidates.hash_low = candidates.bottleneck_ns = {1, 2};
    candidates.depth = candidates.stage_count = candidates.cores_used = candidates.crossbars_used = {1, 1};
    write_artifact(folder.file("net.cands"), view(candidates));
    // Names decide, not the order on the command line.
    REQUIRE(run(folder, "select " + quoted(folder.file("net.cands")) + " " + quoted(folder.file("net-1.timing")) + " " + quoted(folder.file("net-0.timing")) +
                            " -o " + quoted(folder.file("net.selection")) + " --report " + quoted(folder.file("report.json")) + " --stage-report " + quoted(folder.file("net-1.report"))) == 0);
    CHECK(Artifact<Selection>(folder.file("net.selection"))->chosen == 1);
    const auto report = nlohmann::json::parse(read_text(folder.file("report.json")));
    CHECK(report["chosen_file"] == "net-1.sched");
    CHECK(report["candidates"].size() == 2);
    CHECK(report["run"].contains("seconds"));
    CHECK(report["run"]["stage_seconds"]["candidates"][1]["analyse"].is_number());
    CHECK(run(folder, "select " + quoted(folder.file("net.cands")) + " " + quoted(folder.file("net-1.timing")) + " -o " + quoted(folder.file("x"))) == 3);
}

TEST_CASE("exit statuses") {
    const Folder folder;
    TargetColumns target = example_target(2);
    write_artifact(folder.file("chip.target"), view(target));
    const std::string chip = " --target " + quoted(folder.file("chip.target"));
    write_program(folder, "blocked.prog", {{{{setbw(), message(Opcode::Send, 1, 8)}, 1}}, {{{setbw(), message(Opcode::Send, 0, 8)}, 1}}});
    CHECK(run(folder, "analyse " + quoted(folder.file("blocked.prog")) + chip + " -o " + quoted(folder.file("blocked.timing"))) == 1);
    CHECK(Artifact<Timing>(folder.file("blocked.timing"))->availability == Availability::Deadlock);
    CHECK(read_text(folder.file("err")).find("shortest blocked cycle") != std::string::npos);
    CHECK(run(folder, "analyse " + quoted(folder.file("blocked.prog")) + chip + " -o x --model-issue=false") == 2);
    publish_text(folder.file("trap.json"), R"({"config": {"core_cnt": 1, "array_group_map": {"core0": [1]}}, "core0": [{"op": "setbw"}, {"op": "sldi", "rd": 40}]})");
    CHECK(run(folder, "analyse " + quoted(folder.file("trap.json")) + chip) == 1);
    CHECK(read_text(folder.file("err")).find("core 0, instruction 1 (sldi): register 40") != std::string::npos);
    publish_text(folder.file("nop.json"), R"({"config": {"core_cnt": 1, "array_group_map": {"core0": [1]}}, "core0": [{"op": "setbw"}, {"op": "nop"}]})");
    CHECK(run(folder, "analyse " + quoted(folder.file("nop.json")) + chip) == 1);
    CHECK(read_text(folder.file("err")).find("nop") != std::string::npos);
    CHECK(run(folder, "analyse --help") == 0);
    CHECK(read_text(folder.file("out")).find("Examples:") != std::string::npos);
    CHECK(run(folder, "analyse") == 2);
    CHECK(run(folder, "analyse " + quoted(folder.file("chip.target")) + chip) == 3);
    CHECK(run(folder, "analyse " + quoted(folder.file("missing.prog")) + chip) == 3);
    // A program without an estimate: for weft-select that is an answer, for a person it is none.
    write_program(folder, "plain.prog", {{{{setbw(), sized(Opcode::Vsoftmax, 8)}, 1}}, {}});
    CHECK(run(folder, "analyse " + quoted(folder.file("plain.prog")) + chip + " -o " + quoted(folder.file("plain.timing"))) == 0);
    CHECK(run(folder, "analyse " + quoted(folder.file("plain.prog")) + chip) == 1);
}
