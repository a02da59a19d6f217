#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/constant.h"
#include "frontend/proto.h"

namespace weft::frontend {

/// Reads tensors of the model: inline bytes where they lie, typed fields, and external data from beside the model.
/// External paths are opened component by component below the model's folder without following symbolic links, so that a model
/// cannot make weft read another file; offset and length are checked against the file's size.
class TensorReader {
public:
    TensorReader(std::span<const std::byte> model, const FrontendOptions& options) : model_(model), options_(options) {}

    /// Throws Failure(bad_input) where the data do not fit the shape and type.
    [[nodiscard]] Constant read(const onnx::TensorProto& tensor);
    /// Names of the external files read so far, sorted.
    [[nodiscard]] std::vector<std::string> external_files() const;

private:
    struct Mapping;
    [[nodiscard]] std::shared_ptr<const Mapping> open_external(const std::string& location);
    [[nodiscard]] Constant read_external(const onnx::TensorProto& tensor, Shape shape);

    std::span<const std::byte> model_;
    const FrontendOptions& options_;
    std::map<std::string, std::shared_ptr<const Mapping>> files_;
};

}  // namespace weft::frontend
