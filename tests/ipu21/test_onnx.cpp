#include <doctest/doctest.h>

#include "../frontend/model_builder.h"
#include "chain.h"
#include "machine.h"

using namespace weft;
using frontend::Shape;
using frontend::test::ModelBuilder;
using K = TileOperatorKind;

namespace {

/// Every ONNX model of this file goes through all stages on 64 tiles, and what was estimated comes out.
test::Chain chain_of(const ModelBuilder& model) {
    TargetColumns target = test::c600();
    target.core_count = 64;
    const auto imported = model.import();
    test::Chain chain(imported.graph, target);
    REQUIRE(!chain.lowered.failure);
    CHECK(chain.timing.latency_cycles == chain.schedules[0].tile_estimate[0].cycles);
    return chain;
}

std::vector<K> kinds_of(const test::Chain& chain) {
    std::vector<K> kinds;
    for (const TileOperator& op : chain.tasks.tile_operators) kinds.push_back(static_cast<K>(op.kind));
    return kinds;
}

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
}

void set_perm(onnx::NodeProto& node, const std::vector<std::int64_t>& perm) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("perm");
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t axis : perm) attribute.add_ints(axis);
}

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0F); }

}  // namespace

TEST_CASE("ONNX: a constant on the left of a MatMul is one on the right of the transpose") {
    ModelBuilder model;
    model.input("x", {2, 96, 64});
    model.weight("w", {128, 96}, ones(std::size_t{128} * 96));
    model.node("MatMul", {"w", "x"}, {"y"}, "product");
    model.output("y");
    CHECK(kinds_of(chain_of(model)) == std::vector<K>{K::Rearrange, K::Gemm, K::Rearrange});
}

TEST_CASE("ONNX: MatMul and Gemm of two computed sides, with transposes") {
    for (const bool transposed : {false, true}) {
        ModelBuilder model;
        model.input("a", {48, 80});
        model.input("b", transposed ? Shape{96, 80} : Shape{80, 96});
        set_int(model.node("Gemm", {"a", "b"}, {"y"}, "product"), "transB", transposed ? 1 : 0);
        model.output("y");
        const auto expected = transposed ? std::vector<K>{K::Rearrange, K::Product} : std::vector<K>{K::Product};
        CHECK(kinds_of(chain_of(model)) == expected);
    }
    ModelBuilder model;
    model.input("a", {4, 48, 80});
    model.input("b", {4, 96, 80});
    set_perm(model.node("Transpose", {"b"}, {"turned"}, "turn"), {0, 2, 1});
    model.node("MatMul", {"a", "turned"}, {"y"}, "product");
    model.output("y");
    const test::Chain chain = chain_of(model);
    CHECK(kinds_of(chain) == std::vector<K>{K::Rearrange, K::Product});
    // The inputs come as the operators want them, and the transposed side is what the matrix unit loads.
    CHECK(chain.timing.tile_operators[0].local_cycles == 0);
    CHECK(chain.timing.tile_operators[0].exchange_cycles + chain.timing.tile_operators[1].exchange_cycles == 0);
}

TEST_CASE("ONNX: Transpose and Reshape alone") {
    ModelBuilder model;
    model.input("x", {3, 32, 48});
    model.integers("shape", {48, 4, 24});
    set_perm(model.node("Transpose", {"x"}, {"turned"}, "turn"), {2, 1, 0});
    model.node("Reshape", {"turned", "shape"}, {"y"}, "cut");
    model.output("y");
    CHECK(kinds_of(chain_of(model)) == std::vector<K>{K::Rearrange});
}
