#include "lower/pim/emit.h"

#include <algorithm>
#include <tuple>

#include "base/checked.h"
#include "lower/pim/exchange.h"

namespace weft::lower_pim {
namespace {

/// What a core does in one slot, besides its actors.
struct SlotWork {
    std::vector<std::uint32_t> delayed;     // input buffers whose delay buffers move on
    std::vector<std::uint32_t> local;       // transfers within the core
    std::vector<std::uint32_t> messages;    // transfers to and from other cores, in the chip-wide order
    std::vector<std::uint32_t> loads;       // transfers from global memory
    std::vector<std::uint32_t> actors;
};

class CoreEmitter {
public:
    CoreEmitter(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const PimTiming& timing,
                MemoryPlan& memory, ProgramColumns& program)
        : tasks_(tasks),
          plan_(plan),
          global_(global),
          target_(target),
          timing_(timing),
          memory_(memory),
          program_(program),
          code_(static_cast<std::int32_t>(target.weight_bits)),
          work_(std::size_t{target.core_count} * plan.slots_per_round) {}

    void run() {
        collect();
        order_messages();
        program_.core_first_run.push_back(0);
        program_.core_first_group.push_back(0);
        for (std::uint32_t c = 0; c < target_.core_count; ++c) {
            add_groups(CoreId(c));
            emit_core(CoreId(c));
            program_.core_first_run.push_back(narrow<std::uint32_t>(program_.runs.size()));
            program_.core_first_group.push_back(narrow<std::uint32_t>(program_.groups.size()));
        }
    }

private:
    SlotWork& work(CoreId core, std::uint32_t slot) { return work_[core.index() * plan_.slots_per_round + slot]; }
    CoreId source_core(const Transfer& transfer) const { return plan_.outputs[transfer.source].core; }
    CoreId target_core(const Transfer& transfer) const { return plan_.inputs[transfer.target].core; }
    const TaskTensor& tensor_of(const Transfer& transfer) const {
        return tasks_.tensors[plan_.inputs[transfer.target].tensor.index()];
    }
    std::int32_t size_of(const Transfer& transfer) const {
        return static_cast<std::int32_t>(span_elems(tensor_of(transfer), transfer.span));
    }

    void collect() {
        std::vector<char> seen(plan_.inputs.size(), 0);
        for (std::uint32_t t = 0; t < plan_.transfers.size(); ++t) {
            const Transfer& transfer = plan_.transfers[t];
            SlotWork& slot = work(target_core(transfer), transfer.slot);
            if (transfer.delays > 0 && seen[transfer.target] == 0) {
                seen[transfer.target] = 1;
                slot.delayed.push_back(transfer.target);
            }
            if (transfer.source == no_id) {
                slot.loads.push_back(t);
            } else if (source_core(transfer) == target_core(transfer)) {
                slot.local.push_back(t);
            }
        }
        for (std::uint32_t a = 0; a < plan_.actors.size(); ++a) {
            const Actor& actor = plan_.actors[a];
            work(actor.core, actor.level % plan_.slots_per_round).actors.push_back(a);
        }
        // Actors that load from global memory come last in their slot, so that their loads can be spread over the time before them.
        for (SlotWork& slot : work_) {
            std::stable_partition(slot.actors.begin(), slot.actors.end(), [&](std::uint32_t a) { return !loads_input(a); });
        }
    }

    bool loads_input(std::uint32_t actor_index) const {
        const Actor& actor = plan_.actors[actor_index];
        const Family& family = tasks_.families[actor.family.index()];
        return std::any_of(plan_.actor_inputs.begin() + actor.first_input,
                           plan_.actor_inputs.begin() + actor.first_input + family.input_count, [&](std::uint32_t input) {
                               return tasks_.tensors[plan_.inputs[input].tensor.index()].producer == no_id;
                           });
    }

    std::int64_t actor_ns(std::uint32_t actor_index) const {
        const Actor& actor = plan_.actors[actor_index];
        return static_cast<std::int64_t>(tasks_.families[actor.family.index()].tile_ns) * actor.tile_count;
    }

    std::int64_t slot_compute_ns(const SlotWork& slot) const {
        std::int64_t ns = 0;
        for (const std::uint32_t actor : slot.actors) ns += actor_ns(actor);
        for (const std::uint32_t t : slot.local) ns += timing_.copy_ns(static_cast<std::uint32_t>(size_of(plan_.transfers[t])));
        return ns;
    }

    /// One order per slot for the whole chip; each core gets its projection.
    void order_messages() {
        std::vector<std::vector<std::uint32_t>> by_slot(plan_.slots_per_round);
        for (std::uint32_t t = 0; t < plan_.transfers.size(); ++t) {
            const Transfer& transfer = plan_.transfers[t];
            if (transfer.source != no_id && source_core(transfer) != target_core(transfer)) by_slot[transfer.slot].push_back(t);
        }
        std::vector<std::int64_t> ready(target_.core_count, 0);
        for (std::uint32_t slot = 0; slot < plan_.slots_per_round; ++slot) {
            // With one slot per round a core comes to the exchange after its computation of the round before.
            const std::uint32_t before = (slot + plan_.slots_per_round - 1) % plan_.slots_per_round;
            for (std::uint32_t c = 0; c < target_.core_count; ++c) ready[c] += slot_compute_ns(work(CoreId(c), before));
            std::vector<Message> messages;
            for (const std::uint32_t t : by_slot[slot]) {
                const Transfer& transfer = plan_.transfers[t];
                const auto bytes = static_cast<std::uint32_t>(size_of(transfer));
                const CoreId from = source_core(transfer);
                const CoreId to = target_core(transfer);
                messages.push_back({from, to, timing_.send_ns(from, to, bytes), timing_.recv_ns(from, to, bytes)});
            }
            for (const std::uint32_t index : order_exchange(messages, ready)) {
                const std::uint32_t t = by_slot[slot][index];
                work(source_core(plan_.transfers[t]), slot).messages.push_back(t);
                work(target_core(plan_.transfers[t]), slot).messages.push_back(t);
            }
        }
    }

    void add_groups(CoreId core) {
        family_group_.assign(tasks_.families.size(), no_id);
        std::uint32_t next = 0;
        for (std::uint32_t slot = 0; slot < plan_.slots_per_round; ++slot) {
            for (const std::uint32_t a : work(core, slot).actors) {
                const std::uint32_t f = plan_.actors[a].family.value;
                if (family_group_[f] != no_id) continue;
                const Family& family = tasks_.families[f];
                family_group_[f] = next;
                next += family.strip_count;
                for (const Strip& strip : tasks_.strips.subspan(family.first_strip, family.strip_count)) {
                    program_.groups.push_back({strip.crossbars, strip.rows, strip.columns, strip.first_block, strip.block_count});
                }
            }
        }
    }

    void push(const Operation& operation, std::uint32_t label = no_id) { code_.append({&operation, 1}, 1, label); }

    void copy(std::int32_t target, std::int32_t source, std::int32_t length) {
        push({Opcode::Lmv, {target, 0}, {source, 0}, {}, length, 0});
    }

    std::int32_t source_address(const Transfer& transfer) const {
        return position_address(memory_.outputs[transfer.source], tensor_of(transfer), transfer.span.first);
    }

    /// First delay buffer, or the input buffer itself.
    std::int32_t arrival_address(const Transfer& transfer) const {
        if (transfer.delays == 0) {
            return position_address(memory_.inputs[transfer.target], tensor_of(transfer), transfer.span.first);
        }
        return stage_address(tasks_, plan_, memory_, transfer.target, 0, transfer.span);
    }

    /// Every delay buffer hands on what it holds, the oldest first.
    void emit_delays(std::uint32_t input) {
        const RowBuffer& buffer = plan_.inputs[input];
        const TaskTensor& tensor = tasks_.tensors[buffer.tensor.index()];
        const std::uint32_t delays = memory_.delays[input];
        for (std::uint32_t stage = delays; stage-- > 0;) {
            for (std::uint32_t s = buffer.first_span; s < buffer.first_span + buffer.span_count; ++s) {
                const PositionSpan& span = plan_.spans[s];
                const std::int32_t from = stage_address(tasks_, plan_, memory_, input, stage, span);
                const std::int32_t to = stage + 1 == delays ? position_address(memory_.inputs[input], tensor, span.first)
                                                            : stage_address(tasks_, plan_, memory_, input, stage + 1, span);
                copy(to, from, static_cast<std::int32_t>(span_elems(tensor, span)));
            }
        }
    }

    void emit_message(CoreId core, const Transfer& transfer) {
        const std::int32_t length = size_of(transfer);
        if (source_core(transfer) == core) {
            const auto peer = static_cast<std::int32_t>(target_core(transfer).value);
            push({Opcode::Send, {}, {source_address(transfer), 0}, {}, length, peer});
        } else {
            const auto peer = static_cast<std::int32_t>(source_core(transfer).value);
            push({Opcode::Recv, {arrival_address(transfer), 0}, {}, {}, length, peer});
        }
    }

    void emit_load(const Transfer& transfer) {
        const TaskTensor& tensor = tensor_of(transfer);
        const RowAddress global{static_cast<std::int32_t>(global_.tensor_address[plan_.inputs[transfer.target].tensor.index()]), 0};
        const std::int32_t from = position_address(global, tensor, transfer.span.first);
        push({Opcode::Ld, {arrival_address(transfer), 0}, {from, 0}, {}, size_of(transfer), 0});
    }

    void emit_actor(std::uint32_t actor_index) {
        const Actor& actor = plan_.actors[actor_index];
        const Family& family = tasks_.families[actor.family.index()];
        rows_.clear();
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            rows_.push_back(memory_.inputs[plan_.actor_inputs[actor.first_input + slot]]);
        }
        KernelSpace space;
        space.inputs = rows_;
        space.output = memory_.outputs[actor.output];
        space.scratch = memory_.scratch[actor.core.index()];
        space.first_group = family_group_[actor.family.index()];
        emit_kernel(tasks_, actor.family, actor.first_tile, actor.tile_count, space, memory_.cores[actor.core.index()], code_);
        if (tasks_.tensors[family.output].output_port != no_id) emit_store(actor);
    }

    void emit_store(const Actor& actor) {
        const Family& family = tasks_.families[actor.family.index()];
        const TaskTensor& tensor = tasks_.tensors[family.output];
        const RowAddress global{static_cast<std::int32_t>(global_.tensor_address[family.output]), 0};
        const PositionSpan span{actor.first_position, actor.position_count};
        const std::int32_t from = position_address(memory_.outputs[actor.output], tensor, span.first);
        const std::int32_t to = position_address(global, tensor, span.first);
        push({Opcode::St, {to, 0}, {from, 0}, {}, static_cast<std::int32_t>(span_elems(tensor, span)), 0});
    }

    /// Loads of all cores at once would queue at the global memory: core c of n waits for c/n of its time before the loading actor.
    void emit_compute(CoreId core, SlotWork& slot) {
        std::int64_t before = 0;
        for (const std::uint32_t a : slot.actors) {
            if (loads_input(a)) break;
            before += actor_ns(a);
        }
        const std::int64_t wanted = before * core.value / target_.core_count;
        std::int64_t now = 0;
        bool loaded = false;
        const auto load_all = [&] {
            for (const std::uint32_t t : slot.loads) emit_load(plan_.transfers[t]);
            loaded = true;
        };
        for (const std::uint32_t a : slot.actors) {
            if (!loaded && (now >= wanted || loads_input(a))) load_all();
            emit_actor(a);
            now += actor_ns(a);
        }
        if (!loaded) load_all();
    }

    void emit_core(CoreId core) {
        code_.clear();
        bool idle = true;
        for (std::uint32_t s = 0; s < plan_.slots_per_round; ++s) idle = idle && work(core, s).actors.empty();
        if (idle) return;
        const auto bits = static_cast<std::int32_t>(target_.activation_bits);
        code_.set_bit_widths(bits, bits);
        for (std::uint32_t s = 0; s < plan_.slots_per_round; ++s) {
            SlotWork& slot = work(core, s);
            for (const std::uint32_t input : slot.delayed) emit_delays(input);
            for (const std::uint32_t t : slot.local) {
                const Transfer& transfer = plan_.transfers[t];
                copy(arrival_address(transfer), source_address(transfer), size_of(transfer));
            }
            for (const std::uint32_t t : slot.messages) emit_message(core, plan_.transfers[t]);
            emit_compute(core, slot);
        }
        const auto first = narrow<std::uint32_t>(program_.instructions.size());
        program_.instructions.insert(program_.instructions.end(), code_.instructions().begin(), code_.instructions().end());
        for (Run run : code_.runs()) {
            run.first_instruction += first;
            program_.runs.push_back(run);
        }
    }

    const Tasks& tasks_;
    const ActorPlan& plan_;
    const GlobalPlan& global_;
    const Target& target_;
    const PimTiming& timing_;
    MemoryPlan& memory_;
    ProgramColumns& program_;
    CoreCode code_;
    std::vector<SlotWork> work_;                 // core-major
    std::vector<std::uint32_t> family_group_;    // of the core in hand
    std::vector<RowAddress> rows_;
};

Port port_of(const TaskTensor& tensor, std::uint32_t address, std::uint32_t offset) {
    return {tensor.graph_tensor, address,           tensor.rows,          tensor.columns,        tensor.channels,
            tensor.gap,          tensor.row_stride, tensor.column_stride, tensor.channel_stride, offset};
}

}  // namespace

GlobalPlan plan_global(const Tasks& tasks, std::span<const std::uint32_t> family_level, std::uint32_t slots_per_round) {
    GlobalPlan plan;
    plan.tensor_address.assign(tasks.tensors.size(), no_id);
    std::uint64_t next = 0;
    const auto place = [&](std::uint32_t t) {
        const TaskTensor& tensor = tasks.tensors[t];
        if (plan.tensor_address[t] == no_id) {
            plan.tensor_address[t] = narrow<std::uint32_t>(next);
            next += std::uint64_t{tensor.rows} * (tensor.columns + tensor.gap) * tensor.channels;
            WEFT_CHECK(next < (std::uint64_t{1} << 31U));
        }
        return plan.tensor_address[t];
    };
    for (const std::uint32_t t : tasks.graph_inputs) plan.inputs.push_back(port_of(tasks.tensors[t], place(t), 0));
    for (const std::uint32_t t : tasks.graph_outputs) {
        const std::uint32_t producer = tasks.tensors[t].producer;
        const std::uint32_t offset = producer == no_id ? 0 : family_level[producer] / slots_per_round;
        plan.outputs.push_back(port_of(tasks.tensors[t], place(t), offset));
    }
    return plan;
}

void emit_cores(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const PimTiming& timing,
                MemoryPlan& memory, ProgramColumns& program) {
    CoreEmitter(tasks, plan, global, target, timing, memory, program).run();
}

}  // namespace weft::lower_pim
