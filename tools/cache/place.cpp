#include "cache/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <set>

#include "artifact/file.h"
#include "base/failure.h"

namespace weft::cache {
namespace {

/// "pattern 2" as name and number.
std::pair<std::string_view, std::size_t> split_slot(const std::string& slot) {
    const std::size_t space = slot.find(' ');
    std::size_t number = 0;
    if (space != std::string::npos) std::from_chars(slot.data() + space + 1, slot.data() + slot.size(), number);
    return {std::string_view(slot).substr(0, space), number};
}

const std::vector<std::string>& paths_of(const Action& action, std::string_view slot) {
    if (slot == "output") return action.outputs;
    if (slot == "optional") return action.optional_outputs;
    if (slot == "pattern") return action.patterns;
    if (slot == "folder") return action.folders;
    if (slot == "blobs") return action.blobs;
    return action.logs;
}

/// The texts of links in one folder to objects of a store.
class LinkTexts {
public:
    LinkTexts(const Store& store, const fs::path& folder) : store_(store) {
        if (store.root().is_relative()) prefix_ = fs::absolute(store.root()).lexically_normal().lexically_relative(fs::absolute(folder / ".").lexically_normal());
    }
    [[nodiscard]] std::string text(const std::string& hash) const {
        const fs::path object = store_.object_path(hash);
        return prefix_.empty() ? object.string() : (prefix_ / object.lexically_relative(store_.root())).string();
    }

private:
    const Store& store_;
    fs::path prefix_;
};

std::string read_link(const fs::path& place) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlink(place.c_str(), text.data(), text.size());
    return size < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string temporary_name(const fs::path& place) { return fmt::format("{}.{}.part", place.string(), ::getpid()); }

void rename_into(const std::string& temporary, const fs::path& place) {
    if (::rename(temporary.c_str(), place.c_str()) == 0) return;
    const int code = errno;
    ::unlink(temporary.c_str());
    system_failure("{}: cannot put in place: {}", place.string(), std::strerror(code));
}

void place_link(const fs::path& place, const std::string& text) {
    if (::symlink(text.c_str(), place.c_str()) == 0) return;   // nothing was there
    if (errno != EEXIST) system_failure("{}: cannot create: {}", place.string(), std::strerror(errno));
    if (read_link(place) == text) return;
    const std::string temporary = temporary_name(place);
    ::unlink(temporary.c_str());
    if (::symlink(text.c_str(), temporary.c_str()) != 0) system_failure("{}: cannot create: {}", place.string(), std::strerror(errno));
    rename_into(temporary, place);
}

void place_copy(const Store& store, const fs::path& place, const Content& content) {
    const MappedFile object(store.object_path(content.hash));
    std::error_code error;
    if (!fs::is_symlink(place, error) && fs::is_regular_file(place, error) && fs::file_size(place, error) == content.size) {
        const MappedFile present(place);
        if (std::ranges::equal(present.bytes(), object.bytes())) return;
    }
    publish_file(place, object.bytes());
}

void place_one(const Store& store, const fs::path& place, const Content& content, Placement placement) {
    if (placement == Placement::link) place_link(place, LinkTexts(store, place.parent_path()).text(content.hash));
    else place_copy(store, place, content);
}

/// True where the folder holds just these links.
bool same_folder(const fs::path& folder, const std::vector<const StoredFile*>& files, const std::vector<std::string>& texts) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return false;
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_symlink() || !entry.is_directory() ? 1U : 0U;
    if (count != files.size()) return false;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (read_link(folder / files[i]->name) != texts[i]) return false;
    }
    return true;
}

void place_folder(const Store& store, const fs::path& folder, const std::vector<const StoredFile*>& files, Placement placement) {
    std::vector<std::string> texts;
    if (placement == Placement::link) {
        const LinkTexts links(store, folder);
        for (const StoredFile* file : files) {
            const fs::path below = fs::path(file->name).parent_path();
            texts.push_back(below.empty() ? links.text(file->content.hash) : LinkTexts(store, folder / below).text(file->content.hash));
        }
        if (same_folder(folder, files, texts)) return;
    }
    StagingFolder staging(fs::absolute(folder).parent_path());
    const fs::path fresh = staging.path() / folder.filename();
    make_folders(fresh);
    for (std::size_t i = 0; i < files.size(); ++i) {
        const fs::path place = fresh / files[i]->name;
        if (place.parent_path() != fresh) make_folders(place.parent_path());
        if (placement == Placement::link) place_link(place, texts[i]);
        else place_copy(store, place, files[i]->content);
    }
    exchange_folder(fresh, folder);
}

}  // namespace

fs::path place_of(const Action& action, const StoredFile& file) {
    const auto [slot, number] = split_slot(file.slot);
    const auto& paths = paths_of(action, slot);
    const fs::path name(file.name);
    if (name.is_absolute() || std::ranges::find(name, fs::path("..")) != name.end()) {
        bad_input("a record names the file '{}', which is outside its folder; do not use this store", file.name);
    }
    if (number >= paths.size()) bad_input("a record names slot '{}', which this command does not have; run weft-cache fsck", file.slot);
    if (slot == "pattern") return fs::path(paths[number]).parent_path() / file.name;
    return file.name.empty() ? fs::path(paths[number]) : fs::path(paths[number]) / file.name;
}

void exchange_folder(const fs::path& fresh, const fs::path& place) {
    if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return;
    std::error_code error;
    if (errno == EINVAL) fs::remove_all(place, error);   // a file system without exchange
    if (::rename(fresh.c_str(), place.c_str()) != 0) system_failure("{}: cannot put in place: {}", place.string(), std::strerror(errno));
}

void write_if_changed(const fs::path& path, const std::string& text) {
    std::error_code error;
    if (fs::is_regular_file(path, error) && read_text(path) == text) return;
    const std::array<std::span<const std::byte>, 1> parts = {std::as_bytes(std::span(text.data(), text.size()))};
    publish_parts(path, parts, false);
}

std::vector<std::string> matching_names(const fs::path& folder, const std::string& pattern) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end; entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
}

void place_results(const Store& store, const Action& action, const Record& record, Placement placement) {
    std::set<fs::path> placed;
    std::vector<std::vector<const StoredFile*>> folders(action.folders.size());
    std::vector<LinkTexts> blob_links;
    for (const auto& folder : action.blobs) {
        make_folders(folder);
        blob_links.emplace_back(store, folder);
    }
    for (const auto& file : record.files) {
        const fs::path place = place_of(action, file);
        const auto [slot, number] = split_slot(file.slot);
        if (slot == "folder") {
            folders[number].push_back(&file);
            continue;
        }
        if (slot != "blobs" && place.has_parent_path()) make_folders(place.parent_path());
        if (slot == "blobs" && placement == Placement::link) place_link(place, blob_links[number].text(file.content.hash));
        else place_one(store, place, file.content, placement);
        placed.insert(place);
    }
    for (std::size_t i = 0; i < folders.size(); ++i) {
        if (record.status == 0 || !folders[i].empty()) place_folder(store, action.folders[i], folders[i], placement);
    }
    std::error_code error;
    for (const auto* outputs : {&action.outputs, &action.optional_outputs}) {
        for (const auto& output : *outputs) {
            if (!placed.contains(output)) fs::remove(output, error);
        }
    }
    for (const auto& pattern : action.patterns) {
        const fs::path path(pattern);
        for (const auto& name : matching_names(path.parent_path(), path.filename().string())) {
            if (!placed.contains(path.parent_path() / name)) fs::remove(path.parent_path() / name, error);
        }
    }
    if (!action.has_refusal()) return;
    if (record.status == 0) fs::remove(action.refusal, error);
    else place_one(store, action.refusal, record.standard_error, placement);
}

}  // namespace weft::cache
