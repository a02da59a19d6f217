#include "cache/record.h"

#include <sys/stat.h>
#include <fcntl.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "artifact/file.h"

namespace weft::cache {
namespace {

using Json = nlohmann::ordered_json;

// Records that are looked up again within this time are not marked as used again.
constexpr std::time_t use_mark_seconds = 3600;

Json content_json(const Content& content) { return {{"hash", content.hash}, {"size", content.size}}; }

/// Only digests may become parts of paths.
bool is_digest_or_empty(const std::string& hash) {
    return hash.empty() || ((hash.size() == 32 || hash.size() == 64) && hash.find_first_not_of("0123456789abcdef") == std::string::npos);
}

/// A whole number that the type holds: the library converts 1e300 as well, which C++ leaves undefined.
template <class Integer>
Integer integer_from(const Json& json) {
    if (json.is_number_unsigned() ? !std::in_range<Integer>(json.get<std::uint64_t>()) : !json.is_number_integer() || !std::in_range<Integer>(json.get<std::int64_t>())) {
        throw Json::other_error::create(501, "no whole number of this range", nullptr);
    }
    return json.get<Integer>();
}

Content content_from(const Json& json) {
    Content content{json.at("hash").get<std::string>(), integer_from<std::uint64_t>(json.at("size"))};
    if (!is_digest_or_empty(content.hash)) throw Json::other_error::create(501, "no digest", nullptr);
    return content;
}

std::vector<std::string> parse_list(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

fs::path lists_of(const Store& store, const std::string& key) { return store.action_path(key).string() + ".deps"; }

/// gc keeps what was used lately. Only records are touched: make looks at the times of objects.
void mark_used(const Store& store, const fs::path& path) {
    struct stat status {};
    if (store.read_only() || ::stat(path.c_str(), &status) != 0 || ::time(nullptr) - status.st_mtim.tv_sec < use_mark_seconds) return;
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

}  // namespace

std::string record_json(const Record& record) {
    Json json = {{"format", 1}, {"status", record.status}};
    auto& key = json["key"] = Json::array();
    for (const auto& [name, value] : record.key) key.push_back({name, value});
    auto& files = json["files"] = Json::array();
    for (const auto& file : record.files) {
        files.push_back({{"slot", file.slot}, {"name", file.name}, {"hash", file.content.hash}, {"size", file.content.size}});
    }
    json["dependencies"] = record.dependencies;
    json["standard_output"] = content_json(record.standard_output);
    json["standard_error"] = content_json(record.standard_error);
    json["provenance"] = {{"command", record.provenance.command}, {"version", record.provenance.version}, {"host", record.provenance.host},
                          {"time", record.provenance.time},       {"seconds", record.provenance.seconds}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Record> parse_record(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        if (json.at("format") != 1) return std::nullopt;
        Record record;
        record.status = integer_from<int>(json.at("status"));
        for (const auto& part : json.at("key")) record.key.emplace_back(part.at(0), part.at(1));
        for (const auto& file : json.at("files")) record.files.push_back({file.at("slot"), file.at("name"), content_from(file)});
        record.dependencies = json.at("dependencies").get<std::vector<std::string>>();
        record.standard_output = content_from(json.at("standard_output"));
        record.standard_error = content_from(json.at("standard_error"));
        const auto& provenance = json.at("provenance");
        record.provenance = {provenance.at("command").get<std::vector<std::string>>(), provenance.at("version"), provenance.at("host"),
                             provenance.at("time"), provenance.at("seconds")};
        return record;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

std::optional<Record> load_record(const Store& store, const std::string& key) {
    const fs::path path = store.action_path(key);
    const auto text = store.read_checked(path);
    if (!text) return std::nullopt;
    auto record = parse_record(*text);
    if (record) mark_used(store, path);
    return record;
}

std::vector<Content> contents_of(const Record& record) {
    std::vector<Content> contents;
    for (const auto& file : record.files) contents.push_back(file.content);
    for (const Content& text : {record.standard_output, record.standard_error}) {
        if (!text.hash.empty()) contents.push_back(text);
    }
    return contents;
}

Lookup look_up(const Store& store, const Action& action) {
    Lookup result;
    result.parts = key_parts(store, action);
    result.key = key_of(store, result.parts);
    if (action.depfile.empty()) {
        result.record = load_record(store, result.key);
        return result;
    }
    store.for_each_file(fs::relative(lists_of(store, result.key), store.root()), [&](const fs::path& list) {
        if (result.record) return;
        const auto text = store.read_checked(list);
        const auto found = text ? dependency_parts(store, action, parse_list(*text)) : std::nullopt;
        if (!found) return;
        auto parts = result.parts;
        parts.insert(parts.end(), found->begin(), found->end());
        const std::string key = key_of(store, parts);
        result.record = load_record(store, key);
        if (result.record) result.key = key;
    });
    return result;
}

std::string save_record(const Store& store, const Action& action, const std::vector<KeyPart>& parts, Record record) {
    record.key = parts;
    std::string key = key_of(store, parts);
    if (!action.depfile.empty()) {
        std::string list;
        for (const auto& path : record.dependencies) list += path + "\n";
        const fs::path place = lists_of(store, key) / digest(store.algorithm(), list);
        const auto found = dependency_parts(store, action, record.dependencies);
        if (!found) return key;   // an input vanished meanwhile: nothing can be said about this result
        record.key.insert(record.key.end(), found->begin(), found->end());
        key = key_of(store, record.key);
        if (!store.read_checked(place)) store.publish_checked(place, list);
    }
    store.publish_checked(store.action_path(key), record_json(record));
    return key;
}

}  // namespace weft::cache
