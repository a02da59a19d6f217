#include <doctest/doctest.h>

#include <filesystem>

#include "artifact/file.h"
#include "machine.h"
#include "target/target.h"

using namespace weft;

namespace {

const std::filesystem::path shipped = std::filesystem::path(WEFT_SOURCE) / "targets";

/// Exit status and message of resolving a changed copy of the shipped description.
std::pair<ExitStatus, std::string> resolve_changed(const std::string& from, const std::string& to) {
    std::string text = read_text(shipped / "ipu21-c600.json");
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "weft-ipu21-changed.json";
    publish_text(path, text);
    try {
        const ResolvedTarget resolved = resolve_target(path, "changed");
        validate(view(resolved.columns), "changed");
        return {ExitStatus::done, resolved.unknown_keys.empty() ? "" : resolved.unknown_keys.front()};
    } catch (const Failure& failure) {
        return {failure.status(), failure.what()};
    }
}

}  // namespace

TEST_CASE("the shipped description is the machine that the tests know") {
    const ResolvedTarget resolved = resolve_target(shipped / "ipu21-c600.json", "c600");
    CHECK(resolved.unknown_keys.empty());
    validate(view(resolved.columns), "c600");
    const TargetColumns expected = test::c600();
    CHECK(resolved.columns.ipu21 == expected.ipu21);
    CHECK(resolved.columns.core_count == expected.core_count);
    CHECK(resolved.columns.family == TargetFamily::Ipu21);
    // 162,080 bytes standard and 424,880 interleaved may be placed.
    CHECK(resolved.columns.ipu21.interleaved_begin - resolved.columns.ipu21.standard_begin == 162'080);
    CHECK(resolved.columns.ipu21.placeable_end - resolved.columns.ipu21.interleaved_begin == 424'880);
    const ResolvedTarget duplex = resolve_target(shipped / "ipu21-c600-duplex.json", "duplex");
    CHECK(duplex.columns.ipu21 == test::c600(ExchangeDiscipline::FullDuplex).ipu21);
}

TEST_CASE("an artifact keeps the machine") {
    const TargetColumns columns = test::c600();
    const auto buffer = serialize(view(columns));
    const Target back = read_artifact<Target>(std::as_bytes(std::span(buffer.data(), buffer.size())), "c600.target");
    CHECK(back.ipu21 == columns.ipu21);
    CHECK(back.core_count == 1472);
}

TEST_CASE("missing, unknown and impossible keys") {
    CHECK(resolve_changed("\"tiles\": 1472,", "").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"tiles\": 1472,", "").second.find("/array/tiles") != std::string::npos);
    CHECK(resolve_changed("\"tiles\": 1472", "\"tiles\": 1473").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"exclusive\"", "\"half\"").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"workers\": 6", "\"workers\": 6, \"colour\": 1").second == "/array/colour");
    CHECK(resolve_changed("\"placeable_end\": 949168", "\"placeable_end\": 500000").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"flops_f16\": 128", "\"flops_f16\": 0").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"amp_alignment_bytes\": 32", "\"amp_alignment_bytes\": 24").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"amp_alignment_bytes\": 32", "\"amp_alignment_bytes\": 24").second.find("/operands/amp_alignment_bytes") != std::string::npos);
    CHECK(resolve_changed("\"stream_tail_f16_bytes\": 16,", "").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"window_bytes\": 16384", "\"window_bytes\": 0").second.find("/host/window_bytes") != std::string::npos);
    CHECK(resolve_changed("\"long_packet_bytes\": 1024", "\"long_packet_bytes\": 32").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"fetch_guard_bytes\": 64", "\"fetch_guard_bytes\": 400000").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"flops_f8\": 256", "\"flops_f8\": -1").first == ExitStatus::bad_input);
    CHECK(resolve_changed("\"host\"", "\"guest\"").second.find("/host") != std::string::npos);
    CHECK(resolve_changed("\"row_cycles\": 2", "\"row_cycles\": -1").first == ExitStatus::bad_input);
}
