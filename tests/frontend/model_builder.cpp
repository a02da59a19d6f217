#include "model_builder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

namespace weft::frontend::test {

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-frontend-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + static_cast<std::int64_t>((state_ >> 33U) % static_cast<std::uint64_t>(high - low + 1));
}

std::vector<float> Random::values(std::int64_t count) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(between(-8, 8)));
    return result;
}

ModelBuilder::ModelBuilder(std::int64_t opset) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    graph().set_name("test");
}

void ModelBuilder::input(const std::string& name, const Shape& shape, const std::vector<std::string>& symbols, int type) {
    auto* info = graph().add_input();
    info->set_name(name);
    auto* tensor_type = info->mutable_type()->mutable_tensor_type();
    tensor_type->set_elem_type(type);
    tensor_type->mutable_shape();
    for (std::size_t k = 0; k < shape.size(); ++k) {
        auto* dim = tensor_type->mutable_shape()->add_dim();
        if (k < symbols.size() && !symbols[k].empty())
            dim->set_dim_param(symbols[k]);
        else if (shape[k] >= 0)
            dim->set_dim_value(shape[k]);
    }
}

void ModelBuilder::output(const std::string& name, int type) {
    auto* info = graph().add_output();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

void ModelBuilder::weight(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    auto* initializer = graph().add_initializer();
    initializer->set_name(name);
    initializer->set_data_type(1);
    for (const std::int64_t dim : shape) initializer->add_dims(dim);
    initializer->set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

void ModelBuilder::integers(const std::string& name, const std::vector<std::int64_t>& values) {
    auto* initializer = graph().add_initializer();
    initializer->set_name(name);
    initializer->set_data_type(7);
    initializer->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) initializer->add_int64_data(value);
}

onnx::NodeProto& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const std::string& name) {
    auto* result = graph().add_node();
    result->set_op_type(op);
    result->set_name(name);
    for (const std::string& input : inputs) result->add_input(input);
    for (const std::string& output : outputs) result->add_output(output);
    return *result;
}

std::string ModelBuilder::bytes() const { return model_.SerializeAsString(); }

namespace {

ImportedModel import_into(const std::string& bytes, const FrontendOptions& options, BlobStore& store) {
    ImportedModel imported =
        import_model(std::as_bytes(std::span(bytes)), options, [&](std::span<const std::byte> raw) { return store.put(raw); });
    validate<Graph>(view(imported.graph), "imported graph");
    return imported;
}

}  // namespace

ImportedModel ModelBuilder::import(const FrontendOptions& options) const {
    const TemporaryFolder folder;
    BlobStore store(folder.path());
    return import_into(bytes(), options, store);
}

std::vector<HostTensor> ModelBuilder::run(const std::vector<HostTensor>& inputs, const FrontendOptions& options) const {
    const TemporaryFolder folder;
    BlobStore store(folder.path());
    const ImportedModel imported = import_into(bytes(), options, store);
    std::vector<HostTensor> values;
    return run_graph(view(imported.graph), store, inputs, values);
}

HostTensor ModelBuilder::run_one(const std::vector<HostTensor>& inputs, const FrontendOptions& options) const {
    auto outputs = run(inputs, options);
    REQUIRE(outputs.size() == 1);
    return std::move(outputs[0]);
}

std::string ModelBuilder::failure(ExitStatus status, const FrontendOptions& options) const {
    try {
        static_cast<void>(import(options));
    } catch (const Failure& failure) {
        CHECK(failure.status() == status);
        return failure.what();
    }
    return {};
}

namespace {

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
}

}  // namespace

void set_int(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
void set_float(onnx::NodeProto& node, const std::string& name, float value) {
    add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}
void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
    add_attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}

void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
    auto& attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
}

HostTensor tensor(const Shape& shape, std::vector<float> values) { return {{shape.begin(), shape.end()}, std::move(values)}; }

std::vector<OperatorKind> kinds(const GraphColumns& graph) {
    std::vector<OperatorKind> result;
    for (const GraphNode& node : graph.nodes) result.push_back(static_cast<OperatorKind>(node.kind));
    return result;
}

Shape output_shape(const GraphColumns& graph, std::size_t index) {
    const GraphTensor& row = graph.tensors[graph.outputs[index]];
    return {graph.dims.begin() + row.first_dim, graph.dims.begin() + row.first_dim + row.rank};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace weft::frontend::test
