#include <doctest/doctest.h>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

GraphColumns sample() {
    ModelBuilder model;
    model.input("x", {1, 4, 7, 5});
    Random random(71);
    model.weight("w", {6, 2, 3, 3}, random.values(6 * 2 * 9));
    model.weight("b", {6}, random.values(6));
    auto& conv = model.node("Conv", {"x", "w", "b"}, {"c"});
    set_int(conv, "group", 2);
    auto& pool = model.node("AveragePool", {"c"}, {"p"});
    set_ints(pool, "kernel_shape", {2, 2});
    auto& clip = model.node("Relu", {"p"}, {"r"});
    static_cast<void>(clip);
    model.integers("shape", {1, -1});
    model.node("Reshape", {"r", "shape"}, {"f"});
    model.weight("m", {48, 3}, random.values(144));
    model.node("MatMul", {"f", "m"}, {"l"});
    set_int(model.node("Concat", {"l", "l"}, {"k"}), "axis", 1);
    set_ints(model.node("Transpose", {"k"}, {"t"}), "perm", {1, 0});
    model.integers("pads", {1, 0, 0, 0});
    model.node("Pad", {"t", "pads"}, {"q"});
    model.node("Softmax", {"q"}, {"s"});
    model.node("Sub", {"s", "q"}, {"y"});
    model.output("y");
    return model.import().graph;
}

bool accepted(const GraphColumns& graph) {
    try {
        validate<Graph>(view(graph), "mutant");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::bad_input);
        return false;
    }
    return true;
}

}  // namespace

TEST_CASE("A good graph passes; every single wrong value of its structure is found") {
    const GraphColumns good = sample();
    CHECK(accepted(good));
    CHECK(good.nodes.size() == 10);
    // Each mutation breaks one promise of the schema.
    const std::vector<std::pair<const char*, std::function<void(GraphColumns&)>>> mutations = {
        {"name outside the pool", [](GraphColumns& g) { g.tensors[1].name = 100000; }},
        {"unterminated pool", [](GraphColumns& g) { g.name_pool.back() = 'x'; }},
        {"dims outside", [](GraphColumns& g) { g.tensors[0].first_dim = 100000; }},
        {"huge rank", [](GraphColumns& g) { g.tensors[0].rank = 0xffffffff; }},
        {"unknown role", [](GraphColumns& g) { g.tensors[0].role = 9; }},
        {"zero dimension", [](GraphColumns& g) { g.dims[0] = 0; }},
        {"other batch", [](GraphColumns& g) { g.dims[0] = 2; }},
        {"weight without blob", [](GraphColumns& g) { g.tensors[1].blob = no_id; }},
        {"blob outside", [](GraphColumns& g) { g.tensors[1].blob = 7; }},
        {"blob size", [](GraphColumns& g) { g.blobs[0].byte_count += 4; }},
        {"unknown kind", [](GraphColumns& g) { g.nodes[0].kind = 77; }},
        {"operand range", [](GraphColumns& g) { g.nodes[0].first_input = 100000; }},
        {"operand id", [](GraphColumns& g) { g.operands[0] = 100000; }},
        {"operand absent", [](GraphColumns& g) { g.operands[0] = no_id; }},
        {"operand written later", [](GraphColumns& g) { g.operands[0] = g.outputs[0]; }},
        {"operand count", [](GraphColumns& g) { g.nodes[2].input_count = 2; }},
        {"output count", [](GraphColumns& g) { g.nodes[2].output_count = 0; }},
        {"output is an input", [](GraphColumns& g) { g.operands[g.nodes[0].first_output] = g.inputs[0]; }},
        {"node order", [](GraphColumns& g) { std::swap(g.nodes[1], g.nodes[2]); }},
        {"attribute range", [](GraphColumns& g) { g.attributes[0].first = 100000; }},
        {"attribute count", [](GraphColumns& g) { g.attributes[0].count = 1; }},
        {"unknown key", [](GraphColumns& g) { g.attributes[0].key = 15; }},
        {"attribute twice", [](GraphColumns& g) { g.attributes[1].key = g.attributes[0].key; }},
        {"stride zero", [](GraphColumns& g) { g.ints[2] = 0; }},
        {"negative pad", [](GraphColumns& g) { g.ints[4] = -1; }},
        {"other pad", [](GraphColumns& g) { g.ints[4] = 1; }},
        {"missing input", [](GraphColumns& g) { g.inputs.clear(); }},
        {"input twice", [](GraphColumns& g) { g.inputs.push_back(g.inputs[0]); }},
        {"output outside", [](GraphColumns& g) { g.outputs[0] = 100000; }},
        {"missing output", [](GraphColumns& g) { g.outputs.clear(); }},
        {"dropped node", [](GraphColumns& g) { g.nodes.erase(g.nodes.begin() + 3); }},
        {"reshape loses elements",
         [](GraphColumns& g) {
             g.nodes[2].kind = static_cast<std::uint32_t>(OperatorKind::Reshape),
             g.nodes[3].kind = static_cast<std::uint32_t>(OperatorKind::Relu);
         }},
    };
    for (const auto& mutation : mutations) {
        CAPTURE(mutation.first);
        GraphColumns mutant = good;
        mutation.second(mutant);
        CHECK(!accepted(mutant));
    }
}

TEST_CASE("Every dimension, attribute value and map entry of a graph is checked against the others") {
    const GraphColumns good = sample();
    for (std::size_t i = 0; i < good.dims.size(); ++i) {
        CAPTURE(i);
        GraphColumns mutant = good;
        mutant.dims[i] += 1;
        CHECK(!accepted(mutant));
    }
    for (std::size_t i = 0; i < good.ints.size(); ++i) {
        CAPTURE(i);
        GraphColumns mutant = good;
        mutant.ints[i] = -2;
        CHECK(!accepted(mutant));
        mutant.ints[i] = 1 << 20;
        CHECK(!accepted(mutant));
    }
}

TEST_CASE("A graph survives writing and reading") {
    const TemporaryFolder folder;
    const GraphColumns good = sample();
    write_artifact(folder.path() / "net.graph", view(good));
    const Artifact<Graph> read(folder.path() / "net.graph");
    CHECK(std::equal(good.operands.begin(), good.operands.end(), read->operands.begin(), read->operands.end()));
    CHECK(std::equal(good.tensors.begin(), good.tensors.end(), read->tensors.begin(), read->tensors.end()));
}
