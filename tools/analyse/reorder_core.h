#pragma once

#include <cstdint>
#include <vector>

#include "artifact/program.h"
#include "hazards.h"
#include "pim/costs.h"

namespace weft {

/// A transfer that needs others, as the core starts it.
struct TransferStart {
    Opcode op = Opcode::Nop;
    std::uint32_t row = 0;        ///< of the program's instructions
    Picoseconds start = 0;        ///< of its unit
    Picoseconds read = 0;         ///< stores: when the local data have been read
    std::uint64_t round = 0;      ///< of the core's list, from 0
};

/// One core with a reorder buffer of any size, in its own time. Within a core everything follows from the order of instructions and from when the
/// outside answers, so the core runs on its own up to its next transfer, stops there, and goes on once it is told when the transfer's next step happens.
/// Steps of all units ask for the one port of the local memory in order of time, for which it keeps an agenda.
/// Nobody's answer can depend on what a core does after an unanswered transfer: its next transfer waits for the transfer unit.
class ReorderCore {
public:
    enum class Stop : std::uint8_t {
        Transfer,     ///< transfer() has started and waits for the outside
        SendRead,     ///< the data of the send have left local memory at send_read()
        Finished      ///< all rounds are over
    };

    ReorderCore(const Program& program, const PimCosts& costs, std::uint32_t core, std::uint32_t capacity, bool hazards);

    [[nodiscard]] bool has_program() const { return size_ != 0; }
    /// Run until something is needed from outside.
    Stop run(std::uint64_t rounds);

    [[nodiscard]] const TransferStart& transfer() const { return transfer_; }
    [[nodiscard]] Picoseconds send_read() const { return send_read_; }
    /// The send may read its data, the receive has its data, the load its answer, from `time` on: next comes an access to local memory.
    void answer_access(Picoseconds time);
    /// The store or wait is over at `time`; the outside did it, so it is noticed late on an edge.
    void answer_end(Picoseconds time);

    /// Instants at which the rounds' last instructions had left the buffer.
    [[nodiscard]] const std::vector<Picoseconds>& round_ends() const { return round_ends_; }
    [[nodiscard]] std::uint64_t instructions() const { return executed_; }
    [[nodiscard]] std::uint64_t in_place_scalars() const { return in_place_; }

private:
    static constexpr Picoseconds unknown = picoseconds_limit;

    /// Order of what happens at one instant, as far as the local memory's port is concerned.
    enum class Rank : std::uint8_t { BeforeEdge, Message, Edge, Group, AfterEdge };
    enum class Step : std::uint8_t { Write, GroupRead, Access };

    struct Agenda {
        Picoseconds time;
        Rank rank;
        Step step;
        std::uint32_t unit;        // Write, GroupRead: vector_unit or first_group + group
        std::uint64_t age;
    };

    /// A unit that works on one instruction at a time.
    struct Unit {
        Picoseconds ready = 0;         // when the next one may be judged; unknown while it works
        std::uint64_t entry = 0;       // of what it works on
        Picoseconds began = 0;         // of the last step
        UnitSteps steps;
    };

    struct Entry {
        Hazards hazards;
        Picoseconds retired = unknown;   // R
        Picoseconds freed = unknown;     // when it leaves the buffer: not before those ahead of it
        bool ends_round = false;
    };

    static constexpr std::uint32_t vector_unit = 0;
    static constexpr std::uint32_t first_group = 1;

    void decode();
    void advance_position();
    [[nodiscard]] Picoseconds judged_at();
    [[nodiscard]] Picoseconds edge_of(Opcode op) const;
    bool dispatch(Picoseconds edge);
    void start_matrix(std::uint64_t entry, Picoseconds start);
    void begin_group(std::uint32_t group);
    bool start_transfer(std::uint64_t entry, Picoseconds start);
    bool process_agenda();
    void compute(std::uint32_t unit, Picoseconds now);
    void finish(std::uint32_t unit, Picoseconds began, Picoseconds end, bool after_edge);
    void end_transfer(Picoseconds began, Picoseconds end);
    void retire(std::uint64_t entry, Picoseconds time);
    void push(Picoseconds time, Rank rank, Step step, std::uint32_t unit);
    [[nodiscard]] Picoseconds use_port(Picoseconds now, Picoseconds cost);
    [[nodiscard]] bool comes_after_edge(Picoseconds began, Picoseconds end, bool began_after) const;
    [[nodiscard]] Picoseconds seen_at(Picoseconds began, Picoseconds end, bool began_after) const;
    [[nodiscard]] Entry& entry(std::uint64_t number) { return entries_[number % entries_.size()]; }
    [[nodiscard]] const UnitSteps& steps_of(const Instruction& row, std::uint32_t row_id);

    const Program& program_;
    const PimCosts& costs_;
    std::uint32_t core_;
    std::uint32_t capacity_;
    bool hazards_;
    Picoseconds period_;

    // Where the core stands in its list.
    std::uint32_t run_ = 0;
    std::uint32_t trip_ = 0;
    std::uint32_t index_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t round_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t last_tracked_ = 0;
    std::uint64_t executed_ = 0;
    std::uint64_t in_place_ = 0;

    // The instruction that stands in the dispatcher.
    bool decoded_ = false;
    Instruction now_;
    std::uint32_t row_ = 0;
    Hazards now_hazards_;
    RegisterFile registers_{};
    BitWidths widths_;

    Picoseconds front_edge_ = 0;
    std::vector<Entry> entries_;         // ring
    std::uint64_t next_entry_ = 0;
    std::uint64_t freed_entries_ = 0;    // all before have known freed times
    Picoseconds last_freed_ = 0;
    Unit vector_;
    Unit transfer_unit_;
    std::vector<Unit> groups_;
    std::uint32_t register_group_ = 0xffffffffU;   // group whose instruction waits in the matrix unit's register, none
    std::uint64_t register_entry_ = 0;
    UnitSteps register_steps_;
    Picoseconds register_start_ = 0;
    Picoseconds matrix_edge_ = 0;        // from when on the matrix unit takes another one
    Picoseconds last_commit_ = -1;

    Picoseconds port_free_ = 0;
    std::vector<Agenda> agenda_;         // heap, earliest first
    std::uint64_t age_ = 0;
    TransferStart transfer_;
    Picoseconds send_read_ = 0;
    std::vector<Picoseconds> round_ends_;

    struct CachedSteps {
        BitWidths widths;
        UnitSteps steps;
        bool valid = false;
    };
    std::vector<CachedSteps> cache_;     // by row from first_row_ on
    std::uint32_t first_row_ = 0;
};

}  // namespace weft
