// Many writers on one store, killed at random:  cache_stress FOLDER ROUNDS [WRITERS [SEED]]
//
// Every round, 64 processes make results of a few overlapping actions; a third of them is killed somewhere on the way. Afterwards every
// process that ended well must have its result in place, with a record that finds it (no lost update); and nothing in the store may
// be damaged or partial. Status 1 where any of that fails.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/random.h"
#include "cache/maintain.h"
#include "cache/run.h"

namespace {

using namespace weft;
using namespace weft::cache;

/// What action `id` makes: some pseudo-random bytes, often the same for neighbours, so that objects are shared.
std::string content_of(unsigned id) {
    Random random(id / 3);
    std::string text(random.below(40'000) + 1, '\0');
    for (char& c : text) c = static_cast<char>(random.next());
    return text;
}

/// The command: writes its file in pieces.
int produce(unsigned id, const char* path) {
    const std::string text = content_of(id);
    std::FILE* file = std::fopen(path, "wb");
    if (file == nullptr) return 4;
    for (std::size_t begin = 0; begin < text.size(); begin += 9'000) {
        const std::size_t size = std::min<std::size_t>(9'000, text.size() - begin);
        if (std::fwrite(text.data() + begin, 1, size, file) != size) return 4;
        std::fflush(file);
    }
    return std::fclose(file) == 0 ? 0 : 4;
}

Action action_of(const fs::path& folder, unsigned writer, unsigned id) {
    Action action;
    action.outputs = {(folder / ("out" + std::to_string(writer))).string()};
    action.command = {"/proc/self/exe", "produce", std::to_string(id), action.outputs[0]};
    return action;
}

int write_once(const fs::path& folder, unsigned writer, unsigned id) {
    try {
        Store store(folder / "store", std::nullopt, false);
        RunOptions options;
        options.warn = [](const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); };
        return run_action(store, action_of(folder, writer, id), options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "writer: %s\n", error.what());
        return 4;
    }
}

struct Writer {
    pid_t process = 0;
    unsigned id = 0;
    bool killed = false;
};

struct Totals {
    unsigned ended = 0, killed = 0, failures = 0;
};

void run_round(const fs::path& folder, unsigned round, unsigned count, Random& random, Totals& totals) {
    std::vector<Writer> writers(count);
    for (unsigned i = 0; i < count; ++i) {
        writers[i].id = round * 8 + random.below(16);   // half of them known from the round before
        writers[i].process = ::fork();
        if (writers[i].process == 0) ::_exit(write_once(folder, i, writers[i].id));
    }
    for (unsigned i = 0; i < count / 3; ++i) {
        const timespec pause{0, static_cast<long>(random.below(1'500'000))};
        ::nanosleep(&pause, nullptr);
        Writer& victim = writers[random.below(count)];
        if (!victim.killed) ::kill(victim.process, SIGKILL);
        victim.killed = true;
    }
    for (Writer& writer : writers) {
        int status = 0;
        ::waitpid(writer.process, &status, 0);
        writer.killed = WIFSIGNALED(status);
        if (writer.killed) continue;
        if (WEXITSTATUS(status) == 0) continue;
        std::printf("round %u: a writer ended with status %d\n", round, WEXITSTATUS(status));
        ++totals.failures;
    }
    const Store store(folder / "store", std::nullopt, false);
    for (unsigned i = 0; i < count; ++i) {
        totals.killed += writers[i].killed ? 1U : 0U;
        if (writers[i].killed) continue;
        ++totals.ended;
        const Action action = action_of(folder, i, writers[i].id);
        std::ifstream stream(action.outputs[0], std::ios::binary);
        const std::string got{std::istreambuf_iterator<char>(stream), {}};
        const bool found = look_up(store, action).record.has_value();
        if (got == content_of(writers[i].id) && found) continue;
        std::printf("round %u: writer %u: %s\n", round, i, found ? "wrong result" : "its record is lost");
        ++totals.failures;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string(argv[1]) == "produce") return produce(static_cast<unsigned>(std::atoi(argv[2])), argv[3]);
    if (argc < 3) {
        std::fprintf(stderr, "usage: cache_stress FOLDER ROUNDS [WRITERS [SEED]]\n");
        return 2;
    }
    const fs::path folder = argv[1];
    const auto number = [&](int index, unsigned standard) { return argc > index ? static_cast<unsigned>(std::atoi(argv[index])) : standard; };
    const unsigned rounds = number(2, 1);
    const unsigned writers = number(3, 64);
    Random random(number(4, 1));
    fs::remove_all(folder);
    fs::create_directories(folder);
    Totals totals;
    try {
        for (unsigned round = 0; round < rounds; ++round) {
            run_round(folder, round, writers, random, totals);
            if (round % 100 != 99 && round + 1 != rounds) continue;
            const FsckReport report = check_store(Store(folder / "store", std::nullopt, false));
            for (const auto& problem : report.problems) std::printf("round %u: %s\n", round, problem.c_str());
            totals.failures += static_cast<unsigned>(report.problems.size());
            std::printf("%u rounds: %u writers ended, %u were killed; %llu objects, %llu records, %u failures\n", round + 1, totals.ended, totals.killed,
                        static_cast<unsigned long long>(report.objects), static_cast<unsigned long long>(report.actions), totals.failures);
            std::fflush(stdout);
        }
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return totals.failures == 0 && totals.killed > 0 ? 0 : 1;
}
