#include "cache/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/failure.h"

namespace weft::cache {
namespace {

volatile sig_atomic_t child_process = 0;
volatile sig_atomic_t last_signal = 0;

void forward_signal(int number) {
    last_signal = number;
    if (child_process > 0) ::kill(child_process, SIGTERM);
}

/// Forwards the signals that end programs to the child for as long as it lives.
class SignalGuard {
public:
    SignalGuard() {
        struct sigaction action {};
        action.sa_handler = forward_signal;
        for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &action, &before_[i]);
    }
    ~SignalGuard() {
        for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
    }
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

private:
    static constexpr std::array<int, 3> numbers = {SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, 3> before_{};
};

struct Pipe {
    std::array<int, 2> ends = {-1, -1};
    Pipe() {
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) system_failure("cannot create a pipe: {}", std::strerror(errno));
    }
    ~Pipe() {
        for (std::size_t end : {0U, 1U}) close_end(end);
    }
    void close_end(std::size_t end) {
        if (ends[end] >= 0) ::close(ends[end]);
        ends[end] = -1;
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
};

[[noreturn]] void become(const std::vector<std::string>& command, const Surroundings& surroundings, Pipe& out, Pipe& error) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(out.ends[1], STDOUT_FILENO);
    ::dup2(error.ends[1], STDERR_FILENO);
    for (const auto& [name, value] : surroundings.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (surroundings.file_mask >= 0) ::umask(static_cast<mode_t>(surroundings.file_mask));
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "weft-cache: error: %s: cannot run: %s\n", arguments[0], std::strerror(errno));
    ::_exit(127);
}

/// Collects both streams until their last writer is gone.
void collect(Pipe& out, Pipe& error, ChildResult& result) {
    std::array<pollfd, 2> waits = {{{out.ends[0], POLLIN, 0}, {error.ends[0], POLLIN, 0}}};
    std::array<char, 65536> buffer;
    int open = 2;
    while (open > 0) {
        if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
        for (std::size_t i = 0; i < waits.size(); ++i) {
            if (waits[i].fd < 0 || waits[i].revents == 0) continue;
            const ssize_t count = ::read(waits[i].fd, buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) {
                waits[i].fd = -1;
                --open;
                continue;
            }
            const auto size = static_cast<std::size_t>(count);
            (i == 0 ? result.standard_output : result.standard_error).append(buffer.data(), size);
        }
    }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const Surroundings& surroundings) {
    const auto begin = std::chrono::steady_clock::now();
    Pipe out;
    Pipe error;
    last_signal = 0;
    const SignalGuard guard;
    const pid_t process = ::fork();
    if (process < 0) system_failure("cannot start {}: {}", command.front(), std::strerror(errno));
    if (process == 0) become(command, surroundings, out, error);
    child_process = process;
    if (last_signal != 0) ::kill(process, SIGTERM);   // it came between fork and now
    out.close_end(1);
    error.close_end(1);
    ChildResult result;
    collect(out, error, result);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    child_process = 0;
    result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result.interrupted_by = last_signal;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace weft::cache
