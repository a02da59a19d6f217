#include <doctest/doctest.h>

#include <algorithm>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

std::string name_of(const GraphColumns& graph, std::uint32_t offset) { return std::string(pool_text(graph.name_pool, offset)); }

ModelBuilder two_layers() {
    ModelBuilder model;
    model.input("x", {1, 2, 5, 7});
    Random random(51);
    model.weight("w0", {4, 2, 3, 3}, random.values(72));
    model.weight("w1", {3, 4, 1, 1}, random.values(12));
    model.node("Conv", {"x", "w0"}, {"a"}, "first");
    model.node("Relu", {"a"}, {"b"}, "second");
    model.node("Conv", {"b", "w1"}, {"y"}, "third");
    model.output("y");
    return model;
}

}  // namespace

TEST_CASE("Nodes in any order give the same graph") {
    ModelBuilder model = two_layers();
    const GraphColumns sorted = model.import().graph;
    std::swap(*model.graph().mutable_node(0), *model.graph().mutable_node(2));
    const GraphColumns swapped = model.import().graph;
    CHECK(kinds(swapped) == std::vector{OperatorKind::Conv, OperatorKind::Relu, OperatorKind::Conv});
    CHECK(sorted.operands == swapped.operands);
    CHECK(sorted.name_pool == swapped.name_pool);
}

TEST_CASE("A cycle, a name that nothing writes, two writers of one name, and a writer of an input are bad input") {
    ModelBuilder cycle;
    cycle.input("x", {2});
    cycle.node("Add", {"x", "b"}, {"a"}, "one");
    cycle.node("Relu", {"a"}, {"b"}, "two");
    cycle.output("b");
    CHECK(contains(cycle.failure(ExitStatus::bad_input), "'one' (Add) lies on or behind a cycle"));
    ModelBuilder missing;
    missing.input("x", {2});
    missing.node("Add", {"x", "nowhere"}, {"y"}, "sum");
    missing.output("y");
    CHECK(contains(missing.failure(ExitStatus::bad_input), "'sum' (Add) reads 'nowhere', which nothing writes"));
    ModelBuilder twice;
    twice.input("x", {2});
    twice.node("Relu", {"x"}, {"y"}, "one");
    twice.node("Tanh", {"x"}, {"y"}, "two");
    twice.output("y");
    CHECK(contains(twice.failure(ExitStatus::bad_input), "'two' (Tanh) writes 'y', which node 'one' (Relu) already writes"));
    ModelBuilder input;
    input.input("x", {2});
    input.node("Relu", {"x"}, {"x"}, "one");
    input.output("x");
    CHECK(contains(input.failure(ExitStatus::bad_input), "an input or initializer"));
}

TEST_CASE("Every unsupported node is listed in one run, also behind other unsupported nodes") {
    ModelBuilder model;
    model.input("x", {1, 4});
    model.node("LSTM", {"x"}, {"a"}, "recurrent");
    model.node("Relu", {"a"}, {"b"}, "fine");
    model.node("Gemm", {"b", "a"}, {"c"}, "product");
    model.node("CumSum", {"c"}, {"d"}, "sums");
    model.node("CustomThing", {"d"}, {"y"}, "custom").set_domain("org.example");
    model.node("CumSum", {"x"}, {"unread"}, "dead");
    model.output("y");
    const std::string text = model.failure(ExitStatus::refused);
    CHECK(contains(text, "4 of the model's nodes are not supported"));
    for (const char* part : {"'recurrent' (LSTM): the operator is not supported", "'product' (Gemm): both sides",
                             "'sums' (CumSum)", "'custom' (CustomThing): the operator belongs to the domain 'org.example'"}) {
        CHECK(contains(text, part));
    }
    CHECK(!contains(text, "'fine'"));
    CHECK(!contains(text, "'dead'"));
}

TEST_CASE("Dimensions: an unknown first one is 1 with a note, others must be bound, options must name something") {
    ModelBuilder model;
    model.input("x", {-1, 3, -1, -1}, {"batch", "", "height", "width"});
    model.node("Relu", {"x"}, {"y"});
    model.output("y");
    const std::string text = model.failure(ExitStatus::bad_input);
    CHECK(contains(text, "dimension 2 ('height')"));
    CHECK(contains(text, "dimension 3 ('width')"));
    FrontendOptions options;
    options.dims = {{"height", 7}, {"width", 5}};
    const ImportedModel imported = model.import(options);
    CHECK(output_shape(imported.graph) == Shape{1, 3, 7, 5});
    REQUIRE(imported.notes.size() == 1);
    CHECK(contains(imported.notes[0], "dimension 0 ('batch') is taken as 1"));
    FrontendOptions whole;
    whole.shapes = {{"x", {1, 3, 4, 6}}};
    CHECK(output_shape(model.import(whole).graph) == Shape{1, 3, 4, 6});
    whole.shapes = {{"x", {1, 3}}};
    CHECK(contains(model.failure(ExitStatus::bad_input, whole), "has 4 dimensions, but --shape gives 2"));
    options.dims.emplace_back("depth", 1);
    CHECK(contains(model.failure(ExitStatus::bad_input, options), "--dim depth=1: no input has a dimension of that name"));
    FrontendOptions other;
    other.dims = {{"height", 7}, {"width", 5}};
    other.shapes = {{"z", {1}}};
    CHECK(contains(model.failure(ExitStatus::bad_input, other), "--shape z=1: no input has that name"));
}

TEST_CASE("Shape arithmetic folds: Shape, Gather, Unsqueeze, Concat, Mul, Cast, Floor, Where, Range before a Reshape") {
    ModelBuilder model(13);
    model.input("x", {2, 3, 4});
    model.node("Shape", {"x"}, {"shape"});
    auto* zero = model.graph().add_initializer();
    zero->set_name("zero");
    zero->set_data_type(7);
    zero->add_int64_data(0);
    model.node("Gather", {"shape", "zero"}, {"first"});
    model.integers("axis0", {0});
    model.node("Unsqueeze", {"first", "axis0"}, {"rows"});
    set_int(model.node("Cast", {"rows"}, {"rows_float"}), "to", 1);
    model.weight("half", {1}, {1.75});
    model.node("Mul", {"rows_float", "half"}, {"scaled"});
    model.node("Floor", {"scaled"}, {"floored"});
    set_int(model.node("Cast", {"floored"}, {"three"}), "to", 7);
    model.integers("minus_one", {-1});
    set_int(model.node("Concat", {"three", "minus_one"}, {"pair"}), "axis", 0);
    model.node("Equal", {"pair", "minus_one"}, {"is_free"});
    model.integers("eight", {8});
    model.node("Where", {"is_free", "eight", "pair"}, {"target"});
    model.node("Reshape", {"x", "target"}, {"y"});
    model.output("y");
    const ImportedModel imported = model.import();
    CHECK(output_shape(imported.graph) == Shape{3, 8});
    CHECK(kinds(imported.graph) == std::vector{OperatorKind::Reshape});
    CHECK(imported.graph.blobs.empty());
}

TEST_CASE("Identity, Dropout and casts between floating types leave nothing; outputs keep their names and types") {
    ModelBuilder model(13);
    model.input("x", {4}, {}, 10);
    model.node("Identity", {"x"}, {"i"});
    model.node("Dropout", {"i"}, {"d", "mask"});
    set_int(model.node("Cast", {"d"}, {"c"}), "to", 1);
    model.node("Relu", {"c"}, {"r"});
    set_int(model.node("Cast", {"r"}, {"y"}), "to", 10);
    model.node("Identity", {"x"}, {"copy"});
    model.node("Identity", {"y"}, {"again"});
    model.output("y", 10);
    model.output("copy", 10);
    model.output("again", 10);
    const GraphColumns graph = model.import().graph;
    CHECK(kinds(graph) == std::vector{OperatorKind::Relu, OperatorKind::Reshape, OperatorKind::Reshape});
    REQUIRE(graph.outputs.size() == 3);
    const char* names[] = {"y", "copy", "again"};
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(name_of(graph, graph.tensors[graph.outputs[i]].name) == names[i]);
        CHECK(graph.tensors[graph.outputs[i]].onnx_type == 10);
    }
    CHECK(graph.tensors[graph.inputs[0]].onnx_type == 10);
    const auto outputs = model.run({tensor({4}, {-1, 2, -3, 4})});
    CHECK(outputs[0].values == std::vector<float>{0, 2, 0, 4});
    CHECK(outputs[1].values == std::vector<float>{-1, 2, -3, 4});
}

TEST_CASE("A cast to integers at the tail stays, because it changes values") {
    ModelBuilder model;
    model.input("x", {3});
    set_int(model.node("Cast", {"x"}, {"y"}), "to", 6);
    model.output("y", 6);
    CHECK(kinds(model.import().graph) == std::vector{OperatorKind::Cast});
}

TEST_CASE("Initializers that are also listed as inputs are constants") {
    ModelBuilder model = two_layers();
    model.input("w0", {4, 2, 3, 3});
    const GraphColumns graph = model.import().graph;
    CHECK(graph.inputs.size() == 1);
    CHECK(kinds(graph) == std::vector{OperatorKind::Conv, OperatorKind::Relu, OperatorKind::Conv});
}

TEST_CASE("Dead nodes and their weights vanish; tensors and nodes keep the model's names") {
    ModelBuilder model = two_layers();
    model.weight("unused", {1}, {1});
    model.node("Add", {"y", "unused"}, {"nothing"}, "dead");
    const GraphColumns graph = model.import().graph;
    CHECK(graph.blobs.size() == 2);
    CHECK(name_of(graph, graph.nodes[0].name) == "first");
    CHECK(name_of(graph, graph.nodes[2].name) == "third");
    CHECK(name_of(graph, graph.tensors[graph.outputs[0]].name) == "y");
}

TEST_CASE("The graph's bytes do not depend on the thread count") {
    const ModelBuilder model = two_layers();
    std::vector<std::uint8_t> first;
    for (const unsigned threads : {1U, 2U, 8U}) {
        FrontendOptions options;
        options.threads = threads;
        const ImportedModel imported = model.import(options);
        const auto buffer = serialize(view(imported.graph));
        const std::vector<std::uint8_t> bytes(buffer.data(), buffer.data() + buffer.size());
        if (first.empty()) first = bytes;
        CHECK(bytes == first);
    }
}

TEST_CASE("Operator sets out of range, constant outputs, and bytes that are no model are refused with a reason") {
    for (const std::int64_t opset : {6, 22}) {
        ModelBuilder model(opset);
        model.input("x", {1});
        model.node("Relu", {"x"}, {"y"});
        model.output("y");
        CHECK(contains(model.failure(ExitStatus::refused), "is not supported (7 to 21 are)"));
    }
    ModelBuilder constant;
    constant.input("x", {1});
    constant.weight("w", {1}, {1});
    constant.node("Identity", {"w"}, {"y"});
    constant.output("y");
    CHECK(contains(constant.failure(ExitStatus::refused), "output 'y' is constant"));
    const std::string noise = "not a model at all";
    CHECK_THROWS_AS(static_cast<void>(import_model(std::as_bytes(std::span(noise)), {}, {})), Failure);
    const std::string whole = two_layers().bytes();
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        const std::string cut = whole.substr(0, length);
        CHECK_THROWS_AS(
            static_cast<void>(import_model(std::as_bytes(std::span(cut)), {}, [](auto bytes) { return hash_bytes(bytes); })),
            Failure);
    }
}

TEST_CASE("Half precision weights become the same values in single precision") {
    ModelBuilder model;
    model.input("x", {1, 2}, {}, 10);
    auto* weight = model.graph().add_initializer();
    weight->set_name("w");
    weight->set_data_type(10);
    weight->add_dims(2);
    weight->add_dims(2);
    // 1, -2, 0.5, the smallest subnormal
    for (const int bits : {0x3c00, 0xc000, 0x3800, 0x0001}) weight->add_int32_data(bits);
    model.node("MatMul", {"x", "w"}, {"y"});
    model.output("y", 10);
    CHECK(model.run_one({tensor({1, 2}, {1, 0})}).values == std::vector<float>{1, -2});
    CHECK(model.run_one({tensor({1, 2}, {0, 1})}).values == std::vector<float>{0.5F, 0x1p-24F});
}

TEST_CASE("A tensor whose data do not fit its shape is bad input") {
    ModelBuilder model = two_layers();
    model.graph().mutable_initializer(0)->mutable_raw_data()->pop_back();
    CHECK(contains(model.failure(ExitStatus::bad_input),
                   "initializer 'w0': a tensor of shape [4, 2, 3, 3] and type float needs 288 bytes, but 287 are stored"));
}
