#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/store.h"

namespace weft::cache {

/// What the caller says about a command: which of its arguments are files, and how their results are to be kept.
struct Action {
    std::vector<std::string> command;
    std::vector<std::string> inputs;          ///< files whose contents decide; their paths do not
    std::vector<std::string> outputs;         ///< files that it must write
    std::vector<std::string> optional_outputs; ///< files that it may write
    std::vector<std::string> patterns;        ///< names with '*' that it writes beside the first output, as many as there are
    std::vector<std::string> folders;         ///< folders that it writes as a whole
    std::vector<std::string> blobs;           ///< folders that it adds weight tensors to, named by their contents
    std::vector<std::string> logs;            ///< files that it writes and that may differ from run to run (reports)
    std::string depfile;                      ///< Make dependencies that it writes: further inputs
    std::string refusal;                      ///< where its messages go if it ends with status 1, which then is a result too
    std::vector<std::string> environment;     ///< variables that it depends on
    std::vector<std::string> ignored_options; ///< options (with their value) that do not change results, e.g. -j
    std::vector<std::string> salt;            ///< anything else that it depends on
    bool has_refusal() const { return !refusal.empty(); }
};

/// One component of a key, for people: "input 0" and the digest and size of its contents.
using KeyPart = std::pair<std::string, std::string>;

/// What decides about a command's result: the program, the arguments with placeholders for files, the contents of inputs. Never paths
/// of inputs and outputs, time, user, host. Of patterns the text counts, because a stage that chooses names itself puts them
/// into its results.
[[nodiscard]] std::vector<KeyPart> key_parts(const Store& store, const Action& action);
[[nodiscard]] std::string key_of(const Store& store, const std::vector<KeyPart>& parts);

/// A further input that a command named in its dependency file, as the record keeps it: relative to the first input's folder where it
/// is below that, so that the record holds for other copies of the folder.
[[nodiscard]] std::string portable_path(const Action& action, const std::string& path);
[[nodiscard]] std::string local_path(const Action& action, const std::string& portable);
/// Their parts of the key; nothing where one of the files is missing.
[[nodiscard]] std::optional<std::vector<KeyPart>> dependency_parts(const Store& store, const Action& action, const std::vector<std::string>& portable);

/// The prerequisites of the first rule in a file of Make dependencies.
[[nodiscard]] std::vector<std::string> parse_depfile(const std::string& text);

}  // namespace weft::cache
