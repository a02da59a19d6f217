#include "simulate/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/id.h"
#include "pim/reader_parts.h"
#include "simulate/kernels.h"

namespace weft {
namespace {

constexpr std::uint64_t global_limit = std::uint64_t{1} << 28U;   // elements
constexpr std::uint32_t never_stored_bits = 0x7fc5e7edU;

[[noreturn]] void fail(std::uint32_t core, const DecodedInstruction& decoded, const std::string& what) {
    bad_input("core {}, round {}, instruction {} ({}): {}", core, decoded.round, decoded.position, mnemonic(decoded.op()), what);
}

/// Calls use(port index, offset into the port's image, offset into the request, count) for each piece of [address, address +
/// count) that lies in a port, and other(offset into the request, count) for the rest.
template <class InPort, class Other>
void split_by_port(std::span<const Port> ports, std::uint64_t address, std::uint64_t count, InPort&& in_port, Other&& other) {
    std::uint64_t done = 0;
    while (done < count) {
        const std::uint64_t at = address + done;
        std::uint64_t next = address + count;
        std::size_t found = ports.size();
        for (std::size_t port = 0; port < ports.size() && found == ports.size(); ++port) {
            const std::uint64_t end = ports[port].address + port_image_elems(ports[port]);
            if (at >= ports[port].address && at < end) {
                found = port;
                next = std::min(next, end);
            }
        }
        if (found == ports.size()) {
            for (const Port& port : ports) {
                if (port.address > at) next = std::min<std::uint64_t>(next, port.address);
            }
            other(done, next - at);
        } else {
            in_port(found, at - ports[found].address, done, next - at);
        }
        done += next - at;
    }
}

}  // namespace

std::uint64_t port_image_elems(const Port& port) {
    return std::uint64_t{port.rows} * (std::uint64_t{port.columns} + port.gap) * port.channels;
}

float ValueMachine::never_stored() { return std::bit_cast<float>(never_stored_bits); }

bool ValueMachine::is_never_stored(float value) { return std::bit_cast<std::uint32_t>(value) == never_stored_bits; }

ValueMachine::ValueMachine(const Program& program, const BlobStore& store, std::vector<std::vector<std::vector<float>>> input_images)
    : program_(program), input_images_(std::move(input_images)), output_images_(program.outputs.size()) {
    std::vector<std::vector<float>> weights;
    weights.reserve(program.weights.size());
    for (const ProgramWeight& weight : program.weights) {
        weights.push_back(store.get_f32({weight.hash_high, weight.hash_low}, static_cast<std::size_t>(weight.elem_count)));
    }
    for (const std::uint32_t elems : program.core_local_elems) local_.emplace_back(elems, 0.0F);
    for (const ArrayGroup& group : program.groups) build_group(group, weights);
    for (const LocalConstant& constant : program.constants) place_constant(constant, weights);
}

void ValueMachine::build_group(const ArrayGroup& group, std::span<const std::vector<float>> weights) {
    GroupMatrix& matrix = groups_.emplace_back();
    matrix.rows = group.rows;
    matrix.columns = group.columns;
    matrix.cells.assign(std::size_t{group.rows} * group.columns, 0.0F);
    for (const GroupBlock& block : program_.blocks.subspan(group.first_block, group.block_count)) {
        const std::vector<float>& weight = weights[block.weight];
        for (std::size_t row = 0; row < block.rows; ++row) {
            float* cells = matrix.cells.data() + (block.row + row) * std::size_t{group.columns} + block.column;
            const std::size_t first = block.offset + row * block.row_stride;
            for (std::size_t column = 0; column < block.columns; ++column) cells[column] = weight[first + column * block.column_stride];
        }
    }
}

void ValueMachine::place_constant(const LocalConstant& constant, std::span<const std::vector<float>> weights) {
    std::vector<float>& memory = local_[constant.core];
    for (std::size_t repeat = 0; repeat < constant.repeats; ++repeat) {
        const std::size_t first = constant.address + repeat * constant.pitch;
        for (std::size_t at = 0; at < constant.count; ++at) {
            float value = constant.shift;
            if (constant.weight != no_id) value += weights[constant.weight][constant.offset + at * constant.stride] * constant.scale;
            memory[first + at] = value;
        }
    }
}

std::span<float> ValueMachine::local(std::uint32_t core, const DecodedInstruction& decoded, std::int64_t address, std::int64_t count) {
    std::vector<float>& memory = local_[core];
    const auto size = static_cast<std::int64_t>(memory.size());
    if (address < 0 || count < 0 || address > size || count > size - address) {
        fail(core, decoded, fmt::format("{} elements at local address {} lie outside the core's {}", count, address, size));
    }
    return std::span(memory).subspan(static_cast<std::size_t>(address), static_cast<std::size_t>(count));
}

void ValueMachine::execute_local(std::uint32_t core, const DecodedInstruction& decoded) {
    const Instruction& instruction = decoded.instruction;
    switch (decoded.op()) {
        case Opcode::Mvmul: return execute_matrix(core, decoded);
        case Opcode::Lmv: {
            const auto source = local(core, decoded, decoded.rs1_value, instruction.length);
            const auto target = local(core, decoded, decoded.rd_value, instruction.length);
            // As a chip copies: as if all was read before anything is written.
            std::memmove(target.data(), source.data(), source.size_bytes());
            return;
        }
        case Opcode::Lldi: {
            const auto target = local(core, decoded, decoded.rd_value, instruction.length);
            std::fill(target.begin(), target.end(), static_cast<float>(instruction.immediate));
            return;
        }
        case Opcode::Vvdmul: case Opcode::Vavg: case Opcode::Vmv: return execute_strided(core, decoded);
        default: return execute_vector(core, decoded);
    }
}

void ValueMachine::execute_matrix(std::uint32_t core, const DecodedInstruction& decoded) {
    const auto group = program_.core_first_group[core] + static_cast<std::size_t>(decoded.instruction.length);
    const GroupMatrix& matrix = groups_[group];
    const auto x = local(core, decoded, decoded.rs1_value, matrix.rows);
    const auto y = local(core, decoded, decoded.rd_value, matrix.columns);
    // The result may overwrite the operand, so it is made beside it.
    scratch_.resize(matrix.columns);
    multiply_matrix(x, matrix.cells.data(), matrix.columns, scratch_.data());
    const bool clamp_at_zero = decoded.instruction.offset_value != 0;
    if (clamp_at_zero) one_operand_kernel(Opcode::Vrelu, scratch_.data(), 0.0F, scratch_);
    std::copy(scratch_.begin(), scratch_.end(), y.begin());
}

void ValueMachine::execute_vector(std::uint32_t core, const DecodedInstruction& decoded) {
    const std::int64_t length = decoded.instruction.length;
    const auto first = local(core, decoded, decoded.rs1_value, length);
    const auto target = local(core, decoded, decoded.rd_value, length);
    const bool two_operands = decoded.op() <= Opcode::Vvsra;
    const auto second = two_operands ? local(core, decoded, decoded.rs2_value, length) : first;
    // Elements are read before any is written: operands that overlap the target from below need a copy.
    const auto overlaps = [&](std::span<float> operand) { return operand.data() < target.data() && operand.data() + length > target.data(); };
    const bool beside = overlaps(first) || overlaps(second);
    if (beside) scratch_.resize(static_cast<std::size_t>(length));
    const std::span<float> result = beside ? std::span<float>(scratch_) : target;
    if (two_operands) {
        two_operand_kernel(decoded.op(), first.data(), second.data(), result);
    } else {
        one_operand_kernel(decoded.op(), first.data(), std::bit_cast<float>(decoded.rs2_value), result);
    }
    if (beside) std::copy(scratch_.begin(), scratch_.end(), target.begin());
}

void ValueMachine::execute_strided(std::uint32_t core, const DecodedInstruction& decoded) {
    const std::int64_t length = decoded.instruction.length;
    if (decoded.op() == Opcode::Vvdmul) {
        const auto first = local(core, decoded, decoded.rs1_value, length);
        const auto second = local(core, decoded, decoded.rs2_value, length);
        double sum = 0;
        for (std::size_t at = 0; at < first.size(); ++at) sum += static_cast<double>(first[at]) * static_cast<double>(second[at]);
        local(core, decoded, decoded.rd_value, 1)[0] = static_cast<float>(sum);
        return;
    }
    const std::int64_t stride = decoded.rs2_value;
    if (stride < 0) fail(core, decoded, fmt::format("a negative stride, {}", stride));
    const auto source = local(core, decoded, decoded.rs1_value, length == 0 ? 0 : (length - 1) * stride + 1);
    const auto element = [&](std::int64_t at) { return source[static_cast<std::size_t>(at * stride)]; };
    if (decoded.op() == Opcode::Vavg) {
        double sum = 0;
        for (std::int64_t at = 0; at < length; ++at) sum += static_cast<double>(element(at));
        local(core, decoded, decoded.rd_value, 1)[0] = static_cast<float>(sum / static_cast<double>(length));
        return;
    }
    scratch_.resize(static_cast<std::size_t>(length));
    for (std::int64_t at = 0; at < length; ++at) scratch_[static_cast<std::size_t>(at)] = element(at);
    std::copy(scratch_.begin(), scratch_.end(), local(core, decoded, decoded.rd_value, length).begin());
}

std::vector<float> ValueMachine::read_local(std::uint32_t core, const DecodedInstruction& decoded, std::int32_t address) {
    const auto values = local(core, decoded, address, decoded.instruction.length);
    return {values.begin(), values.end()};
}

void ValueMachine::write_local(std::uint32_t core, const DecodedInstruction& decoded, std::int32_t address, std::span<const float> values) {
    const auto target = local(core, decoded, address, static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), target.begin());
}

std::vector<float> ValueMachine::load(std::uint32_t core, const DecodedInstruction& decoded) {
    const auto count = static_cast<std::uint64_t>(decoded.instruction.length);
    if (decoded.global_address > global_limit - count) fail(core, decoded, fmt::format("global address {} is out of reach", decoded.global_address));
    std::vector<float> values(count, 0.0F);
    const auto& images = input_images_[static_cast<std::size_t>(decoded.round % input_images_.size())];
    split_by_port(
        program_.inputs, decoded.global_address, count,
        [&](std::size_t port, std::uint64_t from, std::uint64_t to, std::uint64_t piece) {
            std::copy_n(images[port].begin() + static_cast<std::ptrdiff_t>(from), piece, values.begin() + static_cast<std::ptrdiff_t>(to));
        },
        [&](std::uint64_t to, std::uint64_t piece) {
            for (std::uint64_t at = 0; at < piece; ++at) {
                const std::uint64_t address = decoded.global_address + to + at;
                if (address < global_.size()) values[to + at] = global_[address];
            }
        });
    return values;
}

void ValueMachine::store(std::uint32_t core, const DecodedInstruction& decoded, std::span<const float> values) {
    const std::uint64_t address = decoded.global_address;
    if (address > global_limit - values.size()) fail(core, decoded, fmt::format("global address {} is out of reach", address));
    if (global_.size() < address + values.size()) global_.resize(address + values.size(), 0.0F);
    std::copy(values.begin(), values.end(), global_.begin() + static_cast<std::ptrdiff_t>(address));
    const auto in_port = [&](std::size_t port, std::uint64_t to, std::uint64_t from, std::uint64_t piece) {
        const Port& row = program_.outputs[port];
        if (decoded.round < row.offset) return;   // the first rounds have nothing to work on yet
        const auto inference = static_cast<std::size_t>(decoded.round - row.offset);
        auto& images = output_images_[port];
        if (images.size() <= inference) images.resize(inference + 1);
        if (images[inference].empty()) images[inference].assign(port_image_elems(row), never_stored());
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), piece, images[inference].begin() + static_cast<std::ptrdiff_t>(to));
    };
    split_by_port(program_.outputs, address, values.size(), in_port, [](std::uint64_t, std::uint64_t) {});
}

std::span<const float> ValueMachine::output_image(std::size_t port, std::uint64_t inference) const {
    if (inference >= output_images_[port].size()) return {};
    return output_images_[port][static_cast<std::size_t>(inference)];
}

}  // namespace weft
