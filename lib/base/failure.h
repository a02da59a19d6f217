#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

/// What a weft program's exit status says.
enum class ExitStatus : int {
    done = 0,
    refused = 1,      ///< the answer is no: infeasible, unsupported, differs
    usage = 2,        ///< wrong command line
    bad_input = 3,    ///< an input file is not what it should be
    system = 4,       ///< input/output, memory, size limit
    bug = 70,         ///< a broken invariant inside weft
};

/// Thrown by anything below main; the text says which file, what is wrong and what to do about it.
class Failure : public std::runtime_error {
public:
    Failure(ExitStatus status, const std::string& text) : std::runtime_error(text), status_(status) {}
    [[nodiscard]] ExitStatus status() const { return status_; }

private:
    ExitStatus status_;
};

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
    throw Failure(ExitStatus::refused, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> text, Args&&... args) {
    throw Failure(ExitStatus::bad_input, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void system_failure(fmt::format_string<Args...> text, Args&&... args) {
    throw Failure(ExitStatus::system, fmt::format(text, std::forward<Args>(args)...));
}

[[noreturn]] void invariant_broken(const char* expression, const char* file, int line, const std::string& detail);

}  // namespace weft

/// An invariant of weft itself, checked in every build. Never for input.
#define WEFT_CHECK(condition, ...)                                                                        \
    do {                                                                                                  \
        if (!(condition)) [[unlikely]] {                                                                  \
            ::weft::invariant_broken(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__));      \
        }                                                                                                 \
    } while (false)
