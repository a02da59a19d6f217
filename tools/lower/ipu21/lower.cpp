#include "lower/ipu21/lower.h"

#include <algorithm>

#include "lower/ipu21/host.h"
#include "lower/ipu21/placement.h"
#include "lower/ipu21/steps.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;

/// Addresses of a phase's transfers: pieces follow one another inside the buffers that the phase reads and writes.
class Addresser {
public:
    Addresser(const StepProgram& program, std::span<const TileAllocation> allocations, std::uint32_t tiles)
        : program_(program), allocations_(allocations), base_(program.buffers.size()), tiles_(tiles) {}

    void assign(std::size_t phase_id, Phase& phase) {
        std::vector<Filled> read(tiles_);
        for (const Transfer& transfer : phase.transfers) {
            phase.source_address.push_back(next(program_.phase_source[phase_id], transfer.source, transfer.words * word_bytes, read));
        }
        const std::vector<std::vector<Piece>> pieces = received_pieces(phase);
        // Pieces of one cut transfer share their receiver rows; from here on every transfer has rows of its own.
        std::vector<std::uint32_t> receivers;
        for (Transfer& transfer : phase.transfers) {
            const auto of_transfer = phase.receivers_of(transfer);
            transfer.first_receiver = static_cast<std::uint32_t>(receivers.size());
            receivers.insert(receivers.end(), of_transfer.begin(), of_transfer.end());
        }
        phase.receivers = std::move(receivers);
        phase.receiver_address.resize(phase.receivers.size());
        std::vector<Filled> written(tiles_);
        for (std::uint32_t tile = 0; tile < tiles_; ++tile) {
            for (const Piece& piece : pieces[tile]) {
                std::uint32_t address = next(program_.phase_sink[phase_id], tile, piece.bytes, written);
                for (std::uint32_t row = piece.first; row < piece.first + piece.count; ++row) {
                    phase.receiver_address[phase.transfers[row].first_receiver + piece.slot] = address;
                    address += phase.transfers[row].words * word_bytes;
                }
            }
        }
    }

private:
    /// What one tile receives in one piece: transfers first .. first + count - 1, into which it was cut; the tile is their receiver number `slot`.
    struct Piece {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        std::uint32_t slot = 0;
        std::uint32_t bytes = 0;
    };

    /// Per tile, larger pieces first: parts of a result that straddle two blocks then fill one another's gaps.
    [[nodiscard]] std::vector<std::vector<Piece>> received_pieces(const Phase& phase) const {
        std::vector<std::vector<Piece>> pieces(tiles_);
        for (std::uint32_t row = 0; row < phase.transfers.size();) {
            const Transfer& transfer = phase.transfers[row];
            Piece piece{row, 0, 0, 0};
            while (row < phase.transfers.size() && phase.transfers[row].first_receiver == transfer.first_receiver) {
                piece.bytes += phase.transfers[row++].words * word_bytes;
                ++piece.count;
            }
            for (const std::uint32_t tile : phase.receivers_of(transfer)) {
                pieces[tile].push_back(piece);
                ++piece.slot;
            }
        }
        for (std::vector<Piece>& of_tile : pieces) std::ranges::stable_sort(of_tile, std::ranges::greater{}, &Piece::bytes);
        return pieces;
    }

    using Filled = std::vector<std::uint32_t>;   // bytes in use of each buffer of a run; empty: of none
    struct Place {
        std::uint32_t address = 0;
        std::uint32_t bytes = 0;
    };

    [[nodiscard]] const std::vector<Place>& places(std::uint32_t buffer) {
        std::vector<Place>& of_buffer = base_[buffer];
        if (of_buffer.empty()) {
            of_buffer.resize(tiles_);
            const TileBuffer& row = program_.buffers[buffer];
            for (const TileAllocation& allocation : allocations_.subspan(row.first_allocation, row.allocation_count)) {
                of_buffer[allocation.tile] = {allocation.address, allocation.bytes};
            }
        }
        return of_buffer;
    }

    /// Where the next piece of a phase stands in a tile: in the first buffer of the run that has room. A run that is full is used again from
    /// its begin (it holds a panel at a time).
    std::uint32_t next(BufferRun run, std::uint32_t tile, std::uint32_t bytes, std::vector<Filled>& tiles) {
        if (run.empty()) return 0;
        Filled& filled = tiles[tile];
        filled.resize(run.count, 0);
        const auto room = [&](std::uint32_t i) { return filled[i] + bytes <= places(run.first + i)[tile].bytes; };
        std::uint32_t at = 0;
        while (at < run.count && !room(at)) ++at;
        if (at == run.count) {
            std::ranges::fill(filled, 0U);
            at = 0;
        }
        const std::uint32_t address = places(run.first + at)[tile].address + filled[at];
        filled[at] += bytes;
        return address;
    }

    const StepProgram& program_;
    std::span<const TileAllocation> allocations_;
    std::vector<std::vector<Place>> base_;
    std::uint32_t tiles_;
};

void append_phase(const PlannedPhase& planned, const PhaseSchedule& schedule, std::uint32_t step, ProgramColumns& program) {
    const Phase& phase = planned.phase;
    TilePhase row{};
    row.role = static_cast<std::uint32_t>(planned.role);
    row.step = step;
    row.first_transfer = static_cast<std::uint32_t>(program.tile_transfers.size());
    row.transfer_count = static_cast<std::uint32_t>(phase.transfers.size());
    row.slots = schedule.slots;
    row.cycles = static_cast<std::uint32_t>(schedule.cycles);
    const auto first = static_cast<std::uint32_t>(program.tile_receivers.size());
    for (std::size_t i = 0; i < phase.transfers.size(); ++i) {
        const Transfer& transfer = phase.transfers[i];
        const TransferTime& time = schedule.times[i];
        program.tile_transfers.push_back({transfer.source, first + transfer.first_receiver, transfer.receiver_count, transfer.words,
                                          phase.source_address[i], static_cast<std::uint32_t>(time.start), static_cast<std::uint32_t>(time.end), time.paired ? 1 : time.slot});
    }
    program.tile_receivers.insert(program.tile_receivers.end(), phase.receivers.begin(), phase.receivers.end());
    program.receiver_addresses.insert(program.receiver_addresses.end(), phase.receiver_address.begin(), phase.receiver_address.end());
    program.tile_phases.push_back(row);
}

ProgramColumns empty_program(const Tasks& tasks, const Target& target) {
    ProgramColumns program;
    program.value_kind = ValueKind::TimingOnly;
    program.core_first_run.assign(target.core_count + 1, 0);
    program.core_first_group.assign(target.core_count + 1, 0);
    program.core_local_elems.assign(target.core_count, 0);
    program.slots_per_round = 1;
    program.stage_count = 1;
    program.inferences_per_round = 1;
    for (const TileOperator& op : tasks.tile_operators) program.labels.push_back(pool_append(program.name_pool, pool_text(tasks.name_pool, op.name)));
    program.graph_hash_high = tasks.graph_hash_high;
    program.graph_hash_low = tasks.graph_hash_low;
    return program;
}

}  // namespace

LoweredProgram lower(const Tasks& tasks, const Schedule& schedule, const Target& target) {
    StepProgram steps = expand_steps(tasks, schedule, target);
    for (const PlannedPhase& planned : steps.phases) {
        check_phase(planned.phase, target.core_count, target.ipu21.max_transfer_words, "lowered phase");
    }
    const std::vector<std::uint32_t> bytes = buffer_bytes(tasks, schedule, target, steps);
    LoweredProgram result;
    result.program = empty_program(tasks, target);
    ProgramColumns& program = result.program;
    result.failure = place_buffers(tasks, schedule, target, steps, bytes, program.allocations);
    if (result.failure) return result;

    const Topology topology(target);
    Addresser addresser(steps, program.allocations, target.core_count);
    program.tile_steps = steps.steps;
    for (std::size_t i = 0; i < steps.phases.size(); ++i) {
        PlannedPhase& planned = steps.phases[i];
        addresser.assign(i, planned.phase);
        const PhaseSchedule finalised = schedule_phase(target, topology, planned.phase);
        program.tile_steps[steps.phase_step[i]].cycles = finalised.cycles;
        append_phase(planned, finalised, steps.phase_step[i], program);
    }
    program.tile_host = host_transfers(tasks, target, steps);
    program.tile_buffers = std::move(steps.buffers);
    for (const TileAllocation& allocation : program.allocations) {
        std::uint32_t& used = program.core_local_elems[allocation.tile];
        used = std::max(used, allocation.address + allocation.bytes - target.ipu21.memory_begin);
    }
    return result;
}

}  // namespace weft::ipu21
