#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/action.h"

namespace weft::cache {

/// One stored result: `name` is its path relative to the slot's folder ("net-0.sched" of a pattern, "config.json" of a folder) or empty.
struct StoredFile {
    std::string slot;        ///< "output 0", "pattern 0", "folder 0", "blobs 0", "log 0"
    std::string name;
    Content content;
};

/// Where a result came from; nothing of it enters keys or contents.
struct Provenance {
    std::vector<std::string> command;
    std::string version;     ///< of the program, from its report
    std::string host;
    std::string time;        ///< UTC, ISO 8601
    double seconds = 0;
};

/// What a command made: the file actions/.../<key>, JSON.
struct Record {
    std::vector<KeyPart> key;                  ///< the parts of the key, for explanations
    int status = 0;
    std::vector<StoredFile> files;
    std::vector<std::string> dependencies;     ///< inputs that it found while running, portable paths
    Content standard_output;                   ///< hash empty: nothing was written
    Content standard_error;
    Provenance provenance;
};

[[nodiscard]] std::string record_json(const Record& record);
/// Nothing where `text` is no record.
[[nodiscard]] std::optional<Record> parse_record(const std::string& text);

[[nodiscard]] std::optional<Record> load_record(const Store& store, const std::string& key);

/// Every object that a record names.
[[nodiscard]] std::vector<Content> contents_of(const Record& record);

struct Lookup {
    std::string key;                  ///< with the dependencies of `record`, else without any
    std::vector<KeyPart> parts;
    std::optional<Record> record;
};
/// The record of an action, if there is one: by its key, or, where the command finds inputs while running, by the key that the files
/// of one of the remembered lists complete. Contents of results are not looked at.
[[nodiscard]] Lookup look_up(const Store& store, const Action& action);

/// Stores a record under the key that its dependencies complete; returns that key. The first of two different results stays.
std::string save_record(const Store& store, const Action& action, const std::vector<KeyPart>& parts, Record record);

}  // namespace weft::cache
