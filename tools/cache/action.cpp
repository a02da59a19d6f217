#include "cache/action.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cache/identity.h"

namespace weft::cache {
namespace {

constexpr std::string_view key_version = "1";

/// "--max-depth=3" as option and value; the whole argument is the value where it is no such option.
struct Argument {
    std::string option;
    std::string value;
};

Argument split_argument(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (!text.starts_with("--") || equals == std::string::npos) return {"", text};
    return {text.substr(0, equals + 1), text.substr(equals + 1)};
}

/// "{output 1}" for the argument that is the second output; nothing where it is none of `paths`.
std::optional<std::string> placeholder(const std::string& value, const std::vector<std::string>& paths, std::string_view name) {
    const auto found = std::ranges::find(paths, value);
    if (found == paths.end()) return std::nullopt;
    return fmt::format("{{{} {}}}", name, found - paths.begin());
}

/// An argument as the key has it: files by their slots, other existing files by their contents.
std::string normalised(const Store& store, const Action& action, const std::string& argument) {
    const Argument parts = split_argument(argument);
    const std::pair<const std::vector<std::string>&, std::string_view> slots[] = {
        {action.inputs, "input"}, {action.outputs, "output"}, {action.optional_outputs, "optional"}, {action.folders, "folder"}, {action.blobs, "blobs"}, {action.logs, "log"}};
    for (const auto& [paths, name] : slots) {
        if (auto slot = placeholder(parts.value, paths, name)) return parts.option + *slot;
    }
    if (!action.depfile.empty() && parts.value == action.depfile) return parts.option + "{dependencies}";
    std::error_code error;
    if (!parts.value.empty() && fs::is_regular_file(parts.value, error)) {
        const Content content = store.hash_input(parts.value);
        return fmt::format("{}{{file {} {}}}", parts.option, content.hash, content.size);
    }
    return argument;
}

bool is_ignored(const Action& action, const std::string& argument, bool& takes_next) {
    for (const auto& option : action.ignored_options) {
        takes_next = argument == option;
        if (takes_next || argument.starts_with(option + "=")) return true;
        // "-j8"
        if (option.size() == 2 && option[0] == '-' && option[1] != '-' && argument.starts_with(option)) return true;
    }
    return false;
}

std::string content_text(const Content& content) { return fmt::format("{} {}", content.hash, content.size); }

}  // namespace

std::vector<KeyPart> key_parts(const Store& store, const Action& action) {
    std::vector<KeyPart> parts = {{"format", std::string(key_version)}};
    const std::string program = find_program(action.command.front());
    parts.emplace_back("program", fs::path(program).filename().string() + " " + program_identity(store.algorithm(), program));
    std::size_t number = 0;
    for (std::size_t i = 1; i < action.command.size(); ++i) {
        bool takes_next = false;
        if (is_ignored(action, action.command[i], takes_next)) {
            i += takes_next ? 1U : 0U;
            continue;
        }
        parts.emplace_back(fmt::format("argument {}", ++number), normalised(store, action, action.command[i]));
    }
    for (std::size_t i = 0; i < action.inputs.size(); ++i) parts.emplace_back(fmt::format("input {}", i), content_text(store.hash_input(action.inputs[i])));
    for (const auto& pattern : action.patterns) parts.emplace_back("pattern", fs::path(pattern).filename().string());
    for (const auto& name : action.environment) {
        const char* value = std::getenv(name.c_str());
        parts.emplace_back("environment " + name, value == nullptr ? "(not set)" : fmt::format("'{}'", value));
    }
    for (const auto& text : action.salt) parts.emplace_back("key", text);
    return parts;
}

std::string key_of(const Store& store, const std::vector<KeyPart>& parts) {
    std::string text;
    for (const auto& [name, value] : parts) text += fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value);
    return digest(store.algorithm(), text);
}

std::string portable_path(const Action& action, const std::string& path) {
    if (action.inputs.empty()) return fs::absolute(path).string();
    const fs::path base = fs::absolute(action.inputs.front()).lexically_normal().parent_path();
    const fs::path whole = fs::absolute(path).lexically_normal();
    const fs::path relative = whole.lexically_relative(base);
    return relative.empty() || *relative.begin() == ".." ? whole.string() : relative.string();
}

std::string local_path(const Action& action, const std::string& portable) {
    if (action.inputs.empty() || portable.starts_with('/')) return portable;
    return (fs::path(action.inputs.front()).parent_path() / portable).string();
}

std::optional<std::vector<KeyPart>> dependency_parts(const Store& store, const Action& action, const std::vector<std::string>& portable) {
    std::vector<KeyPart> parts;
    for (const auto& path : portable) {
        const std::string local = local_path(action, path);
        std::error_code error;
        if (!fs::is_regular_file(local, error)) return std::nullopt;
        parts.emplace_back("found input " + path, content_text(store.hash_input(local)));
    }
    return parts;
}

std::vector<std::string> parse_depfile(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool after_colon = false;
    const auto finish = [&] {
        if (!word.empty() && after_colon) words.push_back(word);
        word.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const char next = i + 1 < text.size() ? text[i + 1] : '\0';
        if (c == '\\' && next == '\n') {
            finish();
            ++i;
        } else if (c == '\\' && (next == ' ' || next == '#')) {
            word += next;
            ++i;
        } else if (c == '$' && next == '$') {
            word += '$';
            ++i;
        } else if (c == ':' && !after_colon && (next == ' ' || next == '\n' || next == '\0')) {
            word.clear();
            after_colon = true;
        } else if (c == ' ' || c == '\t') {
            finish();
        } else if (c == '\n') {
            finish();
            if (after_colon) return words;
        } else {
            word += c;
        }
    }
    finish();
    return words;
}

}  // namespace weft::cache
