#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/failure.h"
#include "workbench.h"

namespace {

using namespace weft;
using namespace weft::test;
using cache::Action;

ExitStatus status_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Failure& failure) {
        return failure.status();
    }
    return ExitStatus::done;
}

constexpr const char* upper = "tr a-z A-Z < \"$1\" > \"$2\"";

TEST_CASE("a command runs once for the same program, arguments and contents") {
    Workbench bench;
    const std::string program = bench.script("upper", upper);
    bench.write("in", "abc");
    CHECK(bench.run(bench.action(program)) == 0);
    CHECK(bench.read("out") == "ABC");
    CHECK(fs::is_symlink(bench.file("out")));
    CHECK(bench.run(bench.action(program)) == 0);
    CHECK(bench.runs() == 1);

    SUBCASE("other paths, the same contents") {
        bench.write("other/in", "abc");
        CHECK(bench.run(bench.action(program, "other/in", "other/result")) == 0);
        CHECK(bench.read("other/result") == "ABC");
        CHECK(bench.runs() == 1);
    }
    SUBCASE("another input, and back again") {
        bench.write("in", "xyz");
        CHECK(bench.run(bench.action(program)) == 0);
        CHECK(bench.read("out") == "XYZ");
        bench.write("in", "abc");
        CHECK(bench.run(bench.action(program)) == 0);
        CHECK(bench.read("out") == "ABC");
        CHECK(bench.runs() == 2);
    }
    SUBCASE("an edited program") {
        bench.script("upper", std::string(upper) + " # edited");
        CHECK(bench.run(bench.action(program)) == 0);
        CHECK(bench.runs() == 2);
    }
    SUBCASE("another argument") {
        Action action = bench.action(program);
        action.command.emplace_back("--more");
        CHECK(bench.run(action) == 0);
        CHECK(bench.runs() == 2);
    }
    SUBCASE("options that change nothing") {
        Action action = bench.action(program);
        action.ignored_options = {"-j", "--threads"};
        action.command.insert(action.command.end(), {"-j", "8", "--threads=3", "-j4"});
        CHECK(bench.run(action) == 0);
        CHECK(bench.runs() == 1);
    }
    SUBCASE("a file among the arguments that nobody declared") {
        bench.write("table", "1");
        Action action = bench.action(program);
        action.command.push_back("--table=" + bench.file("table").string());
        CHECK(bench.run(action) == 0);
        CHECK(bench.run(action) == 0);
        CHECK(bench.runs() == 2);
        bench.write("table", "2");
        CHECK(bench.run(action) == 0);
        CHECK(bench.runs() == 3);
    }
    SUBCASE("the environment counts where it is named") {
        Action action = bench.action(program);
        action.environment = {"WEFT_TEST_VARIABLE"};
        ::setenv("WEFT_TEST_VARIABLE", "1", 1);
        CHECK(bench.run(action) == 0);
        ::setenv("WEFT_TEST_VARIABLE", "2", 1);
        CHECK(bench.run(action) == 0);
        CHECK(bench.runs() == 3);
    }
    CHECK(bench.nothing_left_over());
}

TEST_CASE("a result that is the same is not touched, so nothing depends on a new file") {
    Workbench bench;
    const std::string program = bench.script("count", "wc -l < \"$1\" > \"$2\"");
    bench.write("in", "a\n");
    CHECK(bench.run(bench.action(program)) == 0);
    struct stat before {};
    REQUIRE(::lstat(bench.file("out").c_str(), &before) == 0);
    bench.write("in", "b\n");   // another input, an equal result
    CHECK(bench.run(bench.action(program)) == 0);
    struct stat after {};
    REQUIRE(::lstat(bench.file("out").c_str(), &after) == 0);
    CHECK(bench.runs() == 2);
    CHECK(before.st_ino == after.st_ino);

    SUBCASE("copies too") {
        cache::RunOptions copy;
        copy.placement = cache::Placement::copy;
        CHECK(bench.run(bench.action(program), copy) == 0);
        CHECK_FALSE(fs::is_symlink(bench.file("out")));
        REQUIRE(::lstat(bench.file("out").c_str(), &before) == 0);
        bench.write("in", "c\n");
        CHECK(bench.run(bench.action(program), copy) == 0);
        REQUIRE(::lstat(bench.file("out").c_str(), &after) == 0);
        CHECK(before.st_ino == after.st_ino);
        CHECK(bench.read("out") == "1\n");
    }
}

TEST_CASE("a command that fails leaves the earlier result and nothing else") {
    Workbench bench;
    const std::string program = bench.script("picky", "printf half > \"$2\"; if grep -q bad \"$1\"; then exit 7; fi; cat \"$1\" > \"$2\"");
    bench.write("in", "good");
    CHECK(bench.run(bench.action(program)) == 0);
    const auto objects = bench.stored("objects").size();
    bench.write("in", "bad");
    CHECK(bench.run(bench.action(program)) == 7);
    CHECK(bench.read("out") == "good");
    CHECK(bench.stored("objects").size() == objects);
    CHECK(bench.nothing_left_over());
    CHECK(bench.run(bench.action(program)) == 7);
    CHECK(bench.runs() == 3);   // failures are not remembered

    SUBCASE("an output that was not written is a failure") {
        const std::string lazy = bench.script("lazy", ":");
        CHECK(status_of([&] { bench.run(bench.action(lazy)); }) == ExitStatus::refused);
        CHECK(bench.read("out") == "good");
        CHECK(bench.nothing_left_over());
    }
}

TEST_CASE("a refusal can be a result") {
    Workbench bench;
    const std::string program = bench.script("refuser", "if grep -q large \"$1\"; then echo \"$2: too large\" >&2; exit 1; fi; cat \"$1\" > \"$2\"");
    bench.write("in", "small");
    Action action = bench.action(program);
    action.refusal = bench.file("out.refused").string();
    CHECK(bench.run(action) == 0);
    CHECK_FALSE(fs::exists(bench.file("out.refused")));
    bench.write("in", "large");
    for (int i = 0; i < 2; ++i) {
        CHECK(bench.run(action) == 0);
        CHECK(bench.read("out.refused") == bench.file("out").string() + ": too large\n");   // the final name, not the staged one
        CHECK_FALSE(fs::exists(bench.file("out")));
    }
    CHECK(bench.runs() == 2);
    {   // for whoever does not keep refusals it is a failure, which runs again
        Action strict = action;
        strict.refusal.clear();
        CHECK(bench.run(strict) == 1);
    }
    bench.write("in", "small");
    CHECK(bench.run(action) == 0);
    CHECK_FALSE(fs::exists(bench.file("out.refused")));
    CHECK(bench.read("out") == "small");
    CHECK(bench.runs() == 3);
}

TEST_CASE("patterns, folders, blobs and logs") {
    Workbench bench;
    // Writes as many parts as the input has lines.
    const std::string program = bench.script("many", R"sh(cat "$1" > "$2"; n=0; while read -r line; do echo "$line" > "${2%.list}-$n.part"; n=$((n+1)); done < "$1"
mkdir -p "$3/below" "$4"; cat "$1" > "$3/below/x"; cat "$1" > "$3/y"; cp "$1" "$4/$(cksum < "$1" | cut -d' ' -f1)"
echo "{\"outputs\": \"$2\", \"run\": {\"seconds\": $$, \"version\": \"1.2.3\"}}" > "$5")sh");
    bench.write("in", "a\nb\nc\n");
    Action action = bench.action(program, "in", "net.list");
    action.patterns = {bench.file("net-*.part").string()};
    action.folders = {bench.file("tree").string()};
    action.blobs = {bench.file("blobs").string()};
    action.logs = {bench.file("report").string()};
    action.command.insert(action.command.end(), {action.folders[0], action.blobs[0], action.logs[0]});
    CHECK(bench.run(action) == 0);
    CHECK(bench.read("net-2.part") == "c\n");
    CHECK(bench.read("tree/below/x") == "a\nb\nc\n");
    CHECK(bench.read("report").find(bench.file("net.list").string()) != std::string::npos);

    bench.write("in", "a\n");
    CHECK(bench.run(action) == 0);
    CHECK(fs::exists(bench.file("net-0.part")));
    CHECK_FALSE(fs::exists(bench.file("net-1.part")));   // of the earlier run
    CHECK(bench.read("tree/y") == "a\n");
    CHECK(std::distance(fs::directory_iterator(bench.file("blobs")), fs::directory_iterator()) == 2);   // blobs are only added

    fs::remove_all(bench.file("tree"));
    fs::remove(bench.file("net-0.part"));
    CHECK(bench.run(action) == 0);
    CHECK(bench.read("net-0.part") == "a\n");
    CHECK(bench.read("tree/below/x") == "a\n");
    CHECK(bench.runs() == 2);
    const auto record = cache::look_up(bench.store(), action).record;
    REQUIRE(record);
    CHECK(record->provenance.version == "1.2.3");
    CHECK(record->provenance.command == action.command);

    // Names that a command chooses stand in its results, so another pattern is another action.
    action.patterns = {bench.file("net-*").string()};
    CHECK(bench.run(action) == 0);
    CHECK(bench.runs() == 3);
}

TEST_CASE("inputs that a command finds while running") {
    Workbench bench;
    const std::string program = bench.script("include", R"sh(part="$(dirname "$1")/$(cat "$1")"; cat "$part" > "$2"
printf '%s: %s \\\n  %s\n\n%s:\n' "$2" "$(echo "$1" | sed 's/ /\\ /g')" "$(echo "$part" | sed 's/ /\\ /g')" x > "$3")sh");
    Action action = bench.action(program);
    action.depfile = bench.file("out.d").string();
    action.command.push_back(action.depfile);
    bench.write("in", "one");
    bench.write("one", "1");
    bench.write("two", "2");
    CHECK(bench.run(action) == 0);
    CHECK(bench.run(action) == 0);
    CHECK(bench.runs() == 1);
    CHECK(cache::parse_depfile(bench.read("out.d")) == std::vector<std::string>{bench.file("one").string()});
    bench.write("two", "unrelated");
    CHECK(bench.run(action) == 0);
    CHECK(bench.runs() == 1);
    bench.write("one", "changed");
    CHECK(bench.run(action) == 0);
    CHECK(bench.read("out") == "changed");
    bench.write("one", "1");
    CHECK(bench.run(action) == 0);
    CHECK(bench.read("out") == "1");
    CHECK(bench.runs() == 2);
    bench.write("in", "two");
    CHECK(bench.run(action) == 0);
    CHECK(bench.read("out") == "unrelated");
    CHECK(bench.runs() == 3);
    // The same files elsewhere: the record holds there too.
    for (const char* name : {"in", "one", "two"}) bench.write(std::string("copy/") + name, bench.read(name));
    Action copy = bench.action(program, "copy/in", "copy/out");
    copy.depfile = bench.file("copy/out.d").string();
    copy.command.push_back(copy.depfile);
    CHECK(bench.run(copy) == 0);
    CHECK(bench.read("copy/out") == "unrelated");
    CHECK(bench.runs() == 3);
    fs::remove(bench.file("copy/two"));
    CHECK(bench.run(copy) != 0);   // the found input is gone, so the command runs, and fails
}

TEST_CASE("an input that changes while the command runs spoils no record") {
    Workbench bench;
    const std::string program = bench.script("slow", "cat \"$1\" > \"$2\"; if [ \"$(wc -l < '" + bench.file("runs").string() + "')\" = 1 ]; then echo new > \"$1\"; fi");
    bench.write("in", "old");
    cache::RunOptions options;
    options.stamp = bench.file("stamp").string();
    CHECK(bench.run(bench.action(program), options) == 0);
    CHECK(bench.warnings.size() == 1);
    // The stamp is older than the change, so Make would run the rule again.
    CHECK(fs::last_write_time(bench.file("stamp")) <= fs::last_write_time(bench.file("in")));
    bench.write("in", "old");
    CHECK(bench.run(bench.action(program), options) == 0);
    CHECK(bench.runs() == 2);
    CHECK(bench.read("out") == "old");
}

TEST_CASE("a second run in other surroundings is compared byte by byte") {
    Workbench bench;
    bench.write("in", "abc");
    cache::RunOptions check;
    check.check = true;
    const std::string steady = bench.script("steady", upper);
    CHECK(bench.run(bench.action(steady), check) == 0);
    CHECK(bench.run(bench.action(steady), check) == 0);
    CHECK(bench.runs() == 3);
    const std::map<std::string, std::string> unsteady = {
        {"locale", "cat \"$1\" > \"$2\"; echo $LC_ALL >> \"$2\""},       {"time zone", "cat \"$1\" > \"$2\"; date +%z >> \"$2\""},
        {"umask", "cat \"$1\" > \"$2\"; umask >> \"$2\""},               {"folder", "cat \"$1\" > \"$2\"; echo \"$2\" >> \"$2\""},
        {"process", "cat \"$1\" > \"$2\"; echo $$ >> \"$2\""},           {"length", "head -c $$ /dev/zero > \"$2\""},
    };
    ::setenv("LC_ALL", "C.UTF-8", 1);
    for (const auto& entry : unsteady) {
        CAPTURE(entry.first);
        const std::string program = bench.script("unsteady", entry.second);
        CHECK(status_of([&] { bench.run(bench.action(program), check); }) == ExitStatus::refused);
    }
    // Arguments of the second run only, as "-j 8" would be.
    const std::string threads = bench.script("threads", "cat \"$1\" > \"$2\"; echo $# >> \"$2\"");
    check.check_arguments = {"-j", "8"};
    CHECK(status_of([&] { bench.run(bench.action(threads), check); }) == ExitStatus::refused);
}

TEST_CASE("a read-only store is used and not written") {
    Workbench bench;
    const std::string program = bench.script("upper", upper);
    bench.write("in", "abc");
    cache::Store missing = bench.store(true);
    CHECK(bench.run(missing, bench.action(program)) == 0);
    CHECK(bench.read("out") == "ABC");
    CHECK_FALSE(fs::exists(bench.file("store")));
    CHECK(bench.run(bench.action(program)) == 0);
    CHECK(bench.runs() == 2);
    const auto count = bench.stored("").size();
    cache::Store store = bench.store(true);
    CHECK(bench.run(store, bench.action(program)) == 0);
    CHECK(bench.runs() == 2);
    bench.write("in", "xyz");
    CHECK(bench.run(store, bench.action(program)) == 0);
    CHECK(bench.runs() == 3);
    CHECK(bench.read("out") == "XYZ");
    CHECK_FALSE(fs::is_symlink(bench.file("out")));
    CHECK(bench.stored("").size() == count);
}

TEST_CASE("why an action is not stored") {
    Workbench bench;
    const std::string program = bench.script("upper", upper);
    bench.write("in", "abc");
    Action action = bench.action(program);
    CHECK(cache::explain_miss(bench.store(), action).find("never ran") != std::string::npos);
    CHECK(bench.run(action) == 0);
    CHECK(cache::explain_miss(bench.store(), action).starts_with("stored: "));
    action.command.emplace_back("--depth=3");
    CHECK(cache::explain_miss(bench.store(), action).find("argument 3: new: --depth=3") != std::string::npos);
    action.command.pop_back();
    bench.write("in", "xyz");
    const std::string text = cache::explain_miss(bench.store(), action);
    CHECK(text.find("input 0 (" + bench.file("in").string() + "): ") != std::string::npos);
    CHECK(text.find("argument") == std::string::npos);
}

}  // namespace
