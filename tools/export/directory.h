#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// A folder that appears as a whole or not at all: files go to a temporary folder beside it, which publish() syncs and puts in
/// its place. An earlier export of that name is replaced; any other existing folder is left alone and refused.
class DirectoryPublisher {
public:
    /// Throws Failure(refused) where `path` holds files that are no export, Failure(system) where nothing can be created.
    explicit DirectoryPublisher(std::filesystem::path path);
    /// Removes the temporary folder unless published.
    ~DirectoryPublisher();
    DirectoryPublisher(const DirectoryPublisher&) = delete;
    DirectoryPublisher& operator=(const DirectoryPublisher&) = delete;

    void add(const std::string& name, std::string_view content);
    void publish();

private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    bool published_ = false;
};

}  // namespace weft
