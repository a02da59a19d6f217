// Files written by earlier versions must stay readable: tables grow at the end, structs never change.
#include <doctest/doctest.h>

#include <cstdlib>

#include "inspect/column_view.h"
#include "inspect/inspect.h"
#include "samples.h"

namespace {

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

/// tests/fuzz/corpus/<kind>/version-1.<extension>; WEFT_WRITE_GOLDEN=1 writes those of new kinds.
template <class Kind>
fs::path golden_path() {
    return fs::path(WEFT_SOURCE) / "tests" / "fuzz" / "corpus" / ArtifactTraits<Kind>::kind / fmt::format("version-1.{}", ArtifactTraits<Kind>::extension);
}

TEST_CASE("files of version 1 read as they were meant") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        const fs::path path = golden_path<Kind>();
        CAPTURE(path.string());
        if (std::getenv("WEFT_WRITE_GOLDEN") != nullptr && !fs::exists(path)) {
            fs::create_directories(path.parent_path());
            write_artifact<Kind>(path, view(columns));
        }
        REQUIRE(fs::exists(path));
        const fs::path now = fs::temp_directory_path() / fmt::format("weft-golden-{}.{}", ::getpid(), ArtifactTraits<Kind>::extension);
        write_artifact<Kind>(now, view(columns));
        const AnyArtifact old_artifact(path.string());
        const AnyArtifact new_artifact(now.string());
        CHECK(difference(old_artifact, new_artifact, 5).text == "");
        fs::remove(now);
    });
}

TEST_CASE("what fuzzers found once is refused as bad input") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto&) {
        for (const auto& entry : fs::directory_iterator(golden_path<Kind>().parent_path())) {
            if (entry.path().filename().string().starts_with("version-")) continue;
            CAPTURE(entry.path().string());
            std::string text = "(accepted)";
            try {
                const AnyArtifact artifact(entry.path().string());
            } catch (const Failure& failure) {
                CHECK(failure.status() == ExitStatus::bad_input);
                text = failure.what();
            }
            CHECK(text != "(accepted)");
            if (entry.path().filename() == "misaligned-blobs") CHECK(text.find("column 'blobs' does not start at a multiple") != std::string::npos);
        }
    });
}

}  // namespace
