#pragma once

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../artifact/scratch.h"
#include "artifact/file.h"
#include "cache/maintain.h"
#include "cache/run.h"

namespace weft::test {

namespace fs = std::filesystem;

/// A scratch folder with a store and shell scripts as commands. Every script appends a line to `runs` when it runs.
class Workbench {
public:
    Workbench() { fs::create_directories(path()); }

    [[nodiscard]] fs::path path() const { return scratch_.path / "a folder"; }
    [[nodiscard]] fs::path file(const std::string& name) const { return path() / name; }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories(file(name).parent_path());
        std::ofstream(file(name), std::ios::binary) << text;
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream stream(file(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    /// A script with $1, $2, ... as its arguments.
    std::string script(const std::string& name, const std::string& body) const {
        write(name, "#!/bin/sh\nset -eu\necho run >> '" + file("runs").string() + "'\n" + body + "\n");
        fs::permissions(file(name), fs::perms::owner_all);
        return file(name).string();
    }
    [[nodiscard]] std::size_t runs() const {
        const std::string text = read("runs");
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    [[nodiscard]] cache::Store store(bool read_only = false) const { return {file("store"), std::nullopt, read_only}; }

    /// script IN OUT
    [[nodiscard]] cache::Action action(const std::string& program, const std::string& input = "in", const std::string& output = "out") const {
        cache::Action action;
        action.command = {program, file(input).string(), file(output).string()};
        action.inputs = {file(input).string()};
        action.outputs = {file(output).string()};
        return action;
    }

    int run(const cache::Action& action, cache::RunOptions options = {}) {
        cache::Store opened = store();
        return run(opened, action, std::move(options));
    }
    int run(cache::Store& opened, const cache::Action& action, cache::RunOptions options = {}) {
        options.warn = [&](const std::string& text) { warnings.push_back(text); };
        return cache::run_action(opened, action, options);
    }

    /// Files of the store below `folder`.
    [[nodiscard]] std::vector<fs::path> stored(const std::string& folder) const {
        std::vector<fs::path> files;
        store().for_each_file(folder, [&](const fs::path& one) { files.push_back(one); });
        return files;
    }
    [[nodiscard]] bool nothing_left_over() const { return !fs::exists(file("store/tmp")) || fs::is_empty(file("store/tmp")); }

    /// Changes one bit, as a failing disk would.
    static void flip_bit(const fs::path& path, std::size_t byte, unsigned bit) {
        std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(byte));
        const char old = static_cast<char>(stream.get());
        stream.seekp(static_cast<std::streamoff>(byte));
        stream.put(static_cast<char>(old ^ static_cast<char>(1U << bit)));
    }

    std::vector<std::string> warnings;

private:
    ScratchFolder scratch_;
};

}  // namespace weft::test
