#include "reorder_core.h"

#include <algorithm>

#include "base/failure.h"

namespace weft {
namespace {

constexpr std::uint64_t no_position = ~std::uint64_t{0};
constexpr std::uint32_t no_group = 0xffffffffU;

bool is_tracked(Opcode op) { return !is_scalar(op); }

/// Later entries sink; equal instants by rank, then by age.
struct Later {
    bool operator()(const auto& a, const auto& b) const {
        if (a.time != b.time) return a.time > b.time;
        return a.rank != b.rank ? a.rank > b.rank : a.age > b.age;
    }
};

}  // namespace

ReorderCore::ReorderCore(const Program& program, const PimCosts& costs, std::uint32_t core, std::uint32_t capacity, bool hazards)
    : program_(program), costs_(costs), core_(core), capacity_(capacity), hazards_(hazards), period_(costs.period()), entries_(std::size_t{capacity} + 1),
      groups_(program.core_first_group[core + 1] - program.core_first_group[core]) {
    run_ = program.core_first_run[core];
    last_tracked_ = no_position;
    std::uint32_t last_row = 0;
    first_row_ = ~0U;
    for (std::uint32_t run_id = run_; run_id < program.core_first_run[core + 1]; ++run_id) {
        const Run& run = program.runs[run_id];
        if (run.instruction_count == 0) continue;
        first_row_ = std::min(first_row_, run.first_instruction);
        last_row = std::max(last_row, run.first_instruction + run.instruction_count);
        for (std::uint32_t index = run.instruction_count; index-- > 0;) {
            if (!is_tracked(static_cast<Opcode>(program.instructions[run.first_instruction + index].op))) continue;
            last_tracked_ = size_ + std::uint64_t{run.trip_count - 1} * run.instruction_count + index;
            break;
        }
        size_ += std::uint64_t{run.instruction_count} * run.trip_count;
    }
    if (size_ != 0) cache_.resize(last_row - first_row_);
    while (size_ != 0 && program_.runs[run_].instruction_count == 0) ++run_;
    // The first instruction reaches the dispatcher two periods after the start.
    front_edge_ = 2 * period_;
}

void ReorderCore::decode() {
    const Run& run = program_.runs[run_];
    row_ = run.first_instruction + index_;
    now_ = program_.instructions[row_];
    now_.immediate = static_cast<std::int32_t>(static_cast<std::uint32_t>(now_.immediate) + static_cast<std::uint32_t>(now_.step) * trip_);
    decoded_ = true;
    const auto op = static_cast<Opcode>(now_.op);
    if (!is_tracked(op) || !hazards_) return;
    const std::uint32_t crossbars =
        op == Opcode::Mvmul ? program_.groups[program_.core_first_group[core_] + static_cast<std::uint32_t>(now_.length)].crossbars : 0;
    now_hazards_ = hazards_of(now_, registers_, widths_, costs_, crossbars);
}

void ReorderCore::advance_position() {
    decoded_ = false;
    ++executed_;
    ++position_;
    const Run& run = program_.runs[run_];
    if (++index_ < run.instruction_count) return;
    index_ = 0;
    if (++trip_ < run.trip_count) return;
    trip_ = 0;
    const std::uint32_t first = program_.core_first_run[core_];
    const std::uint32_t last = program_.core_first_run[core_ + 1];
    do {
        if (++run_ == last) {
            run_ = first;
            ++round_;
            position_ = 0;
        }
    } while (program_.runs[run_].instruction_count == 0);
}

bool ReorderCore::comes_after_edge(Picoseconds began, Picoseconds end, bool began_after) const {
    if (end == began || end - began == period_) return began_after;
    return end - began < period_;
}

Picoseconds ReorderCore::seen_at(Picoseconds began, Picoseconds end, bool began_after) const {
    const Picoseconds edge = (end + period_ - 1) / period_ * period_;
    return edge == end && comes_after_edge(began, end, began_after) ? edge + period_ : edge;
}

Picoseconds ReorderCore::use_port(Picoseconds now, Picoseconds cost) {
    port_free_ = std::max(port_free_, now) + cost;
    return port_free_;
}

void ReorderCore::push(Picoseconds time, Rank rank, Step step, std::uint32_t unit) {
    agenda_.push_back({time, rank, step, unit, ++age_});
    std::push_heap(agenda_.begin(), agenda_.end(), Later{});
}

/// From when on the unit of `op` takes the next instruction; unknown while nothing says when.
Picoseconds ReorderCore::edge_of(Opcode op) const {
    if (op == Opcode::Mvmul) return matrix_edge_;
    return is_vector(op) ? vector_.ready : transfer_unit_.ready;
}

/// The edge after which the instruction in the dispatcher may leave it; unknown where that hangs on work without a known end.
Picoseconds ReorderCore::judged_at() {
    Picoseconds edge = front_edge_;
    if (next_entry_ >= capacity_) {
        const std::uint64_t oldest = next_entry_ - capacity_;
        if (oldest >= freed_entries_) return unknown;
        edge = std::max(edge, entry(oldest).freed);
    }
    const auto op = static_cast<Opcode>(now_.op);
    if (!is_tracked(op)) return edge;
    edge = std::max(edge, edge_of(op));
    if (edge == unknown || !hazards_) return edge;
    const std::uint64_t first = next_entry_ > capacity_ ? next_entry_ - capacity_ : 0;
    for (std::uint64_t number = next_entry_; number-- > first;) {
        const Entry& earlier = entry(number);
        if (earlier.freed <= front_edge_) break;   // and so are all before it
        if (earlier.retired > edge && now_hazards_.conflicts_with(earlier.hazards)) edge = earlier.retired;
    }
    return edge;
}

const UnitSteps& ReorderCore::steps_of(const Instruction& row, std::uint32_t row_id) {
    CachedSteps& cached = cache_[row_id - first_row_];
    if (cached.valid && cached.widths == widths_) return cached.steps;
    const auto op = static_cast<Opcode>(row.op);
    if (op == Opcode::Mvmul) {
        const ArrayGroup& group = program_.groups[program_.core_first_group[core_] + static_cast<std::uint32_t>(row.length)];
        cached.steps = costs_.mvmul_steps(group.crossbars, static_cast<std::uint32_t>(row.immediate), widths_);
    } else {
        cached.steps = costs_.vector_steps(op, static_cast<std::uint64_t>(row.length), widths_);
    }
    cached.widths = widths_;
    cached.valid = true;
    return cached.steps;
}

/// Reads at `now`, then computes; the write asks for the port only when that is over.
void ReorderCore::compute(std::uint32_t unit_id, Picoseconds now) {
    Unit& unit = unit_id == vector_unit ? vector_ : groups_[unit_id - first_group];
    Picoseconds end = now;
    for (std::uint32_t read = 0; read < unit.steps.reads; ++read) end = use_port(now, unit.steps.read);
    end += unit.steps.compute;
    unit.began = now;
    push(end, comes_after_edge(now, end, true) ? Rank::AfterEdge : Rank::BeforeEdge, Step::Write, unit_id);
}

void ReorderCore::retire(std::uint64_t number, Picoseconds time) {
    entry(number).retired = time;
    while (freed_entries_ < next_entry_ && entry(freed_entries_).retired != unknown) {
        Entry& head = entry(freed_entries_++);
        last_freed_ = head.freed = std::max(last_freed_, head.retired);
        if (head.ends_round) round_ends_.push_back(last_freed_);
    }
}

void ReorderCore::finish(std::uint32_t unit_id, Picoseconds began, Picoseconds end, bool after_edge) {
    const Picoseconds seen = seen_at(began, end, after_edge);
    if (unit_id == vector_unit) {
        vector_.ready = seen;
        return retire(vector_.entry, seen + period_);
    }
    Unit& group = groups_[unit_id - first_group];
    group.ready = seen;
    // The matrix unit hands over one result a period.
    last_commit_ = last_commit_ < 0 ? seen : std::max(seen, last_commit_ + period_);
    retire(group.entry, last_commit_ + period_);
    if (register_group_ == unit_id - first_group) begin_group(register_group_);
}

void ReorderCore::end_transfer(Picoseconds began, Picoseconds end) {
    const Picoseconds seen = seen_at(began, end, true);
    transfer_unit_.ready = seen;
    retire(transfer_unit_.entry, seen + period_);
}

/// An mvmul enters the matrix unit's register; its group begins a period later, or as long after the one before it is done.
void ReorderCore::start_matrix(std::uint64_t number, Picoseconds start) {
    const auto group = static_cast<std::uint32_t>(now_.length);
    register_group_ = group;
    register_entry_ = number;
    register_start_ = start;
    register_steps_ = steps_of(now_, row_);
    matrix_edge_ = unknown;
    if (groups_[group].ready != unknown) begin_group(group);
}

void ReorderCore::begin_group(std::uint32_t group) {
    Unit& unit = groups_[group];
    matrix_edge_ = std::max(register_start_, unit.ready);
    unit.ready = unknown;
    unit.entry = register_entry_;
    unit.steps = register_steps_;
    register_group_ = no_group;
    push(matrix_edge_ + period_, Rank::Group, Step::GroupRead, first_group + group);
}

/// True where the outside must act.
bool ReorderCore::start_transfer(std::uint64_t number, Picoseconds start) {
    transfer_unit_.ready = unknown;
    transfer_unit_.entry = number;
    const auto bytes = static_cast<std::uint64_t>(now_.length);
    const auto op = static_cast<Opcode>(now_.op);
    if (op == Opcode::Lldi || op == Opcode::Lmv) {
        if (op == Opcode::Lmv) (void)use_port(start, costs_.local_read(bytes));
        end_transfer(start, use_port(start, costs_.local_write(bytes)));
        return false;
    }
    transfer_ = {op, row_, start, start, round_};
    if (op == Opcode::St) transfer_.read = use_port(start, costs_.local_read(bytes));
    if (op == Opcode::Sync) end_transfer(start, start + period_);
    return true;
}

/// The instruction in the dispatcher leaves it after `edge`; true where the outside must act.
bool ReorderCore::dispatch(Picoseconds edge) {
    const Picoseconds start = edge + period_;
    front_edge_ = start;
    const std::uint64_t number = next_entry_++;
    Entry& made = entry(number);
    made = Entry{};
    made.hazards = now_hazards_;
    made.ends_round = position_ == last_tracked_;
    const auto op = static_cast<Opcode>(now_.op);
    bool stops = false;
    if (op == Opcode::Mvmul) {
        start_matrix(number, start);
    } else if (is_vector(op)) {
        vector_.ready = unknown;
        vector_.entry = number;
        vector_.steps = steps_of(now_, row_);
        compute(vector_unit, start);
    } else {
        stops = start_transfer(number, start);
    }
    advance_position();
    return stops;
}

/// The earliest step; true where it was a send's read.
bool ReorderCore::process_agenda() {
    std::pop_heap(agenda_.begin(), agenda_.end(), Later{});
    const Agenda now = agenda_.back();
    agenda_.pop_back();
    if (now.step == Step::GroupRead) {
        compute(now.unit, now.time);
        return false;
    }
    if (now.step == Step::Write) {
        const Unit& unit = now.unit == vector_unit ? vector_ : groups_[now.unit - first_group];
        const bool after = comes_after_edge(unit.began, now.time, true);
        finish(now.unit, now.time, use_port(now.time, unit.steps.write), after);
        return false;
    }
    const auto bytes = static_cast<std::uint64_t>(program_.instructions[transfer_.row].length);
    const bool sends = transfer_.op == Opcode::Send;
    const Picoseconds end = use_port(now.time, sends ? costs_.local_read(bytes) : costs_.local_write(bytes));
    end_transfer(now.time, end);
    if (sends) send_read_ = end;
    return sends;
}

void ReorderCore::answer_access(Picoseconds time) { push(time, Rank::Message, Step::Access, 0); }

void ReorderCore::answer_end(Picoseconds time) { end_transfer(time, time); }

ReorderCore::Stop ReorderCore::run(std::uint64_t rounds) {
    for (;;) {
        if (!decoded_ && round_ < rounds) decode();
        const Picoseconds edge = decoded_ ? judged_at() : unknown;
        if (edge != unknown && is_scalar(static_cast<Opcode>(now_.op))) {
            const bool arithmetic = now_.op >= static_cast<std::uint8_t>(Opcode::Sadd) && now_.op <= static_cast<std::uint8_t>(Opcode::Smuli);
            if (arithmetic && round_ == 0 && (now_.rd == now_.rs1 || (now_.op <= static_cast<std::uint8_t>(Opcode::Smul) && now_.rd == now_.rs2))) ++in_place_;
            execute_scalar(now_, registers_, widths_);
            front_edge_ = edge + period_;
            advance_position();
            if (last_tracked_ == no_position && position_ == 0) round_ends_.push_back(front_edge_);
            continue;
        }
        const bool first = edge != unknown && (agenda_.empty() || edge + period_ < agenda_.front().time ||
                                               (edge + period_ == agenda_.front().time && agenda_.front().rank > Rank::Edge));
        if (first) {
            if (dispatch(edge)) return Stop::Transfer;
            continue;
        }
        if (agenda_.empty()) {
            WEFT_CHECK(!decoded_, "core {} waits for nothing", core_);
            return Stop::Finished;
        }
        if (process_agenda()) return Stop::SendRead;
    }
}

}  // namespace weft
