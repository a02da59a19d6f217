#include "lower/pim/core_work.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::lower_pim {
namespace {

class Collector {
public:
    Collector(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const PimTiming& timing,
              MemoryPlan& memory)
        : tasks_(tasks), plan_(plan), global_(global), timing_(timing), memory_(memory), cores_(target.core_count) {}

    ChipWork run() {
        work_.slots_per_round = plan_.slots_per_round;
        work_.slots.resize(std::size_t{cores_} * plan_.slots_per_round);
        work_.groups.resize(cores_);
        sort_transfers();
        sort_actors();
        for (std::uint32_t c = 0; c < cores_; ++c) {
            assign_groups(CoreId(c));
            for (std::uint32_t slot = 0; slot < plan_.slots_per_round; ++slot) record(work_.at(CoreId(c), slot), CoreId(c));
        }
        return std::move(work_);
    }

private:
    void sort_transfers() {
        std::vector<char> seen(plan_.inputs.size(), 0);
        for (std::uint32_t t = 0; t < plan_.transfers.size(); ++t) {
            const Transfer& transfer = plan_.transfers[t];
            const CoreId core = plan_.inputs[transfer.target].core;
            SlotWork& slot = work_.at(core, transfer.slot);
            if (transfer.delays > 0 && seen[transfer.target] == 0) {
                seen[transfer.target] = 1;
                slot.delayed.push_back(transfer.target);
            }
            if (transfer.source == no_id) {
                slot.loads.push_back(t);
            } else if (plan_.outputs[transfer.source].core == core) {
                slot.local.push_back(t);
            }
        }
    }

    void sort_actors() {
        for (std::uint32_t a = 0; a < plan_.actors.size(); ++a) {
            const Actor& actor = plan_.actors[a];
            work_.at(actor.core, actor.level % plan_.slots_per_round).actors.push_back(a);
        }
        // Actors that read a network input come last in their slot, so that their loads can be spread over the time before them.
        for (SlotWork& slot : work_.slots) {
            std::stable_partition(slot.actors.begin(), slot.actors.end(), [&](std::uint32_t a) { return !loads_input(a); });
        }
    }

    [[nodiscard]] bool loads_input(std::uint32_t actor_index) const {
        const Actor& actor = plan_.actors[actor_index];
        const Family& family = tasks_.families[actor.family.index()];
        const auto inputs = std::span(plan_.actor_inputs).subspan(actor.first_input, family.input_count);
        return std::any_of(inputs.begin(), inputs.end(), [&](std::uint32_t input) {
            return tasks_.tensors[plan_.inputs[input].tensor.index()].producer == no_id;
        });
    }

    /// One array group per strip of each family on the core.
    void assign_groups(CoreId core) {
        family_group_.assign(tasks_.families.size(), no_id);
        crossbars_.clear();
        for (std::uint32_t slot = 0; slot < plan_.slots_per_round; ++slot) {
            for (const std::uint32_t a : work_.at(core, slot).actors) {
                const std::uint32_t f = plan_.actors[a].family.value;
                if (family_group_[f] != no_id) continue;
                const Family& family = tasks_.families[f];
                family_group_[f] = narrow<std::uint32_t>(crossbars_.size());
                for (const Strip& strip : tasks_.strips.subspan(family.first_strip, family.strip_count)) {
                    work_.groups[core.index()].push_back(
                        {strip.crossbars, strip.rows, strip.columns, strip.first_block, strip.block_count});
                    crossbars_.push_back(strip.crossbars);
                }
            }
        }
    }

    void record(SlotWork& slot, CoreId core) {
        const bool woven = plan_.exchange == ExchangePolicy::Woven;
        slot.first_loading_loop = no_id;
        for (const std::uint32_t a : slot.actors) {
            if (loads_input(a) && slot.first_loading_loop == no_id) {
                slot.first_loading_loop = narrow<std::uint32_t>(slot.operations.loops().size());
            }
            const Actor& actor = plan_.actors[a];
            const Family& family = tasks_.families[actor.family.index()];
            rows_.clear();
            for (std::uint32_t input = 0; input < family.input_count; ++input) {
                rows_.push_back(memory_.inputs[plan_.actor_inputs[actor.first_input + input]]);
                if (woven) rows_.back().base += read_half;
            }
            KernelSpace space;
            space.inputs = rows_;
            space.output = memory_.outputs[actor.output];
            if (woven) space.output.base += written_half;
            space.scratch = memory_.scratch[core.index()];
            space.first_group = family_group_[actor.family.index()];
            emit_kernel(tasks_, actor.family, actor.first_tile, actor.tile_count, space, memory_.cores[core.index()],
                        slot.operations);
            if (tasks_.tensors[family.output].output_port == no_id) continue;
            for_each_store(family, tasks_.tensors[family.output], actor.first_tile, actor.tile_count, plan_.exchange, [&](PositionSpan span) {
                if (woven) slot.stores.push_back({actor.output, span});
                else record_store(actor.family, span, space.output, slot.operations);
            });
        }
        for (const OperationList::Loop& loop : slot.operations.loops()) {
            slot.trip_ns.push_back(0);
            for (const Operation& operation : slot.operations.body(loop)) {
                slot.op_ns.push_back(operation_time(operation, loop.trips, core));
                slot.trip_ns.back() += slot.op_ns.back();
            }
        }
    }

    void record_store(FamilyId id, PositionSpan span, RowAddress output, OperationList& operations) const {
        const Family& family = tasks_.families[id.index()];
        const TaskTensor& tensor = tasks_.tensors[family.output];
        const RowAddress global{static_cast<std::int32_t>(global_.tensor_address[family.output]), 0};
        const Operation store{Opcode::St,
                              {position_address(global, tensor, span.first), 0},
                              {position_address(output, tensor, span.first), 0},
                              {},
                              static_cast<std::int32_t>(span_elems(tensor, span)),
                              0};
        operations.append({&store, 1}, 1, id.value);
    }

    /// In one of `trips` repetitions: the instruction, and one register load for each operand that moves.
    [[nodiscard]] std::int64_t operation_time(const Operation& operation, std::uint32_t trips, CoreId core) const {
        if (operation.op == Opcode::St) return timing_.store_ns(core, static_cast<std::uint32_t>(operation.length));
        Instruction instruction;
        instruction.op = static_cast<std::uint8_t>(operation.op);
        instruction.length = operation.op == Opcode::Mvmul ? operation.argument : operation.length;
        std::int64_t ns = instruction_ns(instruction, crossbars_, timing_);
        std::array<Address, 3> operands;
        const std::size_t count = local_operands(operation, operands);
        for (std::size_t i = 0; i < count; ++i) {
            if (operands[i].stride != 0 || trips == 1) ns += timing_.scalar_ns();
        }
        return ns;
    }

    const Tasks& tasks_;
    const ActorPlan& plan_;
    const GlobalPlan& global_;
    const PimTiming& timing_;
    MemoryPlan& memory_;
    std::uint32_t cores_;
    ChipWork work_;
    std::vector<std::uint32_t> family_group_;   // of the core in hand
    std::vector<std::uint32_t> crossbars_;      // per array group of the core in hand
    std::vector<RowAddress> rows_;
};

}  // namespace

std::uint32_t transfer_elems(const Tasks& tasks, const ActorPlan& plan, const Transfer& transfer) {
    return span_elems(tasks.tensors[plan.inputs[transfer.target].tensor.index()], transfer.span);
}

ChipWork collect_work(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target,
                      const PimTiming& timing, MemoryPlan& memory) {
    return Collector(tasks, plan, global, target, timing, memory).run();
}

}  // namespace weft::lower_pim
