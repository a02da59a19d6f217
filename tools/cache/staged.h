#pragma once

#include "cache/child.h"
#include "cache/record.h"

namespace weft::cache {

/// One run of a command into a staging folder: its arguments with staged paths, and what it left there.
///
///   o0/ o1/ ...   one folder per output; patterns beside the first
///   f0/ ... b0/ ... l0/ ...   folders, blobs, logs
///   d/            dependencies
class StagedRun {
public:
    StagedRun(const Action& action, const fs::path& folder);

    /// Runs it; `launcher` goes before the command, `extra` behind it.
    [[nodiscard]] ChildResult run(const std::vector<std::string>& launcher, const std::vector<std::string>& extra, const Surroundings& surroundings) const;

    struct File {
        std::string slot;
        std::string name;
        fs::path path;
    };
    /// What lies there after a run, in the order of slots and names. Throws Failure(refused) where an output is missing after status 0.
    [[nodiscard]] std::vector<File> files(int status) const;

    /// The inputs that the command found while running, as portable paths; declared ones are left out.
    [[nodiscard]] std::vector<std::string> dependencies() const;

    /// `text` with the final places instead of the staged ones.
    [[nodiscard]] std::string with_places(std::string text) const;

private:
    struct Slot {
        std::string name;     ///< "output 0"
        std::string place;
        fs::path staged;
    };
    [[nodiscard]] std::string staged_argument(const std::string& argument) const;

    const Action& action_;
    fs::path folder_;
    std::vector<Slot> slots_;
    fs::path depfile_;
};

}  // namespace weft::cache
