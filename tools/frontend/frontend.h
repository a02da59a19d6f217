#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/graph.h"

namespace weft::frontend {

/// A tensor's shape, outermost axis first.
using Shape = std::vector<std::int64_t>;

struct FrontendOptions {
    std::string model_name = "model";                           ///< in messages
    std::optional<std::filesystem::path> external_folder;       ///< where external data may lie; absent: none is read
    std::vector<std::pair<std::string, std::int64_t>> dims;     ///< --dim: symbolic dimension, size
    std::vector<std::pair<std::string, Shape>> shapes;          ///< --shape: graph input, whole shape
    unsigned threads = 1;                                       ///< for storing weights; never changes the result
    std::int64_t max_elems = std::int64_t{1} << 31;             ///< per tensor
    std::int64_t folding_budget_bytes = std::int64_t{8} << 30;  ///< sum of all constants computed while reading
};

/// Stores the raw bytes of one weight tensor and returns their hash. Called from several threads at a time.
using BlobSink = std::function<Hash128(std::span<const std::byte>)>;

struct ImportedModel {
    GraphColumns graph;
    std::vector<std::string> notes;           ///< what the user should know but need not act on
    std::vector<std::string> external_files;  ///< read besides the model
};

/// Read one ONNX model (opset 7 to 21) into weft's canonical operators: shapes inferred, constants folded, normalisations
/// folded into their convolutions, dead nodes gone. A pure function of `model`, the options and the external files; weights
/// that the graph needs go to `sink`. Throws Failure: bad_input where the model breaks ONNX's rules, refused with the complete
/// list where operators are not supported.
[[nodiscard]] ImportedModel import_model(std::span<const std::byte> model, const FrontendOptions& options,
                                         const BlobSink& sink);

}  // namespace weft::frontend
