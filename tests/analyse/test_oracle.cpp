// Recorded results of the public simulator: tests/data/oracle, one folder per program, results.tsv for all.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "analyse/analyse.h"
#include "analyse/reorder.h"
#include "pim/reader.h"
#include "target/target.h"

using namespace weft;

namespace {

const std::filesystem::path oracle = std::filesystem::path(WEFT_TEST_DATA) / "oracle";

/// "mode metric" to value, of one program.
std::map<std::string, std::string> recorded(const std::string& program) {
    std::map<std::string, std::string> result;
    std::ifstream file(oracle / "results.tsv");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string name, mode, metric, value;
        std::getline(fields, name, '\t');
        std::getline(fields, mode, '\t');
        std::getline(fields, metric, '\t');
        std::getline(fields, value, '\t');
        if (name == program) result[mode + " " + metric] = value;
    }
    return result;
}

void check_close(double found, double expected, double relative) {
    CAPTURE(found);
    CAPTURE(expected);
    CHECK(std::abs(found - expected) <= relative * expected);
}

}  // namespace

TEST_CASE("recorded latencies and round counts") {
    for (const char* name : {"01_mvmul_loop", "02_vector_loop", "03_send_recv_pair", "04_pipeline3", "05_gmem_contention16", "06_sync_ready_free",
                             "07_fanout_hol", "08_rob8_overlap", "09_random6", "10_odd_periods", "11_ring8"}) {
        CAPTURE(name);
        const auto expected = recorded(name);
        REQUIRE(expected.count("1 latency_ns") == 1);
        const ResolvedTarget target = resolve_target(oracle / name / "sim_mode1.json", name);
        const ProgramColumns program = read_simulator_program(oracle / name);
        const Analysis analysis = analyse(view(program), view(target.columns), {}, {}, name);
        REQUIRE(analysis.timing.availability == Availability::Available);
        CHECK(analysis.exact != analysis.overlapping);
        check_close(static_cast<double>(analysis.timing.latency_ns), std::stod(expected.at("1 latency_ns")), 0.0025);
        // count = 1 + (time - first fetch of the last instruction) / interval; the fetch comes a little before the pass ends.
        const double time = std::stod(expected.at("0 sim_time_ns"));
        const double predicted = 1 + std::floor((time - static_cast<double>(analysis.timing.latency_ns)) / analysis.interval_ns);
        const double count = std::stod(expected.at("0 output_count"));
        CAPTURE(predicted);
        CAPTURE(count);
        CHECK(std::abs(predicted - count) <= std::max(1.0, 0.005 * count));
    }
}

TEST_CASE("random programs with odd periods and reorder buffers of 1 to 8: recorded latencies") {
    const std::filesystem::path folder = std::filesystem::path(WEFT_TEST_DATA) / "oracle-random";
    std::ifstream lines(folder / "results.tsv");
    std::string name, header;
    lines >> header >> header;
    int programs = 0, overlapping = 0;
    double sum = 0;
    for (double expected = 0; lines >> name >> expected; ++programs) {
        CAPTURE(name);
        const ResolvedTarget target = resolve_target(folder / (name + "-chip.json"), name);
        const ProgramColumns program = read_simulator_program(folder / (name + ".json.gz"));
        const bool overlaps = target.columns.core.rob_entries > 1;
        const QueueProgram queue = collapse(view(program), PimCosts(view(target.columns)), name);
        REQUIRE(queue.availability == Availability::Available);
        const Picoseconds latency = overlaps ? reorder_latency(view(program), view(target.columns), TieOrder::Forward) : single_pass_latency(queue, TieOrder::Forward);
        const double found = static_cast<double>(latency) / 1000;
        check_close(found, expected, 0.0015);
        sum += std::abs(found - expected) / expected;
        overlapping += overlaps ? 1 : 0;
    }
    CHECK(programs == 40);
    CHECK(overlapping > 15);
    CHECK(sum / programs < 0.0003);
}

TEST_CASE("where a stalled scalar changes its own operand, the analysis says by how much it may be off") {
    const std::string name = "08_rob8_overlap";
    const ResolvedTarget target = resolve_target(oracle / name / "sim_mode1.json", name);
    ProgramColumns program = read_simulator_program(oracle / name);
    const auto inexact = [&] {
        const Analysis analysis = analyse(view(program), view(target.columns), {}, {}, name);
        return std::any_of(analysis.notes.begin(), analysis.notes.end(), [](const std::string& note) { return note.find("inexact") == 0; });
    };
    CHECK_FALSE(inexact());
    for (Instruction& one : program.instructions) {
        if (static_cast<Opcode>(one.op) != Opcode::Sldi) continue;
        one.op = static_cast<std::uint8_t>(Opcode::Saddi);
        one.rs1 = one.rd;
        break;
    }
    CHECK(inexact());
}

TEST_CASE("a reorder buffer without entries never starts") {
    ResolvedTarget target = resolve_target(oracle / "02_vector_loop" / "sim_mode1.json", "chip");
    target.columns.core.rob_entries = 0;
    const ProgramColumns program = read_simulator_program(oracle / "02_vector_loop");
    CHECK(analyse(view(program), view(target.columns), {}, {}, "p").timing.availability == Availability::CrashesTarget);
}
