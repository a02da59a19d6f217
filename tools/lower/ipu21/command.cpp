#include "lower/ipu21/command.h"

#include <algorithm>

#include "artifact/constraint.h"
#include "lower/ipu21/host.h"

namespace weft::ipu21 {
namespace {

ConstraintColumns constraint_of(const PlacementFailure& failure) {
    ConstraintColumns constraint;
    constraint.operator_name = failure.operator_name;
    constraint.plan_key = failure.plan_key;
    constraint.reason = failure.text;
    constraint.tile = failure.tile;
    constraint.memory = failure.memory;
    constraint.bytes = failure.bytes;
    constraint.alignment = failure.alignment;
    constraint.largest_free_bytes = failure.largest_free;
    constraint.first_step = failure.buffers[failure.buffer].first_step;
    constraint.last_step = failure.buffers[failure.buffer].last_step;
    const auto row_of = [&](std::uint32_t id, std::uint32_t address, std::uint32_t bytes) {
        const TileBuffer& buffer = failure.buffers[id];
        return ConstraintConflict{buffer.kind, buffer.operator_index, buffer.value, buffer.first_step, buffer.last_step, address, bytes};
    };
    for (const PlacementConflict& conflict : failure.conflicts) constraint.conflicts.push_back(row_of(conflict.buffer, conflict.address, conflict.bytes));
    for (const std::uint32_t buffer : failure.group) constraint.group.push_back(row_of(buffer, 0, static_cast<std::uint32_t>(failure.bytes)));
    return constraint;
}

}  // namespace

void LowerCommand::add_options(CLI::App& app) {
    app.add_option("--constraint", constraint_path_, "Tile processors: where a failed placement writes the plan to avoid (.constraint)")->type_name("FILE");
}

void LowerCommand::run(Tool& tool, const Tasks& tasks, const Schedule& schedule, const Target& target, const std::string& output) {
    const LoweredProgram lowered = lower(tasks, schedule, target);
    if (lowered.failure) {
        if (!constraint_path_.empty()) {
            const ConstraintColumns constraint = constraint_of(*lowered.failure);
            write_artifact(constraint_path_, view(constraint));
            tool.note_output(constraint_path_);
        }
        refuse("{}", lowered.failure->text);
    }
    const ProgramColumns& program = lowered.program;
    const Hash128 hash = write_artifact(output, view(program));
    tool.note_output(output);
    std::uint64_t scheduled = 0;
    for (const TilePhase& phase : program.tile_phases) scheduled += phase.cycles;
    tool.report()["program_hash"] = to_hex(hash);
    tool.report()["steps"] = program.tile_steps.size();
    tool.report()["phases"] = program.tile_phases.size();
    tool.report()["transfers"] = program.tile_transfers.size();
    tool.report()["scheduled_exchange_cycles"] = scheduled;
    tool.report()["host_bytes_to_tiles"] = host_bytes(program.tile_host, false);
    tool.report()["host_bytes_from_tiles"] = host_bytes(program.tile_host, true);
    tool.report()["allocations"] = program.allocations.size();
    PlacedBytes placed;
    for (const PlacedBytes& step : placed_bytes(view(program), target.core_count)) {
        placed.standard = std::max(placed.standard, step.standard);
        placed.interleaved = std::max(placed.interleaved, step.interleaved);
    }
    tool.report()["standard_bytes_max"] = placed.standard;
    tool.report()["interleaved_bytes_max"] = placed.interleaved;
    tool.report()["local_bytes_max"] = *std::ranges::max_element(program.core_local_elems);
}

}  // namespace weft::ipu21
