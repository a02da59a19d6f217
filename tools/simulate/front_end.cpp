#include "simulate/machine.h"
#include "simulate/values.h"

namespace weft {
namespace {

bool is_two_operand(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vvsra; }

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

void execute_scalar(CoreState& state, const Instruction& instruction) {
    auto& registers = state.registers;
    const std::int64_t first = registers[instruction.rs1];
    const std::int64_t second = registers[instruction.rs2];
    switch (static_cast<Opcode>(instruction.op)) {
        case Opcode::Sldi: registers[instruction.rd] = instruction.immediate; break;
        case Opcode::Sld: registers[0] = 0; break;   // not implemented by the simulator: loads nothing, clears r0
        case Opcode::Sadd: registers[instruction.rd] = wrap(first + second); break;
        case Opcode::Ssub: registers[instruction.rd] = wrap(first - second); break;
        case Opcode::Smul: registers[instruction.rd] = wrap(first * second); break;
        case Opcode::Saddi: registers[instruction.rd] = wrap(first + instruction.immediate); break;
        case Opcode::Smuli: registers[instruction.rd] = wrap(first * instruction.immediate); break;
        case Opcode::Setbw:
            state.input_bits = instruction.immediate;
            state.output_bits = instruction.length;
            break;
        default: WEFT_CHECK(false, "opcode {} is no scalar", instruction.op);
    }
}

/// Bytes per element by which a vector instruction's offset to rd counts; 0 where it has none.
std::int64_t target_offset_scale(const DecodedInstruction& decoded) {
    switch (decoded.op()) {
        case Opcode::Vvdmul: case Opcode::Vavg: case Opcode::Vmv: return 0;
        case Opcode::Vvadd: case Opcode::Vvsub: case Opcode::Vvmax: case Opcode::Vrelu: return decoded.input_bytes();
        default: return decoded.output_bytes();
    }
}

/// The simulator's offset bits: rd takes the offset by bit 0 of the selection, rs1 and rs2 by bits 1 and 2 of the offset itself.
void add_offsets(DecodedInstruction& decoded) {
    const Instruction& instruction = decoded.instruction;
    const std::int64_t offset = instruction.offset_value;
    const Opcode op = decoded.op();
    if (offset == 0) return;
    const bool to_rd = (instruction.offset_select & 1) != 0;
    const bool to_rs1 = (instruction.offset_value & 2) != 0;
    const bool to_rs2 = (instruction.offset_value & 4) != 0;
    if (is_vector(op)) {
        if (to_rd) decoded.rd_value = wrap(decoded.rd_value + offset * target_offset_scale(decoded));
        if (to_rs1 && op != Opcode::Vmv) decoded.rs1_value = wrap(decoded.rs1_value + offset * decoded.input_bytes());
        if (to_rs2 && is_two_operand(op)) decoded.rs2_value = wrap(decoded.rs2_value + offset * decoded.input_bytes());
    } else if (is_transfer(op) && op != Opcode::Wait && op != Opcode::Sync) {
        if (to_rd && op != Opcode::St) decoded.rd_value = wrap(decoded.rd_value + offset);
        if (to_rd && op == Opcode::St) decoded.global_address += static_cast<std::uint64_t>(offset);
        if (to_rs1 && op == Opcode::Ld) decoded.global_address += static_cast<std::uint64_t>(offset);
        if (to_rs1 && op != Opcode::Ld) decoded.rs1_value = wrap(decoded.rs1_value + offset);
    }
}

HazardRange bytes_from(std::int64_t first, std::int64_t bytes) { return {first, first + bytes}; }   // the end counts

}  // namespace

bool HazardRanges::conflicts(const HazardRanges& earlier) const {
    for (const HazardRange& range : earlier.reads) {
        if (write.overlaps(range)) return true;
    }
    // Two writes to one place are not looked for, as in the simulator.
    return reads[0].overlaps(earlier.write) || reads[1].overlaps(earlier.write);
}

void Machine::schedule_front_end(std::uint32_t core, Picoseconds edge) {
    CoreState& state = cores_[core];
    if (state.done || state.front_scheduled == edge) return;
    state.front_scheduled = edge;
    queue_.push({edge, EventRank::front_end, EventKind::front_end, core, 0});
}

/// What stands in the dispatcher is judged by the state after an edge and leaves at the next one. Instructions that never enter
/// the reorder buffer pass one a period as long as it is not full. With a buffer of one, a core that needs nobody else runs
/// ahead here without further events: nothing that others do can change it before its next message.
void Machine::front_end(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    state.front_scheduled = -1;
    while (!state.done && !state.start_pending && state.reorder_buffer.size() < reorder_capacity_) {
        const Picoseconds edge = std::max(state.front_edge, now);
        const bool past_limit = options_.limit != 0 && edge > options_.limit;
        state.done = past_limit || state.walk.round() >= round_caps_[core];
        cut_ = cut_ || past_limit;
        if (state.done) return;
        const DecodedInstruction decoded = decode(state);
        if (!enters_reorder_buffer(decoded.op())) {
            execute_scalar(state, decoded.instruction);
            state.front_edge = edge + times_.period();
            state.walk.advance();
            leave_dispatcher(core, state.front_edge);
            result_.cores[core].local += times_.period();
            if (last_tracked_[core] == ~std::uint64_t{0} && state.walk.position() == 0) end_round(core, state.front_edge);
            continue;
        }
        if (reorder_capacity_ > 1 && edge > now) return schedule_front_end(core, edge);
        if (!may_dispatch(state, decoded, hazard_ranges(core, decoded))) return;   // looked at again when a unit or an entry is free
        dispatch(core, decoded, edge);
    }
}

void Machine::dispatch(std::uint32_t core, DecodedInstruction decoded, Picoseconds edge) {
    CoreState& state = cores_[core];
    const Picoseconds start = edge + times_.period();
    state.front_edge = start;
    state.walk.advance();
    leave_dispatcher(core, start);
    if (reorder_capacity_ == 1 && !leaves_core(decoded.op())) return run_alone(core, decoded, start);
    state.dispatched = {};
    state.dispatched.ranges = hazard_ranges(core, decoded);
    state.dispatched.decoded = std::move(decoded);
    state.start_pending = true;
    queue_.push({start, EventRank::edge, EventKind::starts, core, 0});
}

bool Machine::may_dispatch(const CoreState& state, const DecodedInstruction& decoded, const HazardRanges& ranges) const {
    if (reorder_capacity_ == 1) return true;
    for (const ReorderEntry& earlier : state.reorder_buffer) {
        if (!earlier.retired && ranges.conflicts(earlier.ranges)) return false;
    }
    if (is_vector(decoded.op())) return state.vector.ready;
    if (is_transfer(decoded.op())) return state.transfer.ready;
    return !state.matrix_register_full || state.groups[state.matrix_register_group].ready;
}

DecodedInstruction Machine::decode(const CoreState& state) const {
    DecodedInstruction decoded;
    decoded.instruction = state.walk.current();
    decoded.round = state.walk.round();
    decoded.position = state.walk.position();
    decoded.row = state.walk.row();
    decoded.input_bits = state.input_bits;
    decoded.output_bits = state.output_bits;
    const auto value = [&](std::uint8_t number) { return state.registers[number]; };
    decoded.rd_value = value(decoded.instruction.rd);
    decoded.rs1_value = value(decoded.instruction.rs1);
    decoded.rs2_value = value(decoded.instruction.rs2);
    if (decoded.op() == Opcode::Ld || decoded.op() == Opcode::St) {
        const std::uint8_t pair = decoded.op() == Opcode::Ld ? decoded.instruction.rs1 : decoded.instruction.rd;
        const auto high = static_cast<std::uint32_t>(value(pair));
        const auto low = static_cast<std::uint32_t>(value(static_cast<std::uint8_t>(pair + 1)));
        decoded.global_address = (std::uint64_t{high} << 32U) | low;
    }
    add_offsets(decoded);
    return decoded;
}

HazardRanges Machine::hazard_ranges(std::uint32_t core, const DecodedInstruction& decoded) const {
    HazardRanges ranges;
    if (reorder_capacity_ == 1) return ranges;
    const Instruction& instruction = decoded.instruction;
    const std::int64_t input = std::int64_t{instruction.length} * decoded.input_bytes();
    const std::int64_t output = std::int64_t{instruction.length} * decoded.output_bytes();
    const auto reads_both = [&] { ranges.reads = {bytes_from(decoded.rs1_value, input), bytes_from(decoded.rs2_value, input)}; };
    // Loads, stores and transfers lose the register's value on the way to the check: only the offset remains.
    const std::int64_t lost_rd = decoded.rd_value - cores_[core].registers[instruction.rd];
    switch (decoded.op()) {
        case Opcode::Mvmul: {
            const ArrayGroup& group = program_.groups[program_.core_first_group[core] + static_cast<std::size_t>(instruction.length)];
            ranges.reads[0] = bytes_from(decoded.rs1_value, times_.matrix_read_bytes(decoded.input_bytes()) / 8);
            ranges.write = bytes_from(decoded.rd_value, times_.matrix_write_bytes(instruction.immediate, decoded.output_bytes(), group.crossbars));
            break;
        }
        case Opcode::Vvadd: case Opcode::Vvsub: case Opcode::Vvmax:
            reads_both();
            ranges.write = bytes_from(decoded.rd_value, input);
            break;
        case Opcode::Vvmul: case Opcode::Vvsll: case Opcode::Vvsra: case Opcode::Vvdmul: case Opcode::Vrsu: case Opcode::Vrsl:
            reads_both();
            ranges.write = bytes_from(decoded.rd_value, output);
            break;
        case Opcode::Vrelu: case Opcode::Vtanh: case Opcode::Vsigm: case Opcode::Vsoftmax:
            ranges.reads[0] = bytes_from(decoded.rs1_value, input);
            ranges.write = bytes_from(decoded.rd_value, output);
            break;
        case Opcode::Vavg:
            ranges.reads[0] = bytes_from(decoded.rs1_value, input);
            ranges.write = bytes_from(decoded.rd_value, decoded.output_bytes());
            break;
        case Opcode::Ld: ranges.write = bytes_from(lost_rd, instruction.length); break;
        case Opcode::St: ranges.reads[0] = bytes_from(0, instruction.length); break;
        case Opcode::Lldi: ranges.write = bytes_from(decoded.rd_value, 1); break;
        case Opcode::Lmv:
            ranges.reads[0] = bytes_from(decoded.rs1_value, instruction.immediate);
            ranges.write = bytes_from(decoded.rd_value, instruction.immediate);
            break;
        case Opcode::Send: ranges.reads[0] = bytes_from(decoded.rs1_value, instruction.length); break;
        case Opcode::Recv: ranges.write = bytes_from(decoded.rd_value, instruction.length); break;
        default: break;   // vmv, sync and wait are not protected at all
    }
    return ranges;
}

/// Three stages lie between fetch and unit, so the instruction three behind the one that leaves is fetched now.
void Machine::leave_dispatcher(std::uint32_t core, Picoseconds edge) {
    CoreState& state = cores_[core];
    CoreResult& result = result_.cores[core];
    ++result.instructions;
    const std::uint64_t fetched = state.slots_left++ + 3;
    const std::uint64_t size = state.walk.size();
    // A list of one instruction counts once, however often it runs.
    if (size > 1 && fetched % size == size - 1 && (options_.limit == 0 || edge <= options_.limit)) ++result.rounds_fetched;
}

/// A core with a reorder buffer of one on an instruction that needs nobody else: its whole time at once.
void Machine::run_alone(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds start) {
    CoreState& state = cores_[core];
    if (values_ != nullptr) values_->execute_local(core, decoded);
    Picoseconds visible = 0;
    if (is_transfer(decoded.op())) {
        Picoseconds end = start;
        if (decoded.op() == Opcode::Lmv) end = use_local_port(state, start, times_.local_read(decoded.instruction.length));
        end = use_local_port(state, start, times_.local_write(decoded.instruction.length));
        visible = visible_edge(start, end, EdgeSide::after);
    } else {
        const Picoseconds begin = decoded.op() == Opcode::Mvmul ? start + times_.period() : start;
        const Picoseconds computed = read_and_compute(core, decoded, begin);
        const EdgeSide side = side_at(begin, computed, EdgeSide::after);
        visible = visible_edge(computed, use_local_port(state, computed, result_write_time(core, decoded)), side);
    }
    const Picoseconds retired = visible + times_.period();
    state.front_edge = retired;
    // Work that would end after the limit has not happened.
    if (options_.limit != 0 && retired > options_.limit) return;
    record_retirement(core, decoded, start, retired);
    close_round(core, decoded, retired);
    result_.end = std::max(result_.end, retired);
}

}  // namespace weft
