#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/blob_store.h"
#include "frontend/frontend.h"
#include "frontend/proto.h"
#include "reference/executor.h"

namespace weft::frontend::test {

/// A folder that exists for the life of the object.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Numbers without a library's distribution, the same everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    /// Uniform in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high);
    /// Small whole numbers, so that sums are exact in any order.
    std::vector<float> values(std::int64_t count);

private:
    std::uint64_t state_;
};

/// Writes small models with the message types.
class ModelBuilder {
public:
    explicit ModelBuilder(std::int64_t opset = 13);

    onnx::ModelProto& proto() { return model_; }
    onnx::GraphProto& graph() { return *model_.mutable_graph(); }
    /// A dimension of -1 has neither value nor name; `symbols` name dimensions by position.
    void input(const std::string& name, const Shape& shape, const std::vector<std::string>& symbols = {}, int type = 1);
    void output(const std::string& name, int type = 1);
    void weight(const std::string& name, const Shape& shape, const std::vector<float>& values);
    void integers(const std::string& name, const std::vector<std::int64_t>& values);
    onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = {});

    [[nodiscard]] std::string bytes() const;
    [[nodiscard]] ImportedModel import(const FrontendOptions& options = {}) const;
    /// Import, validate, and run with the reference executor.
    [[nodiscard]] std::vector<HostTensor> run(const std::vector<HostTensor>& inputs, const FrontendOptions& options = {}) const;
    /// The one output.
    [[nodiscard]] HostTensor run_one(const std::vector<HostTensor>& inputs, const FrontendOptions& options = {}) const;
    /// The message of the Failure that import throws; empty where it throws none. `status` receives the exit status.
    [[nodiscard]] std::string failure(ExitStatus status, const FrontendOptions& options = {}) const;

private:
    onnx::ModelProto model_;
};

void set_int(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_float(onnx::NodeProto& node, const std::string& name, float value);
void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value);
void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values);

[[nodiscard]] HostTensor tensor(const Shape& shape, std::vector<float> values);
/// Operator kinds in order.
[[nodiscard]] std::vector<OperatorKind> kinds(const GraphColumns& graph);
[[nodiscard]] Shape output_shape(const GraphColumns& graph, std::size_t index = 0);
[[nodiscard]] bool contains(const std::string& text, const std::string& part);

}  // namespace weft::frontend::test
