#include "base/tool.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <new>

#include "artifact/file.h"
#include "base/version.h"

namespace weft {
std::string make_escaped(const std::string& path) {
    std::string result;
    for (const char c : path) {
        if (c == ' ' || c == '#') result += '\\';
        if (c == '$') result += '$';
        result += c;
    }
    return result;
}

Tool::Tool(std::string name, std::string description, std::string examples)
    : name_("weft-" + std::move(name)), app_(std::move(description), name_) {
    app_.footer(std::move(examples));
    app_.set_version_flag("--version", fmt::format("{} {}", name_, version_text));
    app_.add_option("--report", report_path_, "Write a JSON report to this file")->type_name("FILE");
    app_.add_option("--depfile", depfile_path_, "Write Make dependencies to this file")->type_name("FILE");
    app_.get_formatter()->column_width(34);
}

void Tool::add_output(std::string& path, const std::string& what, bool required) {
    auto* option = app_.add_option("-o,--output", path, what)->type_name("FILE");
    if (required) option->required();
}

void Tool::add_threads(unsigned& threads) {
    app_.add_option("-j,--threads", threads, "Threads; the result does not depend on it")->check(CLI::Range(1U, 1024U));
}

void Tool::warn(const std::string& text) {
    fmt::print(stderr, "{}: warning: {}\n", name_, text);
    warnings_.push_back(text);
}

void Tool::write_side_files(double seconds) {
    if (!depfile_path_.empty() && !outputs_.empty()) {
        std::string text = make_escaped(outputs_.front()) + ":";
        for (const auto& input : inputs_) text += " \\\n  " + make_escaped(input);
        text += "\n";
        for (const auto& input : inputs_) text += "\n" + make_escaped(input) + ":\n";
        publish_text(depfile_path_, text);
    }
    if (!report_path_.empty()) {
        nlohmann::ordered_json whole = {{"tool", name_}, {"inputs", inputs_}, {"outputs", outputs_}, {"warnings", warnings_}};
        whole.update(report_);
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        whole["run"].update(nlohmann::ordered_json{{"version", version_text}, {"seconds", seconds}, {"peak_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024}});
        publish_text(report_path_, whole.dump(2) + "\n");
    }
}

int Tool::run(int argc, char** argv, const std::function<void()>& body) {
    const auto start = std::chrono::steady_clock::now();
    const auto complain = [&](ExitStatus status, const std::string& text) {
        fmt::print(stderr, "{}: error: {}\n", name_, text);
        return static_cast<int>(status);
    };
    try {
        app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            app_.exit(error, std::cout, std::cerr);
            return std::fflush(stdout) == 0 ? 0 : static_cast<int>(ExitStatus::system);
        }
        fmt::print(stderr, "{}: error: {}\nTry '{} --help'.\n", name_, error.what(), name_);
        return static_cast<int>(ExitStatus::usage);
    }
    int status = 0;
    try {
        body();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        write_side_files(elapsed.count());
    } catch (const Failure& failure) {
        status = complain(failure.status(), failure.what());
    } catch (const std::bad_alloc&) {
        status = complain(ExitStatus::system, "out of memory");
    } catch (const std::exception& error) {
        status = complain(ExitStatus::bug, fmt::format("unexpected: {}", error.what()));
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) status = complain(ExitStatus::system, "standard output: cannot write");
    return status;
}

}  // namespace weft
