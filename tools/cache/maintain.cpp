#include "cache/maintain.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "artifact/file.h"
#include "base/failure.h"
#include "cache/identity.h"
#include "cache/place.h"

namespace weft::cache {
namespace {

constexpr double seconds_per_day = 86400;

double age_days(const fs::path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return 0;
    return std::difftime(std::time(nullptr), status.st_mtim.tv_sec) / seconds_per_day;
}

bool is_list(const fs::path& action) { return action.parent_path().extension() == ".deps"; }

fs::path folder_of(const Store& store, std::string_view name) { return fs::path(name) / algorithm_tag(store.algorithm()); }

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Objects that links below a registered folder point at.
void mark_links(const Store& store, const fs::path& folder, std::set<std::string>& marked) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path() == store.root()) entry.disable_recursion_pending();
        if (const auto hash = store.object_of_link(entry->path())) marked.insert(*hash);
    }
}

std::set<std::string> marked_objects(const Store& store, const GcOptions& options, GcReport& report, std::vector<fs::path>& unused_actions) {
    std::set<std::string> marked;
    store.for_each_file("roots", [&](const fs::path& root) {
        for (const auto& line : lines_of(root)) {
            if (line.starts_with("object ")) marked.insert(line.substr(7));
            if (!line.starts_with("folder ")) continue;
            const std::string folder = line.substr(7);
            std::error_code error;
            if (fs::is_directory(folder, error)) mark_links(store, folder, marked);
            else report.lost_roots.push_back(folder);
        }
    });
    store.for_each_file(folder_of(store, "actions"), [&](const fs::path& path) {
        if (is_list(path)) return;
        const auto text = store.read_checked(path);
        const auto record = text ? parse_record(*text) : std::nullopt;
        if (!record || age_days(path) > options.keep_days) {
            unused_actions.push_back(path);
            return;
        }
        for (const auto& content : contents_of(*record)) marked.insert(content.hash);
    });
    return marked;
}

/// Files below `folder` that are older than the grace time go for good.
void empty_folder(const Store& store, const fs::path& folder, const GcOptions& options, GcReport& report) {
    store.for_each_file(folder, [&](const fs::path& file) {
        if (age_days(file) <= options.grace_days) return;
        ++report.emptied;
        std::error_code error;
        if (options.really) fs::remove(file, error);
    });
    if (!options.really || folder != "tmp") return;
    // What killed writers left; a folder with files in it is younger than the grace time.
    std::error_code error;
    for (fs::directory_iterator entry(store.root() / folder, error), end; !error && entry != end; entry.increment(error)) {
        if (age_days(entry->path()) > options.grace_days) fs::remove(entry->path(), error);
    }
}

void throw_away(const Store& store, const fs::path& path, bool really) {
    if (!really) return;
    make_folders(store.root() / "trash");
    std::error_code error;
    // The time in trash/ counts from now; nothing links to an object any more whose time could matter to make.
    const fs::path place = store.root() / "trash" / path.filename();
    fs::rename(path, place, error);
    if (!error) fs::last_write_time(place, fs::file_time_type::clock::now(), error);
}

}  // namespace

StoreFigures store_figures(const Store& store) {
    StoreFigures figures;
    const auto size = [](const fs::path& path) {
        std::error_code error;
        const auto bytes = fs::file_size(path, error);
        return error ? 0 : bytes;
    };
    store.for_each_file(folder_of(store, "objects"), [&](const fs::path& path) {
        ++figures.objects;
        figures.object_bytes += size(path);
    });
    store.for_each_file(folder_of(store, "actions"), [&](const fs::path& path) { figures.actions += is_list(path) ? 0 : 1; });
    store.for_each_file("roots", [&](const fs::path&) { ++figures.roots; });
    store.for_each_file("quarantine", [&](const fs::path&) { ++figures.quarantined; });
    store.for_each_file("trash", [&](const fs::path& path) { figures.trash_bytes += size(path); });
    store.for_each_file("log", [&](const fs::path& path) {
        for (const auto& line : lines_of(path)) {
            std::istringstream fields(line);
            std::string time, what, program, key;
            double seconds = 0;
            if (!(fields >> time >> what >> program >> key >> seconds)) continue;
            (what == "made" ? figures.made : figures.reused) += 1;
            (what == "made" ? figures.made_seconds : figures.reused_seconds) += seconds;
        }
    });
    return figures;
}

std::string figures_text(const Store& store, const StoreFigures& figures) {
    std::string text = fmt::format("store\t{}\nhash\t{}\nobjects\t{}\nobject_bytes\t{}\nactions\t{}\nroots\t{}\nquarantined\t{}\ntrash_bytes\t{}\n",
                                   store.root().string(), algorithm_tag(store.algorithm()), figures.objects, figures.object_bytes, figures.actions,
                                   figures.roots, figures.quarantined, figures.trash_bytes);
    return text + fmt::format("made\t{}\nmade_seconds\t{:.3f}\nreused\t{}\nreused_seconds\t{:.3f}\n", figures.made, figures.made_seconds, figures.reused,
                              figures.reused_seconds);
}

void add_root(const Store& store, const std::string& folder) {
    if (store.read_only()) return;
    const std::string path = fs::absolute(folder).lexically_normal().string();
    const fs::path root = store.root() / "roots" / digest(store.algorithm(), path);
    std::error_code error;
    if (fs::exists(root, error)) return;
    make_folders(root.parent_path());
    publish_text(root, fmt::format("folder {}\n", path));
}

GcReport collect_garbage(const Store& store, const GcOptions& options) {
    if (options.really && store.read_only()) throw Failure(ExitStatus::usage, "--read-only and --really contradict each other");
    GcReport report;
    std::vector<fs::path> unused_actions;
    const auto marked = marked_objects(store, options, report, unused_actions);
    // Records first: a record never names an object that is gone.
    for (const auto& path : unused_actions) {
        if (age_days(path) <= options.grace_days) continue;
        ++report.actions;
        throw_away(store, path, options.really);
    }
    store.for_each_file(folder_of(store, "objects"), [&](const fs::path& path) {
        if (marked.contains(path.filename().string()) || age_days(path) <= options.grace_days) {
            ++report.kept_objects;
            return;
        }
        std::error_code error;
        ++report.objects;
        report.bytes += fs::file_size(path, error);
        throw_away(store, path, options.really);
    });
    for (const char* folder : {"trash", "tmp", "inputs", "locks"}) empty_folder(store, folder, options, report);
    return report;
}

FsckReport check_store(const Store& store) {
    FsckReport report;
    store.for_each_file(folder_of(store, "objects"), [&](const fs::path& path) {
        ++report.objects;
        const std::string hash = digest_file(store.algorithm(), path);
        if (hash == path.filename()) return;
        report.problems.push_back(fmt::format("{}: contents have the hash {}", path.string(), hash));
        store.quarantine(path);
    });
    store.for_each_file(folder_of(store, "actions"), [&](const fs::path& path) {
        report.actions += is_list(path) ? 0 : 1;
        const auto text = store.read_checked(path);
        if (!text) {
            report.problems.push_back(fmt::format("{}: damaged", path.string()));
            store.quarantine(path);
            return;
        }
        if (is_list(path)) return;
        const auto record = parse_record(*text);
        std::string problem;
        if (!record) problem = "not a record of this version";
        else if (key_of(store, record->key) != path.filename()) problem = "its key is another one";
        else {
            for (const auto& content : contents_of(*record)) {
                const auto state = store.check_object(content, false);
                if (state != Store::State::good) problem = fmt::format("object {} is {}", content.hash, state == Store::State::missing ? "missing" : "damaged");
            }
        }
        if (problem.empty()) return;
        report.problems.push_back(fmt::format("{}: {}", path.string(), problem));
        store.quarantine(path);
    });
    return report;
}

namespace {

/// Parts that differ, in the order of the asked key.
std::vector<std::string> part_differences(const std::vector<KeyPart>& asked, const std::vector<KeyPart>& stored) {
    std::vector<std::string> lines;
    const auto find = [](const std::vector<KeyPart>& parts, const std::string& name) { return std::ranges::find(parts, name, &KeyPart::first); };
    for (const auto& [name, value] : asked) {
        const auto other = find(stored, name);
        if (other == stored.end()) lines.push_back(fmt::format("{}: new: {}", name, value));
        else if (other->second != value) lines.push_back(fmt::format("{}: {}\n    stored: {}", name, value, other->second));
    }
    for (const auto& [name, value] : stored) {
        if (find(asked, name) == asked.end() && !name.starts_with("found input")) lines.push_back(fmt::format("{}: gone; stored: {}", name, value));
    }
    return lines;
}

std::string name_of_part(const Action& action, const std::string& line) {
    std::size_t number = 0;
    if (!line.starts_with("input ")) return line;
    const auto [end, error] = std::from_chars(line.data() + 6, line.data() + line.size(), number);
    if (error != std::errc{} || number >= action.inputs.size()) return line;
    return fmt::format("{} ({}){}", line.substr(0, static_cast<std::size_t>(end - line.data())), action.inputs[number], line.substr(static_cast<std::size_t>(end - line.data())));
}

}  // namespace

std::string explain_miss(const Store& store, const Action& action) {
    const Lookup lookup = look_up(store, action);
    if (lookup.record) {
        for (const auto& content : contents_of(*lookup.record)) {
            if (store.check_object(content, true) != Store::State::good) return fmt::format("stored, but the object {} is missing or damaged\n", content.hash);
        }
        return fmt::format("stored: {}\n", lookup.key);
    }
    const std::string program = fs::path(find_program(action.command.front())).filename().string();
    std::vector<std::string> fewest;
    std::string nearest;
    std::size_t seen = 0;
    store.for_each_file(folder_of(store, "actions"), [&](const fs::path& path) {
        if (is_list(path)) return;
        const auto text = store.read_checked(path);
        const auto record = text ? parse_record(*text) : std::nullopt;
        if (!record || record->key.size() < 2 || !record->key[1].second.starts_with(program + " ")) return;
        ++seen;
        const auto differences = part_differences(lookup.parts, record->key);
        if (!nearest.empty() && differences.size() >= fewest.size()) return;
        fewest = differences;
        nearest = fmt::format("{} (made {} on {})", path.filename().string(), record->provenance.time, record->provenance.host);
    });
    if (nearest.empty()) return fmt::format("not stored: {} never ran with this store\n", program);
    std::string text = fmt::format("not stored. Of {} results of {}, the nearest is {}; it differs in:\n", seen, program, nearest);
    if (fewest.empty()) text += "  the files that it found while running (dependencies)\n";
    for (const auto& line : fewest) text += "  " + name_of_part(action, line) + "\n";
    return text;
}

}  // namespace weft::cache
