#include "lower/pim/emit.h"

#include <algorithm>

#include "base/checked.h"
#include "lower/pim/core_work.h"

namespace weft::lower_pim {
namespace {

/// Instructions of one core after another.
class CoreEmitter {
public:
    CoreEmitter(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const MemoryPlan& memory,
                const ChipWork& work)
        : tasks_(tasks),
          plan_(plan),
          global_(global),
          target_(target),
          memory_(memory),
          work_(work),
          woven_(plan.exchange == ExchangePolicy::Woven),
          code_(static_cast<std::int32_t>(target.weight_bits)) {}

    const CoreCode& emit(CoreId core) {
        code_.clear();
        bool idle = true;
        for (std::uint32_t s = 0; s < plan_.slots_per_round; ++s) idle = idle && work_.at(core, s).actors.empty();
        if (idle) return code_;
        const auto bits = static_cast<std::int32_t>(target_.activation_bits);
        code_.set_bit_widths(bits, bits);
        if (woven_) code_.use_halves(memory_.half_distance[core.index()]);
        for (std::uint32_t s = 0; s < plan_.slots_per_round; ++s) emit_slot(core, work_.at(core, s));
        return code_;
    }

private:
    void emit_slot(CoreId core, const SlotWork& slot) {
        for (const std::uint32_t input : slot.delayed) emit_delays(input);
        for (const std::uint32_t t : slot.local) {
            const Transfer& transfer = plan_.transfers[t];
            copy(arrival_address(transfer), source_address(transfer), size_of(transfer));
        }
        auto insertion = slot.insertions.begin();
        const auto loops = slot.operations.loops();
        for (std::uint32_t l = 0; l <= loops.size(); ++l) {
            WeavePoint here{l, 0};
            for (; insertion != slot.insertions.end() && insertion->point.loop == l; ++insertion) {
                if (here < insertion->point) emit_part(slot.operations.body(loops[l]), here, insertion->point, loops[l].label);
                here = insertion->point;
                if (insertion->transfer != no_id) emit_insertion(core, plan_.transfers[insertion->transfer]);
                if (insertion->store != no_id) emit_store(slot.stores[insertion->store]);
            }
            if (l < loops.size()) emit_part(slot.operations.body(loops[l]), here, {l, loops[l].trips}, loops[l].label);
        }
        WEFT_CHECK(insertion == slot.insertions.end(), "a message stands behind the end of its slot");
    }

    /// What a loop does between two points of it: the rest of a repetition, whole ones, the beginning of one.
    void emit_part(std::span<const Operation> body, WeavePoint from, WeavePoint to, std::uint32_t label) {
        if (from.op != 0) {
            const std::size_t end = from.trip == to.trip ? to.op : body.size();
            code_.append_part(body.subspan(from.op, end - from.op), from.trip, 1, label);
            if (from.trip == to.trip) return;
            ++from.trip;
        }
        code_.append_part(body, from.trip, to.trip - from.trip, label);
        code_.append_part(body.first(to.op), to.trip, 1, label);
    }

    void emit_insertion(CoreId core, const Transfer& transfer) {
        if (transfer.source == no_id) {
            emit_load(transfer);
        } else {
            emit_message(core, transfer);
        }
    }

    [[nodiscard]] CoreId source_core(const Transfer& transfer) const { return plan_.outputs[transfer.source].core; }
    [[nodiscard]] CoreId target_core(const Transfer& transfer) const { return plan_.inputs[transfer.target].core; }
    [[nodiscard]] const TaskTensor& tensor_of(const Transfer& transfer) const {
        return tasks_.tensors[plan_.inputs[transfer.target].tensor.index()];
    }
    [[nodiscard]] std::int32_t size_of(const Transfer& transfer) const {
        return static_cast<std::int32_t>(transfer_elems(tasks_, plan_, transfer));
    }
    [[nodiscard]] std::int32_t written() const { return woven_ ? written_half : 0; }
    [[nodiscard]] std::int32_t read() const { return woven_ ? read_half : 0; }

    void push(const Operation& operation) { code_.append({&operation, 1}, 1, no_id); }

    void copy(std::int32_t target, std::int32_t source, std::int32_t length) {
        push({Opcode::Lmv, {target, 0}, {source, 0}, {}, length, 0});
    }

    [[nodiscard]] std::int32_t source_address(const Transfer& transfer) const {
        return read() + position_address(memory_.outputs[transfer.source], tensor_of(transfer), transfer.span.first);
    }

    /// The first delay buffer, or the input buffer itself.
    [[nodiscard]] std::int32_t arrival_address(const Transfer& transfer) const {
        const std::int32_t address =
            transfer.delays == 0 ? position_address(memory_.inputs[transfer.target], tensor_of(transfer), transfer.span.first)
                                 : stage_address(tasks_, plan_, memory_, transfer.target, 0, transfer.span);
        return written() + address;
    }

    /// Every delay buffer hands on what it holds, the oldest first. With a woven exchange that is the half that this round writes, so what came two rounds
    /// ago; where the rounds are odd, the first hands on the other half, from the round before.
    void emit_delays(std::uint32_t input) {
        const RowBuffer& buffer = plan_.inputs[input];
        const TaskTensor& tensor = tasks_.tensors[buffer.tensor.index()];
        const std::uint32_t stages = memory_.stages[input];
        for (std::uint32_t stage = stages; stage-- > 0;) {
            const std::int32_t half = stage == 0 && memory_.delays[input] % 2 != 0 ? read() : written();
            for (const PositionSpan& span : std::span(plan_.spans).subspan(buffer.first_span, buffer.span_count)) {
                const std::int32_t from = half + stage_address(tasks_, plan_, memory_, input, stage, span);
                const std::int32_t to = written() + (stage + 1 == stages ? position_address(memory_.inputs[input], tensor, span.first)
                                                                         : stage_address(tasks_, plan_, memory_, input, stage + 1, span));
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

    void emit_store(const StoreSpan& store) {
        const RowBuffer& buffer = plan_.outputs[store.output];
        const TaskTensor& tensor = tasks_.tensors[buffer.tensor.index()];
        const RowAddress global{static_cast<std::int32_t>(global_.tensor_address[buffer.tensor.index()]), 0};
        const std::int32_t from = read() + position_address(memory_.outputs[store.output], tensor, store.span.first);
        push({Opcode::St, {position_address(global, tensor, store.span.first), 0}, {from, 0}, {}, static_cast<std::int32_t>(span_elems(tensor, store.span)), 0});
    }

    const Tasks& tasks_;
    const ActorPlan& plan_;
    const GlobalPlan& global_;
    const Target& target_;
    const MemoryPlan& memory_;
    const ChipWork& work_;
    bool woven_;
    CoreCode code_;
};

Port port_of(const TaskTensor& tensor, std::uint32_t address, std::uint32_t offset) {
    return {tensor.graph_tensor, address,           tensor.rows,          tensor.columns,        tensor.channels,
            tensor.gap,          tensor.row_stride, tensor.column_stride, tensor.channel_stride, offset};
}

}  // namespace

GlobalPlan plan_global(const Tasks& tasks, const Rhythm& rhythm) {
    GlobalPlan plan;
    plan.tensor_address.assign(tasks.tensors.size(), no_id);
    std::uint64_t next = 0;
    const auto place = [&](std::uint32_t t) {
        const TaskTensor& tensor = tasks.tensors[t];
        if (plan.tensor_address[t] == no_id) {
            plan.tensor_address[t] = narrow<std::uint32_t>(next);
            next += std::uint64_t{tensor.rows} * (tensor.columns + tensor.gap) * tensor.channels;
            if (next >= (std::uint64_t{1} << 31U)) refuse("inputs and outputs need more than 2 GiB of global memory");
        }
        return plan.tensor_address[t];
    };
    for (const std::uint32_t t : tasks.graph_inputs) plan.inputs.push_back(port_of(tasks.tensors[t], place(t), 0));
    for (const std::uint32_t t : tasks.graph_outputs) {
        const std::uint32_t producer = tasks.tensors[t].producer;
        const std::uint32_t offset = producer == no_id ? 0 : output_round(rhythm, rhythm.family_level[producer]);
        plan.outputs.push_back(port_of(tasks.tensors[t], place(t), offset));
    }
    return plan;
}

void emit_cores(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const PimTiming& timing,
                MemoryPlan& memory, ProgramColumns& program) {
    ChipWork work = collect_work(tasks, plan, global, target, timing, memory);
    place_insertions(tasks, plan, target, timing, memory, work);
    CoreEmitter emitter(tasks, plan, global, target, memory, work);
    program.core_first_run.push_back(0);
    program.core_first_group.push_back(0);
    for (std::uint32_t c = 0; c < target.core_count; ++c) {
        const CoreCode& code = emitter.emit(CoreId(c));
        const auto first = narrow<std::uint32_t>(program.instructions.size());
        program.instructions.insert(program.instructions.end(), code.instructions().begin(), code.instructions().end());
        for (Run run : code.runs()) {
            run.first_instruction += first;
            program.runs.push_back(run);
        }
        program.groups.insert(program.groups.end(), work.groups[c].begin(), work.groups[c].end());
        program.core_first_run.push_back(narrow<std::uint32_t>(program.runs.size()));
        program.core_first_group.push_back(narrow<std::uint32_t>(program.groups.size()));
    }
}

}  // namespace weft::lower_pim
