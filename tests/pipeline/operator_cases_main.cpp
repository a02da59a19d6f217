#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "artifact/file.h"
#include "base/failure.h"
#include "reference/npy.h"

// Unpacks the ONNX project's operator tests for weft:
//
//   operator_cases DATA OUT
//
// DATA is the folder of Debian's libonnx-testdata with node, pytorch-converted, pytorch-operator and simple. Every test on
// tensors whose operators all stand in `operators` becomes OUT/NAME with model.onnx, in and expected; its name goes to
// standard output. OUT/NAME/tolerance holds a tolerance other than the usual one (outputs of 16 bits). The tests feed weights and parameters as inputs; a chip has them resident, so operands that `operators`
// calls constant become initializers with the values of the test.

namespace {

using namespace weft;
using Path = std::filesystem::path;

/// Operators that weft takes, each with the operands that it takes as constants only (-1: none).
struct ConstantOperands {
    int first = -1;
    int last = -1;
};

const std::map<std::string, ConstantOperands, std::less<>> operators = {
    {"Conv", {1, 2}}, {"ConvTranspose", {1, 2}}, {"Gemm", {1, 2}}, {"MatMul", {1, 1}}, {"PRelu", {1, 1}}, {"Clip", {1, 2}},
    {"BatchNormalization", {1, 4}}, {"Dropout", {1, 2}}, {"Slice", {1, 4}}, {"Pad", {1, 2}}, {"Resize", {1, 3}}, {"Upsample", {1, 1}},
    {"Reshape", {1, 1}}, {"Split", {1, 1}}, {"Squeeze", {1, 1}}, {"Unsqueeze", {1, 1}}, {"ConstantOfShape", {0, 0}},
    {"Relu", {}}, {"LeakyRelu", {}}, {"HardSigmoid", {}}, {"HardSwish", {}}, {"Sigmoid", {}}, {"Tanh", {}}, {"Add", {}}, {"Sub", {}},
    {"Mul", {}}, {"Div", {}}, {"Sum", {}}, {"Max", {}}, {"Min", {}}, {"MaxPool", {}}, {"AveragePool", {}}, {"GlobalAveragePool", {}},
    {"GlobalMaxPool", {}}, {"Concat", {}}, {"Flatten", {}}, {"Transpose", {}}, {"Softmax", {}}, {"LogSoftmax", {}}, {"Identity", {}},
    {"Cast", {}}, {"Constant", {}},
};

template <class Message>
bool parse(const Path& path, Message& message) {
    std::ifstream file(path, std::ios::binary);
    return file && message.ParseFromIstream(&file);
}

template <class T>
std::vector<float> raw_values(const std::string& raw) {
    std::vector<float> values(raw.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
        values[i] = static_cast<float>(value);
    }
    return values;
}

template <class Field>
std::vector<float> field_values(const Field& field) {
    std::vector<float> values;
    for (const auto value : field) values.push_back(static_cast<float>(value));
    return values;
}

float brain_float(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }

/// As f32; false for a type without numbers.
bool tensor_values(const onnx::TensorProto& tensor, std::vector<float>& values) {
    using Type = onnx::TensorProto;
    const std::string& raw = tensor.raw_data();
    const bool is_raw = tensor.has_raw_data();
    switch (tensor.data_type()) {
        case Type::FLOAT: values = is_raw ? raw_values<float>(raw) : field_values(tensor.float_data()); return true;
        case Type::DOUBLE: values = is_raw ? raw_values<double>(raw) : field_values(tensor.double_data()); return true;
        case Type::INT64: values = is_raw ? raw_values<std::int64_t>(raw) : field_values(tensor.int64_data()); return true;
        case Type::UINT64: values = is_raw ? raw_values<std::uint64_t>(raw) : field_values(tensor.uint64_data()); return true;
        case Type::UINT32: values = is_raw ? raw_values<std::uint32_t>(raw) : field_values(tensor.uint64_data()); return true;
        case Type::INT32: values = is_raw ? raw_values<std::int32_t>(raw) : field_values(tensor.int32_data()); return true;
        case Type::INT16: values = is_raw ? raw_values<std::int16_t>(raw) : field_values(tensor.int32_data()); return true;
        case Type::UINT16: values = is_raw ? raw_values<std::uint16_t>(raw) : field_values(tensor.int32_data()); return true;
        case Type::INT8: values = is_raw ? raw_values<std::int8_t>(raw) : field_values(tensor.int32_data()); return true;
        case Type::UINT8:
        case Type::BOOL: values = is_raw ? raw_values<std::uint8_t>(raw) : field_values(tensor.int32_data()); return true;
        case Type::FLOAT16:
        case Type::BFLOAT16:
            values = is_raw ? raw_values<std::uint16_t>(raw) : field_values(tensor.int32_data());
            for (float& value : values) {
                const auto bits = static_cast<std::uint16_t>(value);
                value = tensor.data_type() == Type::FLOAT16 ? half_to_float(bits) : brain_float(bits);
            }
            return true;
        default: return false;
    }
}

/// Reads a test's value for `declared`. The tests hold bfloat16 values as uint16 bits; the model knows their type.
onnx::TensorProto test_value(const Path& path, const onnx::ValueInfoProto& declared) {
    onnx::TensorProto value;
    if (!parse(path, value)) bad_input("{}: unreadable", path.string());
    if (declared.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16) value.set_data_type(onnx::TensorProto::BFLOAT16);
    return value;
}

/// Publishes a tensor; a type without numbers leaves no file, which the test then reports as a missing input or output.
void publish(const Path& path, const onnx::TensorProto& tensor) {
    HostTensor value;
    for (const std::int64_t dim : tensor.dims()) value.dims.push_back(static_cast<std::uint32_t>(dim));
    if (tensor_values(tensor, value.values)) write_npy(path, value);
}

bool is_candidate(const onnx::ModelProto& model) {
    const auto is_tensor = [](const onnx::ValueInfoProto& value) { return value.type().has_tensor_type(); };
    if (!std::ranges::all_of(model.graph().input(), is_tensor) || !std::ranges::all_of(model.graph().output(), is_tensor)) return false;
    return std::ranges::all_of(model.graph().node(), [](const onnx::NodeProto& node) {
        return (node.domain().empty() || node.domain() == "ai.onnx") && operators.contains(node.op_type());
    });
}

/// Operator sets before 7 had no broadcasting; libonnx rewrites such a model for set 7, weft's first. What it cannot rewrite
/// stays, and the frontend refuses it.
onnx::ModelProto modernized(onnx::ModelProto model) {
    constexpr int oldest = 7;
    if (model.opset_import_size() == 0 || model.opset_import(0).version() >= oldest) return model;
    try {
        onnx::shape_inference::InferShapes(model);   // the converter asks for shapes
        return onnx::version_conversion::ConvertVersion(model, oldest);
    } catch (const std::exception&) {
        return model;
    }
}

/// Names of the model's inputs that feed operands weft takes as constants only.
std::set<std::string> constant_inputs(const onnx::GraphProto& graph) {
    std::set<std::string> names;
    for (const onnx::NodeProto& node : graph.node()) {
        const ConstantOperands constant = operators.at(node.op_type());
        for (int i = std::max(constant.first, 0); i <= constant.last && i < node.input_size(); ++i) names.insert(node.input(i));
    }
    return names;
}

void unpack(const Path& test, onnx::ModelProto model, const Path& out) {
    onnx::GraphProto& graph = *model.mutable_graph();
    std::set<std::string> initialized;
    for (const onnx::TensorProto& tensor : graph.initializer()) initialized.insert(tensor.name());
    const std::set<std::string> constants = constant_inputs(graph);
    const Path in = out / "in" / "inference_0";
    const Path expected = out / "expected" / "inference_0";
    std::filesystem::create_directories(in);
    std::filesystem::create_directories(expected);
    google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> kept;
    const Path data = test / "test_data_set_0";
    int file = 0;
    for (const onnx::ValueInfoProto& input : graph.input()) {
        if (initialized.contains(input.name())) continue;
        onnx::TensorProto value = test_value(data / fmt::format("input_{}.pb", file++), input);
        if (constants.contains(input.name())) {
            value.set_name(input.name());
            *graph.add_initializer() = value;
        } else {
            publish(in / fmt::format("input_{}.npy", kept.size()), value);
            *kept.Add() = input;
        }
    }
    graph.mutable_input()->Swap(&kept);
    bool is_half = false;
    for (int j = 0; j < graph.output_size(); ++j) {
        const onnx::TensorProto value = test_value(data / fmt::format("output_{}.pb", j), graph.output(j));
        is_half = is_half || value.data_type() == onnx::TensorProto::FLOAT16 || value.data_type() == onnx::TensorProto::BFLOAT16;
        publish(expected / fmt::format("output_{}.npy", j), value);
    }
    // weft computes in f32 and leaves rounding to the model's own type to the reader of the outputs.
    if (is_half) publish_text(out / "tolerance", "4e-3\n");
    publish_text(out / "model.onnx", model.SerializeAsString());
}

void unpack_all(const Path& data, const Path& out) {
    for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
        std::set<Path> tests;   // sorted
        for (const auto& entry : std::filesystem::directory_iterator(data / group)) tests.insert(entry.path());
        for (const Path& test : tests) {
            onnx::ModelProto model;
            if (!parse(test / "model.onnx", model) || !is_candidate(model)) continue;
            const std::string name = fmt::format("{}/{}", group, test.filename().string());
            unpack(test, modernized(std::move(model)), out / name);
            fmt::print("{}\n", name);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: operator_cases DATA OUT\n");
        return 2;
    }
    try {
        unpack_all(argv[1], argv[2]);
        return 0;
    } catch (const Failure& failure) {
        fmt::print(stderr, "operator_cases: {}\n", failure.what());
        return static_cast<int>(failure.status());
    }
}
