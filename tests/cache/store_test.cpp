#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/failure.h"
#include "cache/identity.h"
#include "workbench.h"

namespace {

using namespace weft;
using namespace weft::test;
using cache::Algorithm;

void age(const fs::path& path, int days) {
    const timespec times[2] = {{::time(nullptr) - days * 86400, 0}, {::time(nullptr) - days * 86400, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

TEST_CASE("names are those of xxhsum -H2 and sha256sum") {
    CHECK(cache::digest(Algorithm::sha256, std::string_view("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(cache::digest(Algorithm::xxh3_128, std::string_view("")) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("a store keeps its hash, and foreign folders are no stores") {
    Workbench bench;
    { const cache::Store made(bench.file("sha"), Algorithm::sha256, false); }
    const cache::Store again(bench.file("sha"), std::nullopt, false);
    CHECK(again.algorithm() == Algorithm::sha256);
    CHECK(again.object_path(std::string(64, 'a')).string().find("/objects/sha256/aa/") != std::string::npos);
    CHECK_THROWS_AS(cache::Store(bench.file("sha"), Algorithm::xxh3_128, false), Failure);
    bench.write("home/thesis", "text");
    CHECK_THROWS_AS(cache::Store(bench.file("home"), std::nullopt, false), Failure);
    bench.write("future/FORMAT", "weft-store 9 xxh3-128\n");
    CHECK_THROWS_AS(cache::Store(bench.file("future"), std::nullopt, false), Failure);
    CHECK_THROWS_AS(static_cast<void>(cache::parse_algorithm("md5")), Failure);

    bench.write("in", "abc");
    const std::string program = bench.script("copy", "cat \"$1\" > \"$2\"");
    cache::Store sha(bench.file("sha"), std::nullopt, false);
    CHECK(bench.run(sha, bench.action(program)) == 0);
    CHECK(fs::read_symlink(bench.file("out")).filename() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(bench.run(sha, bench.action(program)) == 0);
    CHECK(bench.runs() == 1);
    CHECK(cache::check_store(sha).problems.empty());
}

TEST_CASE("an object has one owner: links and files with other names are copied") {
    Workbench bench;
    bench.write("in", "abc");
    const std::string program = bench.script("linker", "ln \"$1\" \"$2\"");
    CHECK(bench.run(bench.action(program)) == 0);
    bench.write("in", "abd");
    CHECK(bench.read("out") == "abc");
    const std::string symbolic = bench.script("symbolic", "ln -s \"$1\" \"$2\"");
    CHECK(bench.run(bench.action(symbolic)) == 0);
    bench.write("in", "abe");
    CHECK(bench.read("out") == "abd");
}

TEST_CASE("gc keeps what roots and late records name") {
    Workbench bench;
    const std::string program = bench.script("copy", "cat \"$1\" > \"$2\"");
    const auto make = [&](const std::string& text, const std::string& output) {
        bench.write("in", text);
        CHECK(bench.run(bench.action(program, "in", output)) == 0);
        return fs::canonical(bench.file(output));
    };
    const fs::path rooted = make("rooted", "run/out");
    const fs::path late = make("late", "late");
    const fs::path late_record = bench.store().action_path(cache::look_up(bench.store(), bench.action(program, "in", "late")).key);
    const fs::path old = make("old", "old");
    const fs::path young = make("young", "young");
    cache::add_root(bench.store(), bench.file("run").string());
    cache::add_root(bench.store(), bench.file("gone").string());
    for (const auto& file : bench.stored("objects")) age(file, 40);
    for (const auto& file : bench.stored("actions")) age(file, 40);
    age(late_record, 1);
    age(young, 1);

    const auto plan = cache::collect_garbage(bench.store(), {});
    CHECK(plan.objects == 1);
    CHECK(plan.actions == 3);
    CHECK(plan.lost_roots == std::vector<std::string>{bench.file("gone").string()});
    CHECK(fs::exists(old));   // only a plan
    cache::GcOptions really;
    really.really = true;
    CHECK(cache::collect_garbage(bench.store(), really).objects == 1);
    CHECK_FALSE(fs::exists(old));
    for (const auto& kept : {rooted, late, young}) CHECK(fs::exists(kept));
    CHECK(cache::check_store(bench.store()).problems.empty());
    // From trash it goes after the grace time only.
    CHECK(bench.stored("trash").size() == 4);
    CHECK(cache::collect_garbage(bench.store(), really).emptied == 0);
    for (const auto& file : bench.stored("trash")) age(file, 40);
    CHECK(cache::collect_garbage(bench.store(), really).emptied == 4);
    CHECK(bench.stored("trash").empty());
    // Whoever needs it again makes it again.
    bench.write("in", "old");
    CHECK(bench.run(bench.action(program, "in", "old")) == 0);
    CHECK(bench.read("old") == "old");
}

TEST_CASE("programs are known by their build id or contents, and their own libraries with them") {
    Workbench bench;
    CHECK(cache::program_identity(Algorithm::xxh3_128, "/proc/self/exe").starts_with("build:"));
    const std::string script = bench.script("one", ":");
    const std::string before = cache::program_identity(Algorithm::xxh3_128, script);
    CHECK(before.starts_with("content:"));
    CHECK(cache::program_identity(Algorithm::xxh3_128, bench.script("two", ":")) == before);
    CHECK(cache::program_identity(Algorithm::xxh3_128, bench.script("one", "true")) != before);
    // A small executable of our own: its build id, the library that it needs, the folders where it looks.
    std::string elf_text = read_text(WEFT_SOURCE "/tests/fuzz/corpus/store_files/executable").substr(1);
    const auto elf = cache::read_elf(std::as_bytes(std::span(elf_text.data(), elf_text.size())), "/here");
    CHECK(elf.build_id == "01020304");
    CHECK(elf.needed == std::vector<std::string>{"libx.so"});
    CHECK(elf.folders == std::vector<std::string>{"/here/../lib", "/opt"});
    // Cut anywhere, an executable is read without harm.
    const std::string whole = read_text("/proc/self/exe");
    for (std::size_t size = 0; size < std::min<std::size_t>(whole.size(), 4096); size += 13) {
        bench.write("cut", whole.substr(0, size));
        CHECK_FALSE(cache::program_identity(Algorithm::xxh3_128, bench.file("cut").string()).empty());
    }
    CHECK_THROWS_AS(static_cast<void>(cache::find_program("no-such-program-anywhere")), Failure);
    CHECK_THROWS_AS(static_cast<void>(cache::find_program("./no/such")), Failure);
}

TEST_CASE("many processes that want the same result run the command once") {
    Workbench bench;
    const std::string program = bench.script("slow", "sleep 0.3; cat \"$1\" > \"$2\"");
    bench.write("in", "abc");
    { [[maybe_unused]] const auto made = bench.store(); }
    std::vector<pid_t> processes;
    for (int i = 0; i < 8; ++i) {
        const pid_t process = ::fork();
        if (process == 0) {
            ::_exit(bench.run(bench.action(program, "in", "out" + std::to_string(i))));
        }
        processes.push_back(process);
    }
    for (const pid_t process : processes) {
        int status = -1;
        ::waitpid(process, &status, 0);
        CHECK(status == 0);
    }
    for (int i = 0; i < 8; ++i) CHECK(bench.read("out" + std::to_string(i)) == "abc");
    CHECK(bench.runs() == 1);
}

TEST_CASE("figures of a store") {
    Workbench bench;
    const std::string program = bench.script("copy", "cat \"$1\" > \"$2\"");
    bench.write("in", "abc");
    for (int i = 0; i < 3; ++i) CHECK(bench.run(bench.action(program)) == 0);
    const auto figures = cache::store_figures(bench.store());
    CHECK(figures.objects == 1);
    CHECK(figures.object_bytes == 3);
    CHECK(figures.actions == 1);
    CHECK(figures.made == 1);
    CHECK(figures.reused == 2);
    CHECK(cache::figures_text(bench.store(), figures).find("\nreused\t2\n") != std::string::npos);
}

}  // namespace
