#include <algorithm>
#include <bit>

#include "artifact/program.h"
#include "artifact/validate.h"
#include "artifact/validate_tiles.h"

namespace weft {
namespace {

constexpr std::size_t core_limit = 1U << 15U;
constexpr std::uint64_t execution_limit = std::uint64_t{1} << 48U;
constexpr std::int32_t event_registers = 32;
constexpr std::uint8_t registers = 32;

/// a * b held to 2^62, so that a sum of two stays below 2^63; everything up there is out of range anyway.
std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t bound = std::uint64_t{1} << 62U;
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? bound : std::min(product, bound);
}

bool takes_register_pair(Opcode op) { return op == Opcode::Ld || op == Opcode::St || op == Opcode::Sld; }

/// Largest array group named by an mvmul among any range of instruction rows: ranges of different cores may overlap, so
/// looking at every row of every range could take quadratic time. Blocks of rows and a sparse table over the blocks.
class LargestGroup {
public:
    explicit LargestGroup(std::span<const Instruction> rows) : rows_(rows) {
        std::vector<std::int64_t> blocks;
        for (std::size_t row = 0; row < rows.size(); row += block_rows) {
            blocks.push_back(scan(row, std::min(row + block_rows, rows.size())));
        }
        levels_.push_back(std::move(blocks));
        while (levels_.back().size() > (std::size_t{1} << (levels_.size() - 1))) {
            const std::size_t half = std::size_t{1} << (levels_.size() - 1);
            const auto& lower = levels_.back();
            std::vector<std::int64_t> upper(lower.size() - half);
            for (std::size_t at = 0; at < upper.size(); ++at) upper[at] = std::max(lower[at], lower[at + half]);
            levels_.push_back(std::move(upper));
        }
    }

    /// -1 where rows [first, last) hold no mvmul.
    [[nodiscard]] std::int64_t within(std::size_t first, std::size_t last) const {
        const std::size_t first_block = (first + block_rows - 1) / block_rows;
        const std::size_t last_block = last / block_rows;
        if (first_block >= last_block) return scan(first, last);
        const std::size_t count = last_block - first_block;
        const auto level = static_cast<std::size_t>(std::bit_width(count)) - 1;
        const auto& table = levels_[level];
        const std::int64_t inside = std::max(table[first_block], table[last_block - (std::size_t{1} << level)]);
        return std::max({inside, scan(first, first_block * block_rows), scan(last_block * block_rows, last)});
    }

private:
    static constexpr std::size_t block_rows = 64;

    [[nodiscard]] std::int64_t scan(std::size_t first, std::size_t last) const {
        std::int64_t largest = -1;
        for (std::size_t row = first; row < last; ++row) {
            if (static_cast<Opcode>(rows_[row].op) == Opcode::Mvmul) largest = std::max<std::int64_t>(largest, rows_[row].length);
        }
        return largest;
    }

    std::span<const Instruction> rows_;
    std::vector<std::vector<std::int64_t>> levels_;
};

void check_fields(const Validator& check, const Instruction& instruction, std::size_t row) {
    const auto op = static_cast<Opcode>(instruction.op);
    const auto rule = [&](bool holds, std::string_view what, std::int64_t value) {
        if (!holds) check.reject("instructions", row, "opcode {}: {} {} is impossible", instruction.op, what, value);
    };
    rule(instruction.op <= static_cast<std::uint8_t>(Opcode::Sync), "code", instruction.op);
    rule(instruction.rd < registers, "rd", instruction.rd);
    rule(instruction.rs1 < registers, "rs1", instruction.rs1);
    rule(instruction.rs2 < registers, "rs2", instruction.rs2);
    rule(!takes_register_pair(op) || op == Opcode::St || instruction.rs1 + 1 < registers, "register pair rs1", instruction.rs1);
    rule(op != Opcode::St || instruction.rd + 1 < registers, "register pair rd", instruction.rd);
    rule(op == Opcode::Sldi || op == Opcode::Saddi || instruction.step == 0, "step", instruction.step);
    rule(op == Opcode::Wait || instruction.length >= 0, "length", instruction.length);
    if (op == Opcode::Wait || op == Opcode::Sync) {
        rule(instruction.length >= 0 && instruction.length < event_registers, "event register", instruction.length);
    }
    if (op == Opcode::Setbw) rule(instruction.immediate >= 0 && instruction.immediate <= 64, "input width", instruction.immediate);
    if (op == Opcode::Setbw) rule(instruction.length <= 64, "output width", instruction.length);
    if (op == Opcode::Mvmul) rule(instruction.immediate > 0, "weight width", instruction.immediate);
}

void check_instructions(const Validator& check, const Program& program, std::size_t cores) {
    for (std::size_t row = 0; row < program.instructions.size(); ++row) {
        const Instruction& instruction = program.instructions[row];
        check_fields(check, instruction, row);
        const auto op = static_cast<Opcode>(instruction.op);
        if (op != Opcode::Send && op != Opcode::Recv && op != Opcode::Sync) continue;
        if (instruction.immediate < 0 || static_cast<std::size_t>(instruction.immediate) >= cores) {
            check.reject("instructions", row, "opcode {} names core {}, but there are {} cores", instruction.op, instruction.immediate, cores);
        }
    }
}

void check_runs(const Validator& check, const Program& program, std::size_t cores) {
    check.offsets(program.core_first_run, cores, program.runs.size(), "core_first_run");
    const LargestGroup largest(program.instructions);
    std::uint64_t executed = 0;
    for (std::size_t core = 0; core < cores; ++core) {
        const std::int64_t groups = std::int64_t{program.core_first_group[core + 1]} - program.core_first_group[core];
        for (std::size_t row = program.core_first_run[core]; row < program.core_first_run[core + 1]; ++row) {
            const Run& run = program.runs[row];
            check.range(run.first_instruction, run.instruction_count, program.instructions.size(), "runs", row);
            if (run.trip_count == 0) check.reject("runs", row, "trip_count must be at least 1");
            check.below_or_none(run.label, program.labels.size(), "runs", row);
            executed += std::uint64_t{run.instruction_count} * run.trip_count;
            if (executed > execution_limit || run.instruction_count > execution_limit / run.trip_count) {
                check.reject("runs", row, "more than 2^48 instructions in one round");
            }
            const std::int64_t group = largest.within(run.first_instruction, std::size_t{run.first_instruction} + run.instruction_count);
            if (group >= groups) check.reject("runs", row, "an mvmul names array group {}, but core {} has {}", group, core, groups);
        }
    }
}

/// offset + (count - 1) * stride pairs stay below the weight's size.
void check_weight_range(const Validator& check, const Program& program, std::uint32_t weight, std::uint64_t last,
                        std::string_view column, std::size_t row) {
    check.below(weight, program.weights.size(), column, row);
    if (last >= program.weights[weight].elem_count) {
        check.reject(column, row, "reads element {} of weight {}, which has {}", last, weight, program.weights[weight].elem_count);
    }
}

void check_groups(const Validator& check, const Program& program, std::size_t cores) {
    check.offsets(program.core_first_group, cores, program.groups.size(), "core_first_group");
    if (program.value_kind == ValueKind::TimingOnly) check.length(program.blocks.size(), 0, "blocks");
    constexpr std::uint64_t reference_limit = 1U << 26U;   // groups may share blocks, but not so that checking takes for ever
    std::uint64_t references = 0;
    for (std::size_t row = 0; row < program.groups.size(); ++row) {
        const ArrayGroup& group = program.groups[row];
        if (group.crossbars == 0) check.reject("groups", row, "a group needs at least one crossbar");
        check.range(group.first_block, group.block_count, program.blocks.size(), "groups", row);
        references += group.block_count;
        if (references > reference_limit) check.reject("groups", row, "the groups name more than {} blocks", reference_limit);
        for (std::size_t at = group.first_block; at < std::size_t{group.first_block} + group.block_count; ++at) {
            const GroupBlock& block = program.blocks[at];
            check.range(block.row, block.rows, group.rows, "blocks", at);
            check.range(block.column, block.columns, group.columns, "blocks", at);
            if (block.rows == 0 || block.columns == 0) continue;
            const std::uint64_t last =
                block.offset + bounded_product(block.rows - 1, block.row_stride) + bounded_product(block.columns - 1, block.column_stride);
            check_weight_range(check, program, block.weight, last, "blocks", at);
        }
    }
}

void check_constants(const Validator& check, const Program& program, std::size_t cores) {
    for (std::size_t row = 0; row < program.constants.size(); ++row) {
        const LocalConstant& constant = program.constants[row];
        check.below(constant.core, cores, "constants", row);
        if (constant.count == 0 || constant.repeats == 0) continue;
        const std::uint64_t first = constant.address + std::uint64_t{constant.repeats - 1} * constant.pitch;
        check.range(first, constant.count, program.core_local_elems[constant.core], "constants", row);
        if (constant.weight == 0xffffffffU) continue;
        check_weight_range(check, program, constant.weight,
                           constant.offset + std::uint64_t{constant.count - 1} * constant.stride, "constants", row);
    }
}

void check_ports(const Validator& check, std::span<const Port> ports, std::string_view column, bool is_input, std::uint32_t depth) {
    constexpr std::uint64_t address_limit = std::uint64_t{1} << 40U;
    for (std::size_t row = 0; row < ports.size(); ++row) {
        const Port& port = ports[row];
        const std::uint64_t positions = bounded_product(port.rows, std::uint64_t{port.columns} + port.gap);
        const std::uint64_t elems = positions > address_limit ? positions : positions * port.channels;
        if (elems == 0 || elems > address_limit) check.reject(column, row, "{} x ({} + {}) x {} elements", port.rows, port.columns, port.gap, port.channels);
        if (is_input && port.offset != 0) check.reject(column, row, "an input has offset 0, not {}", port.offset);
        if (port.offset > depth) check.reject(column, row, "offset {} passes the program's depth {}", port.offset, depth);
    }
}

}  // namespace

template <>
void validate<Program>(const Program& program, std::string_view file) {
    const Validator check(file);
    if (program.value_kind != ValueKind::TimingOnly && program.value_kind != ValueKind::F32) {
        bad_input("{}: field 'value_kind' is {}, which no weft knows", file, static_cast<int>(program.value_kind));
    }
    const std::size_t cores = program.core_local_elems.size();
    if (cores == 0 || cores > core_limit) bad_input("{}: column 'core_local_elems' has {} rows, must have 1..{}", file, cores, core_limit);
    validate_tile_program(program, file);
    check_groups(check, program, cores);
    check_instructions(check, program, cores);
    check_runs(check, program, cores);
    check_constants(check, program, cores);
    check_ports(check, program.inputs, "inputs", true, program.depth);
    check_ports(check, program.outputs, "outputs", false, program.depth);
    check.pool(program.name_pool, "name_pool");
    for (std::size_t row = 0; row < program.labels.size(); ++row) check.text(program.labels[row], program.name_pool, "labels", row);
    if (program.inferences_per_round == 0 || program.inferences_per_round > 1024) {
        bad_input("{}: field 'inferences_per_round' is {}, must lie in 1..1024", file, program.inferences_per_round);
    }
}

}  // namespace weft
