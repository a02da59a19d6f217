#include "lower/ipu21/placement.h"

#include <algorithm>
#include <array>
#include <map>

#include "arena/arena.h"
#include "base/checked.h"
#include "ipu21/gemm_memory.h"
#include "ipu21/operand.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;

std::uint32_t shard_on(const Tasks& tasks, const Ipu21& machine, const TileBuffer& buffer, std::uint32_t tile) {
    const TileLayout& layout = tasks.tile_layouts[buffer.layout];
    const LayoutPart part = part_on(layout, tile);
    if (!part.held) return 0;
    const MatrixShape shape{tasks.tile_values[buffer.value].rows, tasks.tile_values[buffer.value].columns};
    // Whole micro-blocks are stored.
    const std::uint64_t rows = std::uint64_t{ceil_divide(rows_of(layout, shape, part.row).length(), layout.row_grain)} * layout.row_grain;
    const std::uint64_t columns = std::uint64_t{ceil_divide(columns_of(layout, shape, part.column).length(), layout.column_grain)} * layout.column_grain;
    if (rows * columns == 0) return 0;
    return narrow<std::uint32_t>(rows * columns * layout.elem_bytes + tail_bytes(machine, layout));
}

std::uint32_t alignment_bytes(const Tasks& tasks, const Ipu21& machine, const TileBuffer& buffer) {
    switch (static_cast<TileBufferKind>(buffer.kind)) {
        case TileBufferKind::Value:
        case TileBufferKind::Copy: return alignment_of(machine, tasks.tile_layouts[buffer.layout]);
        case TileBufferKind::ExchangeRows: return machine.row_alignment_bytes;
        case TileBufferKind::Weights: {
            const bool gemm = static_cast<TileOperatorKind>(tasks.tile_operators[buffer.operator_index].kind) == TileOperatorKind::Gemm;
            return gemm ? machine.amp_alignment_bytes : machine.operand_alignment_bytes;
        }
        case TileBufferKind::Temporary: break;
    }
    return machine.amp_alignment_bytes;
}

/// Stored weights and bias of a GEMM on every tile.
void gemm_weight_bytes(const TileOperator& op, const GemmPlan& plan, const Target& target, std::uint32_t memory, std::span<std::uint32_t> bytes) {
    if (memory == static_cast<std::uint32_t>(weights_memory(plan))) {
        std::ranges::copy(weight_bytes(plan, target.core_count), bytes.begin());
        for (std::uint32_t& tile : bytes) tile += tile == 0 ? 0 : weights_tail_bytes(target.ipu21, plan);
    }
    if (memory != 0 || op.constant_elems == 0) return;
    const std::uint32_t bias = result_columns(plan) * plan.elem_bytes;
    for (std::uint32_t tile = 0; tile < plan.tiles(); ++tile) bytes[tile] += bias;
}

void exchange_row_bytes(const Target& target, const StepProgram& program, std::span<std::uint32_t> bytes) {
    for (const PlannedPhase& planned : program.phases) {
        std::vector<std::uint32_t> roles(bytes.size(), 0);
        for (const Transfer& transfer : planned.phase.transfers) {
            ++roles[transfer.source];
            for (const std::uint32_t tile : planned.phase.receivers_of(transfer)) ++roles[tile];
        }
        for (std::size_t tile = 0; tile < roles.size(); ++tile) {
            if (roles[tile] != 0) bytes[tile] += word_bytes * (1 + target.ipu21.exchange_row_words * roles[tile]);
        }
    }
}

/// What one tile asks for; tiles that ask for the same get the same addresses.
struct TileRequests {
    std::array<std::vector<ArenaRequest>, 2> of_class;
    auto operator<=>(const TileRequests&) const = default;
};

/// Buffers behind the requests of one tile: one group each, most with one member.
struct TileGroups {
    TileRequests requests;
    std::array<std::vector<std::vector<std::uint32_t>>, 2> members;
};

struct TilePlacement {
    std::array<std::vector<std::uint64_t>, 2> addresses;
    bool failed = false;
    std::uint32_t failed_class = 0;
    ArenaFailure failure;
};

TilePlacement place_tile(const Target& target, const TileRequests& requests) {
    const Ipu21& machine = target.ipu21;
    TilePlacement result;
    const Arena interleaved{machine.interleaved_begin, machine.placeable_end};
    auto placed = place_in_arenas(requests.of_class[1], std::span(&interleaved, 1), &result.failure);
    if (!placed) {
        result.failed = true;
        result.failed_class = 1;
        return result;
    }
    std::uint64_t top = machine.interleaved_begin;
    for (std::size_t i = 0; i < placed->size(); ++i) top = std::max(top, (*placed)[i] + requests.of_class[1][i].bytes);
    const std::uint64_t element = machine.interleaved_element_bytes;
    const std::uint64_t boundary =
        std::min<std::uint64_t>(machine.placeable_end, machine.interleaved_begin + ceil_divide(top - machine.interleaved_begin, element) * element);
    result.addresses[1] = std::move(*placed);
    const std::array<Arena, 2> standard{Arena{machine.standard_begin, standard_end(machine)}, Arena{boundary, machine.placeable_end}};
    placed = place_in_arenas(requests.of_class[0], standard, &result.failure);
    if (!placed) {
        result.failed = true;
        result.failed_class = 0;
        return result;
    }
    result.addresses[0] = std::move(*placed);
    return result;
}

/// The buffer whose plan is to blame: of the failed one and those in its way the largest that belongs to an operator's plan.
std::uint32_t blamed_buffer(const StepProgram& program, const std::vector<std::uint32_t>& bytes, std::size_t tiles, std::uint32_t tile,
                            std::uint32_t failed, const std::vector<std::uint32_t>& conflicts) {
    std::uint32_t blamed = failed;
    std::uint64_t largest = program.buffers[failed].operator_index == no_id ? 0 : bytes[failed * tiles + tile];
    for (const std::uint32_t buffer : conflicts) {
        if (program.buffers[buffer].operator_index == no_id) continue;
        const std::uint64_t size = bytes[buffer * tiles + tile];
        if (size > largest) {
            largest = size;
            blamed = buffer;
        }
    }
    return blamed;
}

/// Gathers the buffers of tiles into requests and places them.
class Placer {
public:
    Placer(const Tasks& tasks, const Schedule& schedule, const Target& target, StepProgram& program, const std::vector<std::uint32_t>& bytes)
        : tasks_(tasks), schedule_(schedule), target_(target), program_(program), bytes_(bytes), of_buffer_(program.buffers.size()) {}

    std::optional<PlacementFailure> run(std::vector<TileAllocation>& allocations) {
        for (std::uint32_t tile = 0; tile < target_.core_count; ++tile) {
            if (auto failure = place(tile)) return failure;
        }
        for (std::size_t row = 0; row < program_.buffers.size(); ++row) {
            program_.buffers[row].first_allocation = static_cast<std::uint32_t>(allocations.size());
            program_.buffers[row].allocation_count = static_cast<std::uint32_t>(of_buffer_[row].size());
            allocations.insert(allocations.end(), of_buffer_[row].begin(), of_buffer_[row].end());
        }
        return std::nullopt;
    }

private:
    /// Results in their operands' places need less memory at every moment, but one place for longer; where that finds none, every result
    /// gets its own.
    std::optional<PlacementFailure> place(std::uint32_t tile) {
        std::optional<PlacementFailure> first;
        for (const bool in_place : {true, false}) {
            const TileGroups groups = groups_on(tile, in_place);
            auto at = known_.find(groups.requests);
            if (at == known_.end()) at = known_.emplace(groups.requests, place_tile(target_, groups.requests)).first;
            if (!at->second.failed) {
                record(tile, groups, at->second);
                return std::nullopt;
            }
            if (!first) first = describe(tile, groups, at->second);
        }
        return first;
    }

    [[nodiscard]] std::uint32_t size_on(std::uint32_t buffer, std::uint32_t tile) const { return bytes_[std::size_t{buffer} * target_.core_count + tile]; }

    [[nodiscard]] TileGroups groups_on(std::uint32_t tile, bool in_place) const {
        std::vector<std::uint32_t> root(program_.buffers.size());
        for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = i;
        const auto find = [&](std::uint32_t buffer) {
            while (root[buffer] != buffer) buffer = root[buffer] = root[root[buffer]];
            return buffer;
        };
        for (const BufferAlias& alias : program_.aliases) {
            const bool held = size_on(alias.earlier, tile) != 0 && size_on(alias.later, tile) != 0;
            const bool view = alias.kind == BufferAlias::Kind::View && held;
            const bool alike = program_.buffers[alias.earlier].memory == program_.buffers[alias.later].memory &&
                               (view || size_on(alias.earlier, tile) == size_on(alias.later, tile));
            if (!alike || (alias.kind == BufferAlias::Kind::InPlace && !in_place)) continue;
            const std::uint32_t a = find(alias.earlier);
            const std::uint32_t b = find(alias.later);
            root[std::max(a, b)] = std::min(a, b);
        }
        TileGroups groups;
        std::vector<std::uint32_t> place(root.size(), no_id);   // of a group among the requests of its class
        for (std::uint32_t row = 0; row < root.size(); ++row) {
            if (size_on(row, tile) == 0) continue;
            const TileBuffer& buffer = program_.buffers[row];
            std::vector<ArenaRequest>& requests = groups.requests.of_class[buffer.memory];
            const std::uint32_t alignment = alignment_bytes(tasks_, target_.ipu21, buffer);
            std::uint32_t& at = place[find(row)];
            if (at == no_id) {
                at = static_cast<std::uint32_t>(requests.size());
                requests.push_back({size_on(row, tile), alignment, buffer.first_step, buffer.last_step});
                groups.members[buffer.memory].push_back({row});
                continue;
            }
            requests[at].bytes = std::max<std::uint64_t>(requests[at].bytes, size_on(row, tile));
            requests[at].alignment = std::max<std::uint64_t>(requests[at].alignment, alignment);
            requests[at].first = std::min(requests[at].first, buffer.first_step);
            requests[at].last = std::max(requests[at].last, buffer.last_step);
            groups.members[buffer.memory][at].push_back(row);
        }
        return groups;
    }

    void record(std::uint32_t tile, const TileGroups& groups, const TilePlacement& placement) {
        for (std::size_t of_class = 0; of_class < 2; ++of_class) {
            for (std::size_t i = 0; i < groups.members[of_class].size(); ++i) {
                for (const std::uint32_t row : groups.members[of_class][i]) {
                    of_buffer_[row].push_back({tile, static_cast<std::uint32_t>(placement.addresses[of_class][i]), size_on(row, tile)});
                }
            }
        }
    }

    [[nodiscard]] PlacementFailure describe(std::uint32_t tile, const TileGroups& groups, const TilePlacement& placement) const {
        const ArenaFailure& arena = placement.failure;
        const auto& members = groups.members[placement.failed_class];
        const ArenaRequest& request = groups.requests.of_class[placement.failed_class][arena.request];
        PlacementFailure failure;
        failure.tile = tile;
        failure.memory = placement.failed_class;
        failure.group = members[arena.request];
        failure.buffer = failure.group.front();
        failure.bytes = request.bytes;
        failure.alignment = request.alignment;
        failure.largest_free = arena.largest_free;
        failure.proved = arena.proved;
        failure.buffers = program_.buffers;
        std::vector<std::uint32_t> conflicts;
        for (const std::uint32_t other : arena.conflicts) {
            for (const std::uint32_t row : members[other]) {
                conflicts.push_back(row);
                failure.conflicts.push_back({row, static_cast<std::uint32_t>(arena.addresses[other]), size_on(row, tile)});
            }
        }
        const std::uint32_t blamed = program_.buffers[blamed_buffer(program_, bytes_, target_.core_count, tile, failure.buffer, conflicts)].operator_index;
        const std::uint32_t op = blamed != no_id ? blamed : program_.steps[program_.buffers[failure.buffer].first_step].operator_index;
        failure.operator_name = pool_text(tasks_.name_pool, tasks_.tile_operators[op].name);
        failure.plan_key = pool_text(tasks_.name_pool, tasks_.tile_plans[schedule_.plan_choice[op]].key);
        constexpr std::array kinds{"value", "converted copy", "weights", "temporaries", "exchange rows"};
        const std::string shared = failure.group.size() == 1 ? "" : fmt::format(" (and {} more in its place)", failure.group.size() - 1);
        failure.text = fmt::format("tile {}: no {} memory for {}{} of {} bytes (steps {} to {}); {} buffers are alive beside it, the largest gap is {} bytes{}. "
                                   "Plan to avoid: '{}' of operator '{}'",
                                   tile, failure.memory == 0 ? "standard" : "interleaved", kinds[program_.buffers[failure.buffer].kind], shared, failure.bytes,
                                   request.first, request.last, conflicts.size(), failure.largest_free, failure.proved ? ", and no order of placing helps" : "",
                                   failure.plan_key, failure.operator_name);
        return failure;
    }

    const Tasks& tasks_;
    const Schedule& schedule_;
    const Target& target_;
    StepProgram& program_;
    const std::vector<std::uint32_t>& bytes_;
    std::vector<std::vector<TileAllocation>> of_buffer_;
    std::map<TileRequests, TilePlacement> known_;
};

}  // namespace

std::vector<std::uint32_t> buffer_bytes(const Tasks& tasks, const Schedule& schedule, const Target& target, const StepProgram& program) {
    const std::size_t tiles = target.core_count;
    std::vector<std::uint32_t> bytes(program.buffers.size() * tiles, 0);
    for (std::size_t row = 0; row < program.buffers.size(); ++row) {
        const TileBuffer& buffer = program.buffers[row];
        const std::span<std::uint32_t> of_buffer = std::span(bytes).subspan(row * tiles, tiles);
        const auto kind = static_cast<TileBufferKind>(buffer.kind);
        if (kind == TileBufferKind::Value || kind == TileBufferKind::Copy) {
            for (std::uint32_t tile = 0; tile < tiles; ++tile) of_buffer[tile] = shard_on(tasks, target.ipu21, buffer, tile);
            continue;
        }
        if (kind == TileBufferKind::ExchangeRows) {
            exchange_row_bytes(target, program, of_buffer);
            continue;
        }
        const TileOperator& op = tasks.tile_operators[buffer.operator_index];
        const TilePlan& plan = tasks.tile_plans[schedule.plan_choice[buffer.operator_index]];
        const std::uint32_t used = std::min<std::uint32_t>(plan.tiles, target.core_count);
        if (kind == TileBufferKind::Temporary) {
            std::fill_n(of_buffer.begin(), used, narrow<std::uint32_t>(program.temporary_bytes[row]));
        } else if (static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm) {
            const TileLayout& input = tasks.tile_layouts[tasks.plan_layouts[plan.first_layout]];
            gemm_weight_bytes(op, gemm_plan(op, plan, input, target.ipu21.amp_columns), target, buffer.memory, of_buffer);
        } else {
            std::fill_n(of_buffer.begin(), used, plan.resident_standard);
        }
    }
    return bytes;
}

std::optional<PlacementFailure> place_buffers(const Tasks& tasks, const Schedule& schedule, const Target& target, StepProgram& program,
                                              const std::vector<std::uint32_t>& bytes, std::vector<TileAllocation>& allocations) {
    return Placer(tasks, schedule, target, program, bytes).run(allocations);
}

}  // namespace weft::ipu21
