#include "artifact/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "artifact/artifact.h"
#include "base/failure.h"
#include "samples.h"
#include "scratch.h"

namespace {

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

ExitStatus status_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Failure& failure) {
        return failure.status();
    }
    return ExitStatus::done;
}

/// Runs `action` in a process of its own and returns its exit status, 128 + n where signal n killed it.
int in_child(const std::function<int()>& action) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(action());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("a mapped file shows the file's bytes") {
    const ScratchFolder scratch;
    const fs::path path = scratch.path / "text";
    std::ofstream(path) << "seven weavers";
    MappedFile file(path);
    CHECK(read_text(path) == "seven weavers");
    CHECK(file.bytes().size() == 13);
    CHECK(file.name() == path.string());
    MappedFile moved(std::move(file));
    CHECK(moved.bytes().size() == 13);
    MappedFile other(path);
    other = std::move(moved);
    CHECK(static_cast<char>(other.bytes()[0]) == 's');
    std::ofstream(scratch.path / "empty").close();
    CHECK(MappedFile(scratch.path / "empty").bytes().empty());
    CHECK(read_text(scratch.path / "empty").empty());
}

TEST_CASE("what is no regular file is bad input, without waiting for it") {
    const ScratchFolder scratch;
    CHECK(status_of([&] { MappedFile{scratch.path}; }) == ExitStatus::bad_input);
    CHECK(status_of([&] { MappedFile{scratch.path / "missing"}; }) == ExitStatus::bad_input);
    CHECK(status_of([&] { MappedFile{"/dev/null"}; }) == ExitStatus::bad_input);
    REQUIRE(::mkfifo((scratch.path / "pipe").c_str(), 0600) == 0);
    CHECK(status_of([&] { MappedFile{scratch.path / "pipe"}; }) == ExitStatus::bad_input);
    fs::create_symlink("nowhere", scratch.path / "dangling");
    CHECK(status_of([&] { MappedFile{scratch.path / "dangling"}; }) == ExitStatus::bad_input);
}

TEST_CASE("publishing replaces a file as a whole and leaves nothing else") {
    const ScratchFolder scratch;
    const fs::path path = scratch.path / "file";
    publish_text(path, "first");
    publish_text(path, "second");
    CHECK(read_text(path) == "second");
    CHECK(scratch.entries() == 1);
    publish_text(path, "");
    CHECK(fs::file_size(path) == 0);
}

TEST_CASE("published files have the permissions of any new file") {
    const ScratchFolder scratch;
    const mode_t before = ::umask(027);
    publish_text(scratch.path / "file", "x");
    const mode_t after = ::umask(before);
    CHECK(after == 027);
    CHECK((fs::status(scratch.path / "file").permissions() & fs::perms::mask) == fs::perms(0640));
}

TEST_CASE("a reader of the old file keeps it") {
    const ScratchFolder scratch;
    publish_text(scratch.path / "file", "old");
    const MappedFile old(scratch.path / "file");
    publish_text(scratch.path / "file", "completely new");
    CHECK(static_cast<char>(old.bytes()[0]) == 'o');
    CHECK(old.bytes().size() == 3);
}

TEST_CASE("failures of publishing: status 4, the old file stays, nothing is left behind") {
    const ScratchFolder scratch;
    CHECK(status_of([&] { publish_text(scratch.path / "no" / "folder", "x"); }) == ExitStatus::system);
    fs::create_directory(scratch.path / "folder");
    std::ofstream(scratch.path / "folder" / "inside") << "x";
    CHECK(status_of([&] { publish_text(scratch.path / "folder", "x"); }) == ExitStatus::system);
    CHECK(fs::is_directory(scratch.path / "folder"));
    CHECK(scratch.entries() == 1);
}

TEST_CASE("a disk that fills up: status 4, the old file stays, nothing is left behind") {
    const ScratchFolder scratch;
    publish_text(scratch.path / "file", "old");
    const int status = in_child([&] {
        // The process may write 4 KiB per file; like a full disk, the write fails half-way.
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        return static_cast<int>(status_of([&] { publish_text(scratch.path / "file", std::string(1U << 20U, 'n')); }));
    });
    CHECK(status == static_cast<int>(ExitStatus::system));
    CHECK(read_text(scratch.path / "file") == "old");
    CHECK(scratch.entries() == 1);
}

TEST_CASE("standard output that cannot be written is noticed") {
    const int status = in_child([] {
        const int full = ::open("/dev/full", O_WRONLY);
        ::dup2(full, STDOUT_FILENO);
        return static_cast<int>(status_of([] { publish_text("-", "text"); }));
    });
    CHECK(status == static_cast<int>(ExitStatus::system));
}

TEST_CASE("a killed writer never leaves half a file") {
    const ScratchFolder scratch;
    const fs::path path = scratch.path / "file";
    constexpr std::size_t size = 1U << 20U;
    publish_text(path, std::string(size, 'a'));
    for (int attempt = 0; attempt < 20; ++attempt) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) publish_text(path, std::string(size, letter));
        }
        // Readers while the writer works, and after it was killed at an arbitrary moment.
        for (int look = 0; look < 3; ++look) {
            std::this_thread::sleep_for(std::chrono::microseconds(700 + 300 * attempt));
            if (look == 2) {
                ::kill(child, SIGKILL);
                ::waitpid(child, nullptr, 0);
            }
            const std::string text = read_text(path);
            REQUIRE(text.size() == size);
            CHECK(text.find_first_not_of(text[0]) == std::string::npos);
        }
    }
}

TEST_CASE("many writers of one file: the last one wins, whole") {
    const ScratchFolder scratch;
    const fs::path path = scratch.path / "file";
    std::vector<std::thread> writers;
    for (char letter = 'a'; letter < 'g'; ++letter) {
        writers.emplace_back([&path, letter] {
            for (int round = 0; round < 20; ++round) publish_text(path, std::string(10'000, letter));
        });
    }
    for (auto& writer : writers) writer.join();
    const std::string text = read_text(path);
    CHECK(text == std::string(10'000, text[0]));
    CHECK(scratch.entries() == 1);
}

TEST_CASE("artifacts are written, mapped and hashed") {
    const ScratchFolder scratch;
    for_each_sample([&]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        const fs::path path = scratch.path / fmt::format("net.{}", ArtifactTraits<Kind>::extension);
        const Hash128 hash = write_artifact<Kind>(path, view(columns));
        const Artifact<Kind> artifact(path);
        CHECK(artifact.hash() == hash);
        CHECK(artifact.name() == path.string());
        CHECK(write_artifact<Kind>(path, *artifact) == hash);
    });
    CHECK(status_of([&] { Artifact<Graph>{scratch.path / "net.prog"}; }) == ExitStatus::bad_input);
}

TEST_CASE("what breaks the rules of its kind is not written") {
    const ScratchFolder scratch;
    ScheduleColumns schedule = sample(std::type_identity<Schedule>{});
    schedule.lane_core[0] = 7;
    CHECK(status_of([&] { write_artifact<Schedule>(scratch.path / "net.sched", view(schedule)); }) != ExitStatus::done);
    CHECK(scratch.entries() == 0);
}

}  // namespace
