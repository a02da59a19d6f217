#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"
#include "pim/kernel_parts.h"

namespace weft::kernel {
namespace {

std::int32_t float_bits(float value) { return std::bit_cast<std::int32_t>(value); }

StepKind kind_of(const Step& step) { return static_cast<StepKind>(step.kind); }
OperandKind operand_kind(const Step& step) { return static_cast<OperandKind>(step.operand_kind); }

/// Buffers of one segment's length that a step needs besides its output.
std::int32_t temporaries(StepKind kind) {
    switch (kind) {
        case StepKind::LeakyRelu:
        case StepKind::HardSwish:
        case StepKind::Silu:
        case StepKind::MinOperand: return 1;
        case StepKind::PRelu: return 2;
        default: return 0;
    }
}

/// The steps of one segment: `elems` elements of one row, `positions` positions.
class SegmentSteps {
public:
    SegmentSteps(Emission& emission, std::uint32_t row, std::uint32_t column, std::uint32_t positions)
        : emission_(emission),
          row_(row),
          column_(column),
          positions_(positions),
          elems_(static_cast<std::int32_t>(positions * emission.output.channels)),
          limit_(static_cast<std::int32_t>(segment_positions(emission.output) * emission.output.channels)),
          output_(element_address(emission.space.output, emission.output, static_cast<std::int32_t>(row),
                                  static_cast<std::int32_t>(column))) {}

    /// The running value is at `source` before step `index`, at the output afterwards.
    void apply(std::size_t index, std::int32_t source) {
        const Step& step = emission_.steps()[index];
        const std::int32_t scratch = emission_.space.scratch;
        const std::int32_t second_scratch = scratch + limit_;
        switch (kind_of(step)) {
            case StepKind::Relu: one(Opcode::Vrelu, output_, source); break;
            case StepKind::Sigmoid: one(Opcode::Vsigm, output_, source); break;
            case StepKind::Tanh: one(Opcode::Vtanh, output_, source); break;
            case StepKind::Clip: clip(step.alpha, step.beta, source); break;
            case StepKind::LeakyRelu:
                if (step.alpha <= 1.0F) {
                    two(Opcode::Vvmul, scratch, source, fill(step.alpha));
                    two(Opcode::Vvmax, output_, source, scratch);
                } else {   // min(x, alpha x) has no instruction: relu(x) + alpha (x - relu(x)) = alpha x + (1 - alpha) relu(x)
                    one(Opcode::Vrelu, scratch, source);
                    two(Opcode::Vvmul, scratch, scratch, fill(1.0F - step.alpha));
                    two(Opcode::Vvmul, output_, source, fill(step.alpha));
                    two(Opcode::Vvadd, output_, output_, scratch);
                }
                break;
            case StepKind::HardSigmoid:
                two(Opcode::Vvmul, output_, source, fill(step.alpha));
                two(Opcode::Vvadd, output_, output_, fill(step.beta));
                clip(0.0F, 1.0F, output_);
                break;
            case StepKind::HardSwish:
                two(Opcode::Vvmul, scratch, source, fill(1.0F / 6.0F));
                two(Opcode::Vvadd, scratch, scratch, fill(0.5F));
                one(Opcode::Vrelu, scratch, scratch);
                bound(Opcode::Vrsu, scratch, scratch, 1.0F);
                two(Opcode::Vvmul, output_, source, scratch);
                break;
            case StepKind::Silu:
                one(Opcode::Vsigm, scratch, source);
                two(Opcode::Vvmul, output_, source, scratch);
                break;
            case StepKind::AddOperand: with_operand(index, Opcode::Vvadd, source, false); break;
            case StepKind::SubOperand: with_operand(index, Opcode::Vvsub, source, false); break;
            case StepKind::OperandSub: with_operand(index, Opcode::Vvsub, source, true); break;
            case StepKind::MulOperand: with_operand(index, Opcode::Vvmul, source, false); break;
            case StepKind::MaxOperand: with_operand(index, Opcode::Vvmax, source, false); break;
            case StepKind::MinOperand:   // min(v, o) = v - relu(v - o)
                with_operand(index, Opcode::Vvsub, source, false, scratch);
                one(Opcode::Vrelu, scratch, scratch);
                two(Opcode::Vvsub, output_, source, scratch);
                break;
            case StepKind::PRelu:   // relu(v) + slope (v - relu(v))
                one(Opcode::Vrelu, scratch, source);
                two(Opcode::Vvsub, second_scratch, source, scratch);
                with_operand(index, Opcode::Vvmul, second_scratch, false, second_scratch);
                two(Opcode::Vvadd, output_, scratch, second_scratch);
                break;
        }
    }

private:
    void push(const Operation& operation) {
        emission_.body.assign(1, operation);
        emission_.code.append(emission_.body, 1, emission_.label());
    }
    void one(Opcode op, std::int32_t target, std::int32_t source) { push({op, {target, 0}, {source, 0}, {}, elems_, 0}); }
    void two(Opcode op, std::int32_t target, std::int32_t first, std::int32_t second) {
        push({op, {target, 0}, {first, 0}, {second, 0}, elems_, 0});
    }
    void bound(Opcode op, std::int32_t target, std::int32_t source, float value) {
        push({op, {target, 0}, {source, 0}, {float_bits(value), 0}, elems_, 0});
    }
    std::int32_t fill(float value) { return emission_.memory.fill(value, limit_); }

    void clip(float minimum, float maximum, std::int32_t source) {
        const bool below = std::isfinite(minimum);
        const bool above = std::isfinite(maximum);
        if (minimum == 0.0F) {
            one(Opcode::Vrelu, output_, source);
        } else if (below) {
            bound(Opcode::Vrsl, output_, source, minimum);
        }
        if (above) bound(Opcode::Vrsu, output_, below ? output_ : source, maximum);
        if (!below && !above && source != output_) one(Opcode::Lmv, output_, source);
    }

    /// target = source op operand, or operand op source.
    void with_operand(std::size_t index, Opcode op, std::int32_t source, bool swapped, std::int32_t target) {
        const Step& step = emission_.steps()[index];
        const auto pair = [&](std::int32_t operand) {
            two(op, target, swapped ? operand : source, swapped ? source : operand);
        };
        const auto row = static_cast<std::int32_t>(row_);
        const auto column = static_cast<std::int32_t>(column_);
        switch (operand_kind(step)) {
            case OperandKind::Input:
                pair(element_address(emission_.space.inputs[step.operand], emission_.input(step.operand), row, column));
                return;
            case OperandKind::ChannelConstant:
                pair(emission_.memory.channel_constant(emission_.tasks, step.operand, emission_.output.channels,
                                                       segment_positions(emission_.output)));
                return;
            case OperandKind::FullConstant: {
                const RowAddress rows{emission_.full_constants[index], static_cast<std::int32_t>(emission_.full_first_row)};
                pair(element_address(rows, emission_.output, row, column));
                return;
            }
            case OperandKind::InputBroadcast: {
                const auto channels = static_cast<std::int32_t>(emission_.output.channels);
                const Address operand{element_address(emission_.space.inputs[step.operand], emission_.input(step.operand), 0, 0), 0};
                const Address value{source, channels};
                emission_.body.assign(
                    1, {op, {target, channels}, swapped ? operand : value, swapped ? value : operand, channels, 0});
                emission_.code.append(emission_.body, positions_, emission_.label());
                return;
            }
            case OperandKind::None: break;
        }
        WEFT_CHECK(false, "step {} has no operand", index);
    }
    void with_operand(std::size_t index, Opcode op, std::int32_t source, bool swapped) {
        with_operand(index, op, source, swapped, output_);
    }

    Emission& emission_;
    std::uint32_t row_;
    std::uint32_t column_;
    std::uint32_t positions_;
    std::int32_t elems_;
    std::int32_t limit_;
    std::int32_t output_;
};

/// Cut [first_column, end_column) into segments and run `body(column, positions)` on each.
template <class Body>
void for_segments(const TaskTensor& tensor, std::uint32_t first_column, std::uint32_t end_column, Body body) {
    const std::uint32_t limit = segment_positions(tensor);
    for (std::uint32_t column = first_column; column < end_column; column += limit) {
        body(column, std::min(limit, end_column - column));
    }
}

}  // namespace

std::int32_t steps_scratch_elems(const Tasks& tasks, const Family& family) {
    std::int32_t most = 0;
    for (const Step& step : tasks.steps.subspan(family.first_step, family.step_count)) most = std::max(most, temporaries(kind_of(step)));
    const TaskTensor& output = tasks.tensors[family.output];
    return most * static_cast<std::int32_t>(segment_positions(output) * output.channels);
}

void emit_steps(Emission& emission, std::uint32_t row, std::uint32_t first_column, std::uint32_t end_column) {
    if (emission.steps().empty()) return;
    for_segments(emission.output, first_column, end_column, [&](std::uint32_t column, std::uint32_t positions) {
        SegmentSteps segment(emission, row, column, positions);
        const std::int32_t output = element_address(emission.space.output, emission.output, static_cast<std::int32_t>(row),
                                                    static_cast<std::int32_t>(column));
        for (std::size_t index = 0; index < emission.steps().size(); ++index) segment.apply(index, output);
    });
}

void emit_pointwise(Emission& emission, std::uint32_t row, std::uint32_t first_column, std::uint32_t end_column) {
    for_segments(emission.output, first_column, end_column, [&](std::uint32_t column, std::uint32_t positions) {
        SegmentSteps segment(emission, row, column, positions);
        const auto y = static_cast<std::int32_t>(row);
        const auto x = static_cast<std::int32_t>(column);
        const std::int32_t input = element_address(emission.space.inputs[0], emission.input(0), y, x);
        const std::int32_t output = element_address(emission.space.output, emission.output, y, x);
        for (std::size_t index = 0; index < emission.steps().size(); ++index) segment.apply(index, index == 0 ? input : output);
        if (emission.steps().empty()) {
            const auto elems = static_cast<std::int32_t>(positions * emission.output.channels);
            emission.body.assign(1, {Opcode::Lmv, {output, 0}, {input, 0}, {}, elems, 0});
            emission.code.append(emission.body, 1, emission.label());
        }
    });
}

}  // namespace weft::kernel
