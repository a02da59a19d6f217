#include "simulate/machine.h"

#include <algorithm>

#include "pim/reader_parts.h"
#include "simulate/values.h"

namespace weft {
namespace {

constexpr std::uint64_t no_position = ~std::uint64_t{0};

std::uint64_t last_tracked_position(const Program& program, std::size_t core, std::uint64_t size) {
    std::uint64_t end = size;
    for (std::size_t run = program.core_first_run[core + 1]; run-- > program.core_first_run[core];) {
        const Run& row = program.runs[run];
        for (std::uint32_t index = row.instruction_count; index-- > 0;) {
            if (enters_reorder_buffer(static_cast<Opcode>(program.instructions[row.first_instruction + index].op))) {
                return end - row.instruction_count + index;
            }
        }
        end -= std::uint64_t{row.instruction_count} * row.trip_count;
    }
    return no_position;
}

/// Rounds after which a core stops even where others have not finished theirs.
std::uint64_t round_cap(const Program& program, std::size_t core, const SimulationOptions& options) {
    const std::uint64_t rounds = options.rounds == 0 ? no_position : options.rounds;
    if (!options.keep_looping || rounds > no_position / 8) return rounds;
    for (std::size_t run = program.core_first_run[core]; run < program.core_first_run[core + 1]; ++run) {
        const Run& row = program.runs[run];
        for (const Instruction& instruction : program.instructions.subspan(row.first_instruction, row.instruction_count)) {
            if (leaves_core(static_cast<Opcode>(instruction.op))) return 4 * rounds + 16;
        }
    }
    return rounds;   // nobody can notice what it does after them
}

}  // namespace

Machine::Machine(const Program& program, const Target& target, const SimulationOptions& options, ValueMachine* values)
    : program_(program), times_(target), options_(options), values_(values), reorder_capacity_(target.core.rob_entries),
      queue_(options.ties == Ties::reverse) {
    const std::size_t cores = program.core_local_elems.size();
    result_.cores.resize(cores);
    for (std::size_t core = 0; core < cores; ++core) {
        CoreState& state = cores_.emplace_back(program, core);
        state.groups.resize(program.core_first_group[core + 1] - program.core_first_group[core]);
        state.sender_waiting.assign(cores, false);
        state.done = state.walk.size() == 0;
        cores_to_finish_ += state.done ? 0 : 1;
        round_caps_.push_back(round_cap(program, core, options));
        last_tracked_.push_back(last_tracked_position(program, core, state.walk.size()));
    }
}

SimulationResult Machine::run() {
    for (std::uint32_t core = 0; core < cores_.size(); ++core) {
        CoreState& state = cores_[core];
        if (state.done) continue;
        // The first instruction reaches the dispatcher two periods after the start; the next two are right behind it.
        state.front_edge = 2 * times_.period();
        const std::uint64_t size = state.walk.size();
        if (size <= 3 && (options_.limit == 0 || static_cast<Picoseconds>(size - 1) * times_.period() <= options_.limit)) {
            result_.cores[core].rounds_fetched = 1;
        }
        schedule_front_end(core, state.front_edge);
    }
    while (!queue_.empty() && cores_to_finish_ != 0) {
        const Event event = queue_.top();
        cut_ = cut_ || (options_.limit != 0 && event.time > options_.limit);
        if (cut_ && event.time > options_.limit) break;
        queue_.pop();
        ++result_.events;
        result_.end = event.time;
        handle(event);
    }
    if (!cut_ && cores_to_finish_ != 0) result_.stuck = find_stuck();
    std::stable_sort(result_.trace.begin(), result_.trace.end(), [](const auto& a, const auto& b) { return a.core < b.core; });
    return std::move(result_);
}

void Machine::handle(const Event& event) {
    switch (event.kind) {
        case EventKind::step_ends: return step_ends(event.core, event.argument, event.time);
        case EventKind::message_arrives: return message_arrives(event.core, event.time);
        case EventKind::switch_free: return switch_free(event.core, event.time);
        case EventKind::memory_answers: return memory_answers(event.core, event.time);
        case EventKind::unit_ready: return unit_ready(event.core, event.argument, event.time);
        case EventKind::retires: return retire(event.core, event.argument, event.time);
        case EventKind::starts: return start(event.core, event.time);
        case EventKind::group_starts: return start_group(event.core, event.argument, event.time);
        case EventKind::group_reads: return group_reads(event.core, event.argument, event.time);
        case EventKind::front_end: return front_end(event.core, event.time);
        case EventKind::memory_request: return memory_request(event.core, event.time);
    }
}

ReorderEntry& Machine::entry(std::uint32_t core, std::uint64_t sequence) {
    auto& buffer = cores_[core].reorder_buffer;
    WEFT_CHECK(!buffer.empty() && sequence >= buffer.front().sequence && sequence - buffer.front().sequence < buffer.size());
    return buffer[sequence - buffer.front().sequence];
}

UnitState& Machine::unit_state(std::uint32_t core, std::uint64_t unit) {
    CoreState& state = cores_[core];
    if (unit == vector_unit) return state.vector;
    if (unit == transfer_unit) return state.transfer;
    return state.groups[unit - first_group_unit];
}

void Machine::unit_ready(std::uint32_t core, std::uint64_t unit, Picoseconds now) {
    CoreState& state = cores_[core];
    unit_state(core, unit).ready = true;
    const bool waited_for = state.matrix_register_full && unit == first_group_unit + state.matrix_register_group;
    if (waited_for) {
        queue_.push({now + times_.period(), EventRank::edge, EventKind::group_starts, core, state.matrix_register_group});
    }
    schedule_front_end(core, now);
}

void Machine::retire(std::uint32_t core, std::uint64_t sequence, Picoseconds now) {
    CoreState& state = cores_[core];
    ReorderEntry& retired = entry(core, sequence);
    retired.retired = true;
    record_retirement(core, retired.decoded, retired.pushed, now);
    while (!state.reorder_buffer.empty() && state.reorder_buffer.front().retired) {
        close_round(core, state.reorder_buffer.front().decoded, now);
        state.reorder_buffer.pop_front();
    }
    schedule_front_end(core, now);
}

void Machine::record_retirement(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds pushed, Picoseconds retired) {
    CoreResult& result = result_.cores[core];
    const Picoseconds occupied = retired - pushed + times_.period();
    (leaves_core(decoded.op()) ? result.communication : result.local) += occupied;
    if (options_.record_trace) result_.trace.push_back({core, decoded.op(), pushed, retired});
}

void Machine::close_round(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds now) {
    if (decoded.position == last_tracked_[core]) end_round(core, now);
}

void Machine::end_round(std::uint32_t core, Picoseconds now) {
    auto& ends = result_.cores[core].round_ends;
    ends.push_back(now);
    if (ends.size() == options_.rounds) --cores_to_finish_;
}

std::vector<StuckCore> Machine::find_stuck() const {
    std::vector<StuckCore> stuck;
    for (std::uint32_t core = 0; core < cores_.size(); ++core) {
        const CoreState& state = cores_[core];
        if (state.done && state.reorder_buffer.empty()) continue;
        StuckCore& description = stuck.emplace_back();
        description.core = core;
        description.waits_for = waiting_for(core);
        if (state.reorder_buffer.empty()) continue;
        const DecodedInstruction& decoded = state.reorder_buffer.front().decoded;
        description.round = decoded.round;
        description.position = decoded.position;
        description.row = decoded.row;
        description.op = decoded.op();
    }
    return stuck;
}

std::string Machine::waiting_for(std::uint32_t core) const {
    const CoreState& state = cores_[core];
    if (state.reorder_buffer.empty()) return "nothing that this model knows";
    const Instruction& instruction = state.reorder_buffer.front().decoded.instruction;
    switch (state.transfer.stage) {
        case UnitState::Stage::awaits_permission:
            return fmt::format("core {} to receive {} bytes from it", instruction.immediate, instruction.length);
        case UnitState::Stage::awaits_data:
            return fmt::format("core {} to send {} bytes to it", instruction.immediate, instruction.length);
        case UnitState::Stage::awaits_event:
            return fmt::format("event register {} to reach {} (it is {})", instruction.length, instruction.offset_value,
                               state.events[static_cast<std::size_t>(instruction.length)]);
        default: return "its own outgoing queue";
    }
}

SimulationResult simulate(const Program& program, const Target& target, const SimulationOptions& options, ValueMachine* values) {
    Machine machine(program, target, options, values);
    return machine.run();
}

Picoseconds steady_interval(const SimulationResult& result, const SimulationOptions& options) {
    Picoseconds interval = 0;
    for (const CoreResult& core : result.cores) {
        const std::size_t rounds = options.rounds == 0 ? core.round_ends.size() : std::min<std::size_t>(core.round_ends.size(), options.rounds);
        if (rounds < 2) continue;
        const std::size_t first = (rounds - 1) / 2;
        interval = std::max(interval, (core.round_ends[rounds - 1] - core.round_ends[first]) / static_cast<Picoseconds>(rounds - 1 - first));
    }
    return interval;
}

Picoseconds first_round_latency(const SimulationResult& result) {
    Picoseconds latency = 0;
    for (const CoreResult& core : result.cores) {
        if (!core.round_ends.empty()) latency = std::max(latency, core.round_ends.front());
    }
    return latency;
}

}  // namespace weft
