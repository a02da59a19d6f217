#pragma once

#include <string>
#include <vector>

#include "simulate/core_state.h"
#include "simulate/events.h"
#include "simulate/simulate.h"

namespace weft {

/// The chip while it runs. One method per thing that can happen; docs/pim-timing.md says why each is as it is.
class Machine {
public:
    Machine(const Program& program, const Target& target, const SimulationOptions& options, ValueMachine* values);
    [[nodiscard]] SimulationResult run();

private:
    static constexpr std::uint64_t vector_unit = 0;
    static constexpr std::uint64_t transfer_unit = 1;
    static constexpr std::uint64_t first_group_unit = 2;

    // machine.cpp: the clockwork
    void handle(const Event& event);
    void unit_ready(std::uint32_t core, std::uint64_t unit, Picoseconds now);
    void retire(std::uint32_t core, std::uint64_t sequence, Picoseconds now);
    void record_retirement(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds pushed, Picoseconds retired);
    void close_round(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds now);
    void end_round(std::uint32_t core, Picoseconds now);
    [[nodiscard]] std::vector<StuckCore> find_stuck() const;
    [[nodiscard]] std::string waiting_for(std::uint32_t core) const;
    [[nodiscard]] ReorderEntry& entry(std::uint32_t core, std::uint64_t sequence);
    [[nodiscard]] UnitState& unit_state(std::uint32_t core, std::uint64_t unit);

    // front_end.cpp: fetch, decode, dispatch
    void schedule_front_end(std::uint32_t core, Picoseconds edge);
    void front_end(std::uint32_t core, Picoseconds now);
    void dispatch(std::uint32_t core, DecodedInstruction decoded, Picoseconds edge);
    [[nodiscard]] bool may_dispatch(const CoreState& state, const DecodedInstruction& decoded, const HazardRanges& ranges) const;
    [[nodiscard]] DecodedInstruction decode(const CoreState& state) const;
    [[nodiscard]] HazardRanges hazard_ranges(std::uint32_t core, const DecodedInstruction& decoded) const;
    void leave_dispatcher(std::uint32_t core, Picoseconds edge);
    void run_alone(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds start);

    // units.cpp: matrix, vector and transfer unit
    void start(std::uint32_t core, Picoseconds now);
    void start_group(std::uint32_t core, std::size_t group, Picoseconds now);
    void group_reads(std::uint32_t core, std::size_t group, Picoseconds now);
    void start_transfer(std::uint32_t core, Picoseconds now);
    void step_ends(std::uint32_t core, std::uint64_t unit, Picoseconds now);
    void transfer_step_ends(std::uint32_t core, Picoseconds now);
    void begin_step(std::uint32_t core, std::uint64_t unit, UnitState::Stage stage, Picoseconds now, Picoseconds end, EdgeSide side);
    void finish(std::uint32_t core, std::uint64_t unit, Picoseconds began, Picoseconds end, EdgeSide side);
    [[nodiscard]] EdgeSide side_at(Picoseconds began, Picoseconds end, EdgeSide began_side) const;
    /// Edge at which the completion of something that ended at `end` is visible.
    [[nodiscard]] Picoseconds visible_edge(Picoseconds began, Picoseconds end, EdgeSide began_side) const;
    [[nodiscard]] Picoseconds use_local_port(CoreState& state, Picoseconds now, Picoseconds cost) const;
    [[nodiscard]] Picoseconds read_and_compute(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds now);
    [[nodiscard]] Picoseconds result_write_time(std::uint32_t core, const DecodedInstruction& decoded) const;

    // network.cpp: switches, messages, global memory
    void push_message(std::uint32_t core, Message message, Picoseconds now);
    void serve_switch(std::uint32_t core, Picoseconds now);
    void switch_free(std::uint32_t core, Picoseconds now);
    void message_arrives(std::uint32_t core, Picoseconds now);
    void deliver_data(std::uint32_t from, Message& message, Picoseconds now);
    void deliver_sync(const Message& message, Picoseconds now);
    void memory_request(std::uint32_t core, Picoseconds now);
    void memory_answers(std::uint32_t core, Picoseconds now);

    const Program& program_;
    const ChipTimes times_;
    const SimulationOptions options_;
    ValueMachine* values_;
    std::size_t reorder_capacity_;
    EventQueue queue_;
    std::vector<CoreState> cores_;
    std::vector<std::uint64_t> last_tracked_;   // per core: position of the list's last instruction that enters the reorder buffer
    Picoseconds memory_free_ = 0;
    std::vector<std::uint64_t> round_caps_;      // per core
    std::size_t cores_to_finish_ = 0;            // that have not finished the rounds asked for
    bool cut_ = false;   // some core still had something to do when the time was over
    SimulationResult result_;
};

/// Scalar instructions and setbw never enter the reorder buffer.
[[nodiscard]] constexpr bool enters_reorder_buffer(Opcode op) { return op > Opcode::Setbw; }
[[nodiscard]] constexpr bool is_vector(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vrsl; }
[[nodiscard]] constexpr bool is_transfer(Opcode op) { return op >= Opcode::Ld; }
/// Transfers that need another core or the global memory.
[[nodiscard]] constexpr bool leaves_core(Opcode op) { return is_transfer(op) && op != Opcode::Lldi && op != Opcode::Lmv; }

}  // namespace weft
