#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"
#include "kernels/kernel_file.h"

using namespace weft;

namespace {

KernelRecord record(std::uint64_t rows, std::uint64_t columns, std::uint64_t cycles, const std::string& category = "load=interleaved") {
    KernelRecord r;
    r.key = {"gemm", category, {{"columns", columns}, {"inner", 64}, {"rows", rows}}};
    r.samples = 5;
    r.minimum = cycles - 2;
    r.median = cycles;
    r.p95 = cycles + 3;
    r.maximum = cycles + 9;
    r.error_ppm = 30'000;
    r.build = "1f";
    r.target = "ipu21";
    return r;
}

KernelKey key(std::uint64_t rows, std::uint64_t columns, const std::string& category = "load=interleaved") { return record(rows, columns, 10, category).key; }

const std::vector<KernelRecord> sample{record(16, 64, 1000), record(32, 64, 1800), record(64, 64, 3500), record(32, 128, 3300), record(32, 64, 2500, "load=standard")};

ExitStatus status_of(const auto& action) {
    try {
        action();
    } catch (const Failure& failure) {
        return failure.status();
    }
    return ExitStatus::done;
}

}  // namespace

TEST_CASE("an exact key returns what was stored; any other category never does") {
    const KernelTable table(sample, "1f", "ipu21", "k");
    CHECK(table.size() == 5);
    const KernelLookup found = table.look_up(key(32, 64));
    CHECK(found.source == KernelSource::measured);
    CHECK(found.value == 1800);
    CHECK(table.look_up(key(32, 64, "load=standard")).value == 2500);
    CHECK(table.look_up(key(32, 64, "load=standard,mode=accumulate")).source == KernelSource::absent);
    KernelKey other = key(32, 64);
    other.kind = "pack";
    CHECK(table.look_up(other).source == KernelSource::absent);
    other = key(32, 64);
    other.dims[1].second = 128;
    CHECK(table.look_up(other).source == KernelSource::absent);
}

TEST_CASE("interpolation stays inside the hull, between its neighbours, and is monotone") {
    const KernelTable table(sample, "", "", "k");
    std::uint64_t last = 0;
    for (std::uint64_t rows = 16; rows <= 64; ++rows) {
        const KernelLookup found = table.look_up(key(rows, 64));
        REQUIRE(found.source != KernelSource::absent);
        CHECK(found.value >= last);
        CHECK(found.value >= (rows >= 32 ? 1800 : 1000));
        CHECK(found.value <= (rows <= 32 ? 1800 : 3500));
        CHECK((found.source == KernelSource::measured) == (rows == 16 || rows == 32 || rows == 64));
        last = found.value;
    }
    CHECK(table.look_up(key(15, 64)).source == KernelSource::absent);
    CHECK(table.look_up(key(65, 64)).source == KernelSource::absent);
    CHECK(table.look_up(key(32, 96)).value == 2550);
    CHECK(table.look_up(key(40, 96)).source == KernelSource::absent);   // two dimensions differ
    CHECK(table.look_up(key(24, 64)).error_ppm == 30'000);
}

TEST_CASE("a family whose measurements fall is not interpolated") {
    const std::vector<KernelRecord> falling{record(16, 64, 1000), record(32, 64, 900)};
    const KernelTable table(falling, "", "", "k");
    CHECK(table.look_up(key(24, 64)).source == KernelSource::absent);
    CHECK(table.look_up(key(16, 64)).source == KernelSource::measured);
}

TEST_CASE("stale and quarantined records are kept out and counted; duplicates are refused") {
    std::vector<KernelRecord> records = sample;
    records[0].build = "old";
    records[1].target = "ipu2";
    records[2].status = RecordStatus::quarantined;
    const KernelTable table(records, "1f", "ipu21", "k");
    CHECK(table.stale() == 3);
    CHECK(table.look_up(key(16, 64)).source == KernelSource::absent);
    CHECK(table.look_up(key(32, 64)).source == KernelSource::absent);
    CHECK(table.look_up(key(32, 128)).source == KernelSource::measured);
    records = sample;
    records.push_back(sample[0]);
    CHECK(status_of([&] { KernelTable(records, "", "", "k"); }) == ExitStatus::bad_input);
}

TEST_CASE("a .kernels file loses nothing; merging adds samples and refuses to mix builds") {
    std::vector<KernelRecord> records = sample;
    const KernelsColumns columns = kernels_of(records, KernelUnit::Cycles, 1'500'000'000);
    validate(view(columns), "k");
    std::vector<KernelRecord> back = records_of(view(columns));
    std::ranges::sort(records, {}, &KernelRecord::key);
    CHECK(back == records);
    // Where from, where any table told it.
    CHECK(columns.origins.empty());
    records[1].tool = "profile 2.1";
    records[1].date = "2026-08-12";
    records[1].merged = 16;
    const KernelsColumns told = kernels_of(records, KernelUnit::Cycles, 1'500'000'000);
    validate(view(told), "k");
    CHECK(told.origins.size() == records.size());
    CHECK(records_of(view(told)) == records);
    KernelsColumns short_of_one = told;
    short_of_one.origins.pop_back();
    CHECK(status_of([&] { validate(view(short_of_one), "k"); }) == ExitStatus::bad_input);
    records.push_back(record(32, 64, 2000));
    const auto merged = merge_records(records, "k");
    REQUIRE(merged.size() == 5);
    const auto at = std::ranges::find(merged, key(32, 64), &KernelRecord::key);
    CHECK(at->samples == 10);
    CHECK(at->median == 1900);
    CHECK(at->minimum == 1798);
    CHECK(at->maximum == 2009);
    records.back().build = "2e";
    CHECK(status_of([&] { (void)merge_records(records, "k"); }) == ExitStatus::bad_input);
}
