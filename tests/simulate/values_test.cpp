#include "simulate/values.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "artifact/blob_store.h"
#include "program_maker.h"
#include "simulate/check.h"
#include "simulate/host.h"
#include "simulate/kernels.h"
#include "simulate/outcome.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr int memory_elems = 256;

/// One core, one input of `input.size()` elements at global address 0, one output of `output_elems` at 10,000. `body` finds the
/// input at local address 0 and leaves the output at local address 100.
struct OneCore {
    ScratchFolder folder;
    BlobStore store{folder.path};
    ProgramMaker maker{ValueKind::F32};

    std::uint32_t add_weight(const std::vector<float>& values) {
        const Hash128 hash = store.put(std::as_bytes(std::span(values)));
        maker.columns.weights.push_back({hash.high, hash.low, values.size()});
        return static_cast<std::uint32_t>(maker.columns.weights.size() - 1);
    }

    std::vector<float> run(std::vector<Instruction> body, const std::vector<float>& input, std::uint32_t output_elems) {
        std::vector<Instruction> list{setbw(), sldi(28, 0), sldi(29, 0), sldi(1, 0), make(Opcode::Ld, 1, 28, 0, 0, static_cast<int>(input.size()))};
        list.insert(list.end(), body.begin(), body.end());
        list.insert(list.end(), {sldi(29, 10000), sldi(1, 100), make(Opcode::St, 28, 1, 0, 0, static_cast<int>(output_elems))});
        maker.core(list, memory_elems);
        maker.columns.inputs = {{0, 0, 1, 1, static_cast<std::uint32_t>(input.size()), 0, 0, 0, 1, 0}};
        maker.columns.outputs = {{1, 10000, 1, 1, output_elems, 0, 0, 0, 1, 0}};
        const Program program = maker.program();
        REQUIRE(check_program(program, view(example_chip(1)), true, "test").empty());
        Host host(program, nullptr, store, {{{static_cast<std::uint32_t>(input.size())}, input}});
        ValueMachine values(program, store, host.input_images());
        const auto result = simulate(program, view(example_chip(1)), {}, &values);
        REQUIRE(result.stuck.empty());
        return host.outputs(values, 0).at(0).values;
    }
};

std::vector<float> run_body(const std::vector<Instruction>& body, const std::vector<float>& input, std::uint32_t output_elems) {
    OneCore core;
    return core.run(body, input, output_elems);
}

int bits(float value) { return std::bit_cast<int>(value); }

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("two-operand vector instructions") {
    const Floats input{1, -2, 3, 0.5F, 4, -5, 2, 1};   // a = first four, b = last four
    const auto result = [&](Opcode op) { return run_body({sldi(2, 0), sldi(3, 4), sldi(4, 100), make(op, 4, 2, 3, 0, 4)}, input, 4); };
    CHECK(result(Opcode::Vvadd) == Floats{5, -7, 5, 1.5F});
    CHECK(result(Opcode::Vvsub) == Floats{-3, 3, 1, -0.5F});
    CHECK(result(Opcode::Vvmul) == Floats{4, 10, 6, 0.5F});
    CHECK(result(Opcode::Vvmax) == Floats{4, -2, 3, 1});
    CHECK(result(Opcode::Vvsll) == Floats{16, -0.0625F, 12, 1});
    CHECK(result(Opcode::Vvsra) == Floats{0.0625F, -64, 0.75F, 0.25F});
    CHECK(run_body({sldi(2, 0), sldi(3, 4), sldi(4, 100), make(Opcode::Vvdmul, 4, 2, 3, 0, 4)}, input, 1) == Floats{4 + 10 + 6 + 0.5F});
}

TEST_CASE("one-operand vector instructions") {
    const Floats input{1, -2, 3, -0.5F};
    const auto result = [&](Opcode op, int bound = 0) { return run_body({sldi(2, 0), sldi(3, bound), sldi(4, 100), make(op, 4, 2, 3, 0, 4)}, input, 4); };
    CHECK(result(Opcode::Vrelu) == Floats{1, 0, 3, 0});
    CHECK(result(Opcode::Vrsu, bits(1.5F)) == Floats{1, -2, 1.5F, -0.5F});
    CHECK(result(Opcode::Vrsl, bits(-1.0F)) == Floats{1, -1, 3, -0.5F});
    const Floats tanh = result(Opcode::Vtanh), sigmoid = result(Opcode::Vsigm), softmax = result(Opcode::Vsoftmax);
    double sum = 0;
    for (const float value : input) sum += std::exp(static_cast<double>(value));
    for (std::size_t at = 0; at < input.size(); ++at) {
        const auto x = static_cast<double>(input[at]);
        CHECK(static_cast<double>(tanh[at]) == doctest::Approx(std::tanh(x)).epsilon(1e-6));
        CHECK(static_cast<double>(sigmoid[at]) == doctest::Approx(1 / (1 + std::exp(-x))).epsilon(1e-6));
        CHECK(static_cast<double>(softmax[at]) == doctest::Approx(std::exp(x) / sum).epsilon(1e-6));
    }
}

TEST_CASE("strides, copies and fills") {
    Floats input(20);
    for (std::size_t at = 0; at < input.size(); ++at) input[at] = static_cast<float>(at);
    CHECK(run_body({sldi(2, 1), sldi(3, 4), sldi(4, 100), make(Opcode::Vmv, 4, 2, 3, 0, 5)}, input, 5) == Floats{1, 5, 9, 13, 17});
    CHECK(run_body({sldi(2, 2), sldi(3, 3), sldi(4, 100), make(Opcode::Vavg, 4, 2, 3, 0, 4)}, input, 1) == Floats{(2 + 5 + 8 + 11) / 4.0F});
    CHECK(run_body({sldi(2, 3), sldi(4, 100), make(Opcode::Lmv, 4, 2, 0, 0, 3)}, input, 3) == Floats{3, 4, 5});
    CHECK(run_body({sldi(4, 100), make(Opcode::Lldi, 4, 0, 0, -7, 3)}, input, 4) == Floats{-7, -7, -7, 0});   // memory starts at zero
}

TEST_CASE("operands that overlap the result are read first") {
    const Floats input{1, 2, 3, 4, 5, 6};
    CHECK(run_body({sldi(2, 0), sldi(3, 1), make(Opcode::Vvadd, 3, 2, 2, 0, 4), sldi(4, 100), make(Opcode::Lmv, 4, 2, 0, 0, 6)}, input, 6) ==
          Floats{1, 2, 4, 6, 8, 6});
    CHECK(run_body({sldi(2, 0), sldi(3, 1), make(Opcode::Lmv, 3, 2, 0, 0, 4), sldi(4, 100), make(Opcode::Lmv, 4, 2, 0, 0, 6)}, input, 6) ==
          Floats{1, 1, 2, 3, 4, 6});
    CHECK(run_body({sldi(2, 1), sldi(3, 0), make(Opcode::Lmv, 3, 2, 0, 0, 4), sldi(4, 100), make(Opcode::Lmv, 4, 3, 0, 0, 6)}, input, 6) ==
          Floats{2, 3, 4, 5, 5, 6});
}

TEST_CASE("register arithmetic addresses memory; runs step it") {
    Floats input(12);
    for (std::size_t at = 0; at < input.size(); ++at) input[at] = static_cast<float>(at);
    const auto scalar = [](Opcode op, int rd, int rs1, int rs2, int immediate) { return make(op, rd, rs1, rs2, immediate); };
    // r2 = 3, r3 = 3 * 2 = 6, r5 = 3 + 6 - 1 - 1 = 7
    CHECK(run_body({sldi(2, 3), scalar(Opcode::Smuli, 3, 2, 0, 2), scalar(Opcode::Sadd, 4, 2, 3, 0), sldi(6, 1), scalar(Opcode::Ssub, 5, 4, 6, 0),
                    scalar(Opcode::Saddi, 7, 5, 0, -1), sldi(4, 100), make(Opcode::Lmv, 4, 7, 0, 0, 2)},
                   input, 2) == Floats{7, 8});
}

TEST_CASE("array groups: blocks, strides, the relu bit, result over its own operand") {
    OneCore core;
    // A 3 x 2 weight stored column-major after one element of something else; the rest of the group is zero.
    const std::uint32_t weight = core.add_weight({99, 1, 2, 3, -4, -5, -6});
    core.maker.columns.groups = {{1, 4, 3, 0, 2}};
    core.maker.columns.blocks = {{weight, 0, 0, 3, 2, 1, 1, 3}, {weight, 3, 2, 1, 1, 0, 0, 0}};
    const Floats x{1, 10, 100, 2};
    const Floats y{1 + 20 + 300, -4 - 50 - 600, 2 * 99};
    CHECK(core.run({sldi(2, 0), sldi(4, 100), make(Opcode::Mvmul, 4, 2, 0, 8, 0)}, x, 3) == y);

    OneCore clamped;
    clamped.maker.columns = {};
    clamped.maker = ProgramMaker(ValueKind::F32);
    const std::uint32_t again = clamped.add_weight({99, 1, 2, 3, -4, -5, -6});
    clamped.maker.columns.groups = {{1, 4, 3, 0, 2}};
    clamped.maker.columns.blocks = {{again, 0, 0, 3, 2, 1, 1, 3}, {again, 3, 2, 1, 1, 0, 0, 0}};
    Instruction multiply = make(Opcode::Mvmul, 2, 2, 0, 8, 0);
    multiply.offset_value = 1;
    CHECK(clamped.run({sldi(2, 0), multiply, sldi(4, 100), make(Opcode::Lmv, 4, 2, 0, 0, 4)}, x, 4) == Floats{321, 0, 198, 2});
}

TEST_CASE("constants in local memory: scaled weights, plain values, repeated") {
    OneCore core;
    const std::uint32_t weight = core.add_weight({1, 2, 3, 4});
    core.maker.columns.constants = {{0, 100, 2, 3, 4, weight, 1, 2, 10.0F, 0.5F}, {0, 102, 1, 2, 4, no_id, 0, 0, 0.0F, -1.0F}};
    CHECK(core.run({}, {0}, 12) == Floats{20.5F, 40.5F, -1, 0, 20.5F, 40.5F, -1, 0, 20.5F, 40.5F, 0, 0});
}

TEST_CASE("ports: gaps, transposed layouts, several inferences in flight") {
    // Core 0 loads a 2 x 2 x 3 input with a gap of one column and sends it on; core 1 stores, one round later, what it got in the
    // round before: offset 1.
    ScratchFolder folder;
    const BlobStore store{folder.path};
    ProgramMaker maker(ValueKind::F32);
    constexpr int image = 2 * 3 * 3;
    maker.core({setbw(), sldi(28, 0), sldi(29, 50), sldi(1, 0), make(Opcode::Ld, 1, 28, 0, 0, image), send(1, image)}, image);
    maker.core({setbw(), sldi(28, 0), sldi(29, 500), sldi(1, 0), make(Opcode::St, 28, 1, 0, 0, image), recv(0, image)}, image);
    // Logical order: channel, row, column.
    maker.columns.inputs = {{7, 50, 2, 2, 3, 1, 2, 1, 4, 0}};
    maker.columns.outputs = {{9, 500, 2, 2, 3, 1, 2, 1, 4, 1}};
    maker.columns.depth = 1;
    const Program program = maker.program();
    std::vector<HostTensor> inputs;
    for (int inference = 0; inference < 3; ++inference) {
        HostTensor& tensor = inputs.emplace_back();
        tensor.dims = {1, 3, 2, 2};
        for (int at = 0; at < 12; ++at) tensor.values.push_back(static_cast<float>(100 * inference + at));
    }
    Host host(program, nullptr, store, inputs);
    CHECK(host.inference_count() == 3);
    const auto images = host.input_images();
    REQUIRE(images.size() == 3);
    CHECK(images[1][0] == Floats{100, 104, 108, 101, 105, 109, 0, 0, 0, 102, 106, 110, 103, 107, 111, 0, 0, 0});
    ValueMachine values(program, store, images);
    SimulationOptions options;
    options.rounds = 5;   // 3 inputs, the fourth is the first again
    REQUIRE(simulate(program, view(example_chip(2)), options, &values).stuck.empty());
    for (std::uint64_t inference = 0; inference < 4; ++inference) {
        CAPTURE(inference);
        CHECK(host.outputs(values, inference).at(0).values == inputs[inference % 3].values);
    }
    CHECK_THROWS_AS((void)host.outputs(values, 4), Failure);   // round 5 was not run
}

TEST_CASE("what a program cannot mean is refused, with core and instruction") {
    const auto failure_of = [](auto&& action) {
        try {
            action();
        } catch (const Failure& failure) {
            return std::string(failure.what());
        }
        return std::string();
    };
    const Floats input{1, 2};
    const auto message = failure_of([&] { (void)run_body({sldi(2, 255), sldi(4, 100), make(Opcode::Vvadd, 4, 2, 2, 0, 2)}, input, 1); });
    CHECK(message.find("core 0, round 0, instruction 7 (vvadd)") != std::string::npos);
    CHECK(failure_of([&] { (void)run_body({sldi(2, -1), sldi(4, 100), make(Opcode::Lmv, 4, 2, 0, 0, 2)}, input, 1); }).find("local address -1") != std::string::npos);
    CHECK(failure_of([&] { (void)run_body({sldi(2, 0), sldi(3, -1), sldi(4, 100), make(Opcode::Vmv, 4, 2, 3, 0, 2)}, input, 1); }).find("negative stride") != std::string::npos);

    ScratchFolder folder;
    const BlobStore store{folder.path};
    ProgramMaker maker(ValueKind::F32);
    maker.core({setbw(), send(1, 8)}, 16);
    maker.core({setbw(), recv(0, 9)}, 16);
    ValueMachine values(maker.program(), store, {{}});
    const auto mismatch = failure_of([&] { (void)simulate(maker.program(), view(example_chip(2)), {}, &values); });
    CHECK(mismatch.find("sends 8 elements to core 1, whose recv at instruction 1 takes 9") != std::string::npos);

    TargetColumns chip = example_chip(2);
    chip.core.rob_entries = 8;
    CHECK(failure_of([&] { require_values(maker.program(), view(chip)); }).find("reorder buffer of one") != std::string::npos);
    ProgramMaker timing;
    timing.core({setbw(), send(0, 8)});
    CHECK(failure_of([&] { require_values(timing.program(), view(example_chip(2))); }).find("time only") != std::string::npos);
}

TEST_CASE("an output that nobody wrote in full is refused") {
    ScratchFolder folder;
    const BlobStore store{folder.path};
    ProgramMaker maker(ValueKind::F32);
    maker.core({setbw(), sldi(28, 0), sldi(29, 50), sldi(1, 0), make(Opcode::Ld, 1, 28, 0, 0, 4), sldi(29, 500), make(Opcode::St, 28, 1, 0, 0, 3)}, 16);
    maker.columns.inputs = {{0, 50, 1, 1, 4, 0, 0, 0, 1, 0}};
    maker.columns.outputs = {{1, 500, 1, 1, 4, 0, 0, 0, 1, 0}};
    const Program program = maker.program();
    Host host(program, nullptr, store, {{{4}, {1, 2, 3, 4}}});
    ValueMachine values(program, store, host.input_images());
    REQUIRE(simulate(program, view(example_chip(1)), {}, &values).stuck.empty());
    CHECK_THROWS_WITH_AS((void)host.outputs(values, 0), "inference 0: element 3 of output tensor 1 was never stored", Failure);
}

TEST_CASE("the matrix kernel adds rows in order, whatever the shape") {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const auto& shape : std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {3, 5}, {4, 8}, {7, 33}, {128, 512}, {127, 9}, {5, 0}, {0, 4}}) {
        const std::size_t rows = shape.first;
        const std::size_t columns = shape.second;
        CAPTURE(rows);
        CAPTURE(columns);
        Floats x(rows), cells(rows * columns), y(columns, 42.0F);
        for (float& value : x) value = uniform(random);
        for (float& value : cells) value = uniform(random);
        multiply_matrix(x, cells.data(), columns, y.data());
        for (std::size_t column = 0; column < columns; ++column) {
            float sum = 0;
            for (std::size_t row = 0; row < rows; ++row) sum += x[row] * cells[row * columns + column];
            CHECK(y[column] == sum);
        }
    }
}
