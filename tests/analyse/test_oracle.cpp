// Recorded results of the public simulator: tests/data/oracle, one folder per program, results.tsv for all.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "analyse/analyse.h"
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
                             "07_fanout_hol", "09_random6", "10_odd_periods", "11_ring8"}) {
        CAPTURE(name);
        const auto expected = recorded(name);
        REQUIRE(expected.count("1 latency_ns") == 1);
        const ResolvedTarget target = resolve_target(oracle / name / "sim_mode1.json", name);
        const ProgramColumns program = read_simulator_program(oracle / name);
        const Analysis analysis = analyse(view(program), view(target.columns), {}, {}, name);
        REQUIRE(analysis.timing.availability == Availability::Available);
        CHECK(analysis.exact);
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

TEST_CASE("a larger reorder buffer is refused by name") {
    const std::string name = "08_rob8_overlap";
    const ResolvedTarget target = resolve_target(oracle / name / "sim_mode1.json", name);
    const ProgramColumns program = read_simulator_program(oracle / name);
    const Analysis analysis = analyse(view(program), view(target.columns), {}, {}, name);
    CHECK(analysis.timing.availability == Availability::UnsupportedReorderBuffer);
    CHECK(analysis.timing.reason.find('8') != std::string::npos);
}
