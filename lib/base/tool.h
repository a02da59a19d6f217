#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

#include "base/failure.h"

namespace weft {

/// A path as a Makefile writes it: a space or a hash escaped by a backslash, a dollar doubled.
[[nodiscard]] std::string make_escaped(const std::string& path);

/// The command line that every weft program has in common: --help (standard output, status 0), --version, --report,
/// --depfile, exit statuses, messages as "weft-lower: error: ...", delayed write errors on standard output caught.
class Tool {
public:
    /// `name` without "weft-"; `examples` is printed at the end of --help.
    Tool(std::string name, std::string description, std::string examples);

    [[nodiscard]] CLI::App& app() { return app_; }

    /// Adds -o/--output OUTPUT (required unless said otherwise).
    void add_output(std::string& path, const std::string& what, bool required = true);
    /// Adds -j/--threads; results never depend on it.
    void add_threads(unsigned& threads);

    /// Parses, runs `body`, and maps failures to exit statuses.
    int run(int argc, char** argv, const std::function<void()>& body);

    /// A warning on standard error; also listed in the report.
    void warn(const std::string& text);
    /// Deterministic facts for --report FILE; run() adds "tool", "inputs", "outputs", "warnings" and the volatile "run" (to which `body` may have added figures).
    [[nodiscard]] nlohmann::ordered_json& report() { return report_; }
    /// Name a file read or written, for --depfile and --report.
    void note_input(const std::string& path) { inputs_.push_back(path); }
    void note_output(const std::string& path) { outputs_.push_back(path); }

private:
    void write_side_files(double seconds);

    std::string name_;
    CLI::App app_;
    std::string report_path_;
    std::string depfile_path_;
    nlohmann::ordered_json report_ = nlohmann::ordered_json::object();
    std::vector<std::string> inputs_;
    std::vector<std::string> outputs_;
    std::vector<std::string> warnings_;
};

}  // namespace weft
