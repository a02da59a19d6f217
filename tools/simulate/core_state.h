#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "simulate/program_walk.h"
#include "simulate/chip_times.h"

namespace weft {

using Registers = std::array<std::int32_t, 32>;

/// An instruction with everything that was read for it at decode.
struct DecodedInstruction {
    Instruction instruction;
    std::int32_t rd_value = 0;       // offsets included
    std::int32_t rs1_value = 0;
    std::int32_t rs2_value = 0;
    std::uint64_t global_address = 0;   // ld and st: the 64-bit pair
    std::int32_t input_bits = 0;
    std::int32_t output_bits = 0;
    std::uint64_t round = 0;
    std::uint64_t position = 0;
    std::size_t row = 0;

    [[nodiscard]] Opcode op() const { return static_cast<Opcode>(instruction.op); }
    [[nodiscard]] std::int64_t input_bytes() const { return (input_bits + 7) / 8; }
    [[nodiscard]] std::int64_t output_bytes() const { return (output_bits + 7) / 8; }
};

/// Bytes of local memory that an instruction reads or writes, ends included, as the hazard check sees them.
struct HazardRange {
    std::int64_t first = 0;
    std::int64_t last = -1;
    [[nodiscard]] bool used() const { return last >= first; }
    [[nodiscard]] bool overlaps(const HazardRange& other) const {
        return used() && other.used() && first <= other.last && other.first <= last;
    }
};

struct HazardRanges {
    std::array<HazardRange, 2> reads;
    HazardRange write;
    [[nodiscard]] bool conflicts(const HazardRanges& earlier) const;
};

struct ReorderEntry {
    DecodedInstruction decoded;
    HazardRanges ranges;
    std::uint64_t sequence = 0;
    Picoseconds pushed = 0;
    bool retired = false;
};

/// Side of the clock's edge on which something happens that happens exactly on one.
enum class EdgeSide : std::uint8_t { before, after };

/// What a unit is doing. Vector and transfer unit and every array group have one.
struct UnitState {
    enum class Stage : std::uint8_t { idle, computing, writing, local_read, local_write, awaits_permission, awaits_data, awaits_memory, awaits_event };
    Stage stage = Stage::idle;
    bool ready = true;                  // visible to the dispatcher
    std::uint64_t sequence = 0;         // its reorder buffer entry
    Picoseconds step_began = 0;
    EdgeSide began_side = EdgeSide::after;
};

struct Message {
    enum class Kind : std::uint8_t { sender_ready, receiver_ready, data, sync, load, store };
    Kind kind = Kind::sync;
    std::uint32_t destination = 0;
    std::int64_t bytes = 0;
    std::int32_t event_register = 0;
    std::vector<float> payload;
};

/// The single outgoing queue of a core; the front message is in service.
struct Switch {
    std::deque<Message> queue;
    bool busy = false;
};

struct CoreState {
    CoreState(const Program& program, std::size_t core) : walk(program, core) {}

    ProgramWalk walk;
    Registers registers{};
    std::int32_t input_bits = 0;
    std::int32_t output_bits = 0;
    Picoseconds front_edge = 0;         // first edge at which the instruction in the dispatcher may be judged
    Picoseconds front_scheduled = -1;
    std::uint64_t slots_left = 0;       // instructions that have left the dispatcher
    bool done = false;                  // nothing left to dispatch

    std::deque<ReorderEntry> reorder_buffer;
    std::uint64_t next_sequence = 0;
    ReorderEntry dispatched;            // between dispatcher and unit
    bool start_pending = false;

    UnitState vector;
    UnitState transfer;
    std::vector<UnitState> groups;
    bool matrix_register_full = false;
    std::uint64_t matrix_register_sequence = 0;
    std::size_t matrix_register_group = 0;
    Picoseconds last_matrix_commit = -1;

    Picoseconds local_port_free = 0;
    Switch outgoing;
    std::array<std::int64_t, 32> events{};
    std::vector<bool> sender_waiting;   // by sending core
    std::vector<float> arrived;         // payload of the load or store under way
};

}  // namespace weft
