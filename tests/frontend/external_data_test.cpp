#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

ModelBuilder external(const std::string& location, const std::string& offset = {}, const std::string& length = {}) {
    ModelBuilder model;
    model.input("x", {1, 2});
    auto* weight = model.graph().add_initializer();
    weight->set_name("w");
    weight->set_data_type(1);
    weight->add_dims(2);
    weight->add_dims(1);
    weight->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
        auto* pair = weight->add_external_data();
        pair->set_key(key);
        pair->set_value(value);
    };
    entry("location", location);
    if (!offset.empty()) entry("offset", offset);
    if (!length.empty()) entry("length", length);
    model.node("MatMul", {"x", "w"}, {"y"});
    model.output("y");
    return model;
}

void write_floats(const std::filesystem::path& path, const std::vector<float>& values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

}  // namespace

TEST_CASE("External data are read from beside the model, at an offset, from a folder below") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "deep");
    write_floats(folder.path() / "data.bin", {1, 2, 3, 4});
    write_floats(folder.path() / "deep" / "data.bin", {5, 6});
    FrontendOptions options;
    options.external_folder = folder.path();
    const std::vector<HostTensor> x = {tensor({1, 2}, {1, 10})};
    CHECK(external("data.bin", "8", "8").run_one(x, options).values == std::vector<float>{43});
    CHECK(external("deep/data.bin").run_one(x, options).values == std::vector<float>{65});
    CHECK(external("./deep//data.bin").run_one(x, options).values == std::vector<float>{65});
    CHECK(external("deep/data.bin").import(options).external_files == std::vector<std::string>{"deep/data.bin"});
}

TEST_CASE("External data never leave the model's folder") {
    const TemporaryFolder folder;
    const auto inside = folder.path() / "inside";
    std::filesystem::create_directory(inside);
    write_floats(folder.path() / "secret.bin", {1, 2});
    write_floats(inside / "short.bin", {1});
    std::filesystem::create_symlink("../secret.bin", inside / "link.bin");
    std::filesystem::create_symlink("..", inside / "up");
    FrontendOptions options;
    options.external_folder = inside;
    CHECK(contains(external("../secret.bin").failure(ExitStatus::bad_input, options), "'..' is not allowed"));
    CHECK(contains(external("a/../../secret.bin").failure(ExitStatus::bad_input, options), "'..' is not allowed"));
    CHECK(contains(external((folder.path() / "secret.bin").string()).failure(ExitStatus::bad_input, options), "absolute path"));
    CHECK(contains(external("link.bin").failure(ExitStatus::bad_input, options), "symbolic links are not followed"));
    CHECK(contains(external("up/secret.bin").failure(ExitStatus::bad_input, options), "symbolic links are not followed"));
    CHECK(contains(external("").failure(ExitStatus::bad_input, options), "without a location"));
    CHECK(contains(external(".").failure(ExitStatus::bad_input, options), "not a file"));
    CHECK(contains(external("missing.bin").failure(ExitStatus::bad_input, options), "cannot open"));
    CHECK(contains(external("short.bin").failure(ExitStatus::bad_input, options), "pass the end of the file"));
    CHECK(contains(external("short.bin", "4", "8").failure(ExitStatus::bad_input, options), "pass the end of the file"));
    CHECK(contains(external("short.bin", "18446744073709551615", "8").failure(ExitStatus::bad_input, options),
                   "pass the end of the file"));
    CHECK(contains(external("short.bin", "-1").failure(ExitStatus::bad_input, options), "no number"));
    CHECK(
        contains(external("short.bin", "0", "4").failure(ExitStatus::bad_input, options), "length 4 where the shape needs 8"));
    options.external_folder.reset();
    CHECK(contains(external("short.bin").failure(ExitStatus::bad_input, options), "not available"));
}
