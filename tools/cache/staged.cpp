#include "cache/staged.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "artifact/file.h"
#include "base/failure.h"
#include "cache/place.h"

namespace weft::cache {
namespace {

/// Regular files below `folder`, by relative name.
std::vector<std::string> names_below(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    if (!fs::is_directory(folder, error)) return names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
    }
    std::ranges::sort(names);
    return names;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size())) text.replace(place, from.size(), to);
}

}  // namespace

StagedRun::StagedRun(const Action& action, const fs::path& folder) : action_(action), folder_(fs::absolute(folder)) {
    const auto add = [&](const std::vector<std::string>& places, std::string_view slot, char letter) {
        for (std::size_t i = 0; i < places.size(); ++i) {
            fs::path place = fs::path(places[i]);
            if (!place.has_filename()) place = place.parent_path();
            const fs::path parent = folder_ / fmt::format("{}{}", letter, i);
            make_folders(parent);
            slots_.push_back({fmt::format("{} {}", slot, i), places[i], parent / place.filename()});
        }
    };
    add(action.outputs, "output", 'o');
    add(action.optional_outputs, "optional", 'p');
    add(action.folders, "folder", 'f');
    add(action.blobs, "blobs", 'b');
    add(action.logs, "log", 'l');
    if (action.depfile.empty()) return;
    make_folders(folder_ / "d");
    depfile_ = folder_ / "d" / "dependencies";
}

std::string StagedRun::staged_argument(const std::string& argument) const {
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const std::string option = equals == std::string::npos ? "" : argument.substr(0, equals + 1);
    const std::string value = argument.substr(option.size());
    if (!action_.depfile.empty() && value == action_.depfile) return option + depfile_.string();
    const auto slot = std::ranges::find(slots_, value, &Slot::place);
    return slot == slots_.end() ? argument : option + slot->staged.string();
}

ChildResult StagedRun::run(const std::vector<std::string>& launcher, const std::vector<std::string>& extra, const Surroundings& surroundings) const {
    std::vector<std::string> command = launcher;
    command.push_back(action_.command.front());
    for (std::size_t i = 1; i < action_.command.size(); ++i) command.push_back(staged_argument(action_.command[i]));
    command.insert(command.end(), extra.begin(), extra.end());
    return run_child(command, surroundings);
}

std::vector<StagedRun::File> StagedRun::files(int status) const {
    std::vector<File> result;
    for (const auto& slot : slots_) {
        std::error_code error;
        if (slot.name.starts_with("output") || slot.name.starts_with("optional") || slot.name.starts_with("log")) {
            if (fs::is_regular_file(slot.staged, error)) result.push_back({slot.name, "", slot.staged});
            else if (slot.name.starts_with("output") && status == 0) refuse("{} ended well but did not write {}", action_.command.front(), slot.place);
            continue;
        }
        for (const auto& name : names_below(slot.staged)) result.push_back({slot.name, name, slot.staged / name});
    }
    const fs::path beside = folder_ / "o0";
    for (std::size_t i = 0; i < action_.patterns.size(); ++i) {
        for (const auto& name : matching_names(beside, fs::path(action_.patterns[i]).filename().string())) {
            result.push_back({fmt::format("pattern {}", i), name, beside / name});
        }
    }
    return result;
}

std::vector<std::string> StagedRun::dependencies() const {
    std::error_code error;
    if (depfile_.empty() || !fs::is_regular_file(depfile_, error)) return {};
    std::set<std::string> declared;
    for (const auto& input : action_.inputs) declared.insert(portable_path(action_, input));
    std::set<std::string> found;
    for (const auto& path : parse_depfile(read_text(depfile_))) {
        const std::string portable = portable_path(action_, path);
        if (!declared.contains(portable)) found.insert(portable);
    }
    return {found.begin(), found.end()};
}

std::string StagedRun::with_places(std::string text) const {
    for (const auto& slot : slots_) replace_all(text, slot.staged.string(), slot.place);
    // Files that a command names itself, beside its first output.
    const std::string beside = action_.outputs.empty() ? "" : fs::path(action_.outputs.front()).parent_path().string();
    replace_all(text, (folder_ / "o0").string() + "/", beside.empty() ? "" : beside + "/");
    return text;
}

}  // namespace weft::cache
