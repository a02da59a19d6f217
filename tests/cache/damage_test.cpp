// What a store does with damage: nothing of it reaches a user.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/failure.h"
#include "base/random.h"
#include "workbench.h"

namespace {

using namespace weft;
using namespace weft::test;

constexpr const char* chain_text = "a chain of two commands\n";

/// Two commands, the second reads what the first made, with a pattern.
class Chain {
public:
    Chain() {
        bench.write("in", chain_text);
        first_ = bench.script("first", "rev \"$1\" > \"$2\"; tr a-z A-Z < \"$1\" > \"$(dirname \"$2\")/mid-0.part\"; test -n \"$1\"");
        second_ = bench.script("second", "rev \"$1\" > \"$2\"");
    }
    void run() {
        cache::Action first = bench.action(first_, "in", "mid");
        first.patterns = {bench.file("mid-*.part").string()};
        CHECK(bench.run(first) == 0);
        CHECK(bench.run(bench.action(second_, "mid", "out")) == 0);
    }
    void check_results() const {
        CHECK(bench.read("out") == chain_text);
        CHECK(bench.read("mid-0.part") == "A CHAIN OF TWO COMMANDS\n");
    }
    Workbench bench;

private:
    std::string first_;
    std::string second_;
};

TEST_CASE("a flipped bit in any file of the store is found and never reaches a user") {
    Random random(7);
    Chain chain;
    chain.run();
    for (const char* folder : {"objects", "actions"}) {
        const std::size_t count = chain.bench.stored(folder).size();
        REQUIRE(count >= 2);
        for (std::size_t index = 0; index < count; ++index) {
            for (int sample = 0; sample < 6; ++sample) {
                const auto files = chain.bench.stored(folder);
                REQUIRE(files.size() == count);
                const fs::path file = files[index];
                const auto size = static_cast<std::uint32_t>(fs::file_size(file));
                if (size == 0) continue;
                fs::permissions(file, fs::perms::owner_all);
                Workbench::flip_bit(file, random.below(size), random.below(8));
                CAPTURE(file.string());
                if (sample % 2 == 0) {   // found by fsck before anybody asks
                    const auto report = cache::check_store(chain.bench.store());
                    CHECK(report.problems.size() >= 1);
                    CHECK_FALSE(fs::exists(file));
                }
                // Another user's folder: nothing but good results, whatever is damaged. (In the first folder a link may dangle.)
                for (const char* name : {"mid", "mid-0.part", "out"}) fs::remove(chain.bench.file(name));
                chain.run();
                chain.check_results();
                CHECK(cache::check_store(chain.bench.store()).problems.empty());
            }
        }
    }
}

TEST_CASE("a damaged object is no input, even through an old link") {
    Chain chain;
    chain.run();
    const fs::path object = fs::canonical(chain.bench.file("mid"));
    fs::permissions(object, fs::perms::owner_all);
    Workbench::flip_bit(object, 3, 2);
    const std::string program = chain.bench.script("reader", "cat \"$1\" > \"$2\"");
    CHECK_THROWS_AS(chain.bench.run(chain.bench.action(program, "mid", "copy")), Failure);
    CHECK_FALSE(fs::exists(chain.bench.file("copy")));
    CHECK_FALSE(fs::exists(chain.bench.file("mid")));   // dangles: Make makes it again
    CHECK_FALSE(fs::exists(object));
}

TEST_CASE("cut, emptied and missing objects") {
    Chain chain;
    chain.run();
    for (const fs::path& object : chain.bench.stored("objects")) {
        for (int way = 0; way < 3; ++way) {
            CAPTURE(object.string());
            fs::permissions(object, fs::perms::owner_all);
            if (way == 0) fs::resize_file(object, fs::file_size(object) / 2);
            if (way == 1) fs::resize_file(object, 0);
            if (way == 2) fs::remove(object);
            for (const char* name : {"mid", "mid-0.part", "out"}) fs::remove(chain.bench.file(name));
            chain.run();
            chain.check_results();
            CHECK(fs::exists(object));
        }
    }
}

TEST_CASE("records from elsewhere cannot write outside their folders") {
    Workbench bench;
    bench.write("in", "abc");
    const std::string program = bench.script("copy", "cat \"$1\" > \"$2\"");
    cache::Action action = bench.action(program);
    action.folders = {bench.file("tree").string()};
    CHECK(bench.run(action) == 0);
    cache::Store store = bench.store();
    auto lookup = cache::look_up(store, action);
    REQUIRE(lookup.record);
    for (const char* name : {"../../stolen", "/tmp/stolen", "below/../../stolen"}) {
        auto record = *lookup.record;
        record.files.push_back({"folder 0", name, record.files.front().content});
        CHECK_THROWS_AS(cache::place_results(store, action, record, cache::Placement::link), Failure);
    }
    auto text = cache::record_json(*lookup.record);
    CHECK(cache::parse_record(text));
    const auto place = text.find("\"hash\": \"", text.find("\"files\"")) + 9;
    REQUIRE(text.compare(place, 32, lookup.record->files.front().content.hash) == 0);
    text.replace(place, 4, "../.");
    CHECK_FALSE(cache::parse_record(text));
}

TEST_CASE("records survive being written and read; mutants are no records or differ") {
    cache::Record record;
    record.key = {{"format", "1"}, {"program", "x \"quoted\"\n"}};
    record.status = 1;
    record.files = {{"output 0", "", {std::string(32, 'a'), 7}}, {"pattern 1", "net-0.sched", {std::string(32, 'b'), 0}}};
    record.dependencies = {"a b", "/c"};
    record.standard_error = {std::string(32, 'c'), 3};
    record.provenance = {{"weft-lower", "-o", "x"}, "0.1.0", "host", "2026-01-01T00:00:00Z", 1.5};
    const std::string text = cache::record_json(record);
    const auto again = cache::parse_record(text);
    REQUIRE(again);
    CHECK(cache::record_json(*again) == text);
    for (const char* size : {"1e300", "7.5", "-7", "18446744073709551616", "true", "null"}) {
        std::string wrong = text;
        wrong.replace(wrong.find("\"size\": 7") + 8, 1, size);
        CHECK_FALSE(cache::parse_record(wrong));
    }
    std::string wrong = text;
    wrong.replace(wrong.find("\"status\": 1") + 10, 1, "4294967296");
    CHECK_FALSE(cache::parse_record(wrong));
    Random random(3);
    for (int i = 0; i < 3000; ++i) {
        std::string mutant = text;
        for (int change = 0; change < 3; ++change) mutant[random.below(static_cast<std::uint32_t>(mutant.size()))] = static_cast<char>(random.below(256));
        const auto parsed = cache::parse_record(mutant);   // must not crash
        if (parsed) CHECK(cache::contents_of(*parsed).size() <= 4);
    }
}

}  // namespace
