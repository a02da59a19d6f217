#include "schedule/ipu21/operator_memory.h"

#include <algorithm>
#include <array>

#include "base/id.h"
#include "ipu21/operand.h"

namespace weft::ipu21 {
namespace {

class MemoryWalk {
public:
    MemoryWalk(const Tasks& tasks, const Schedule& schedule, const Target& target)
        : tasks_(tasks), schedule_(schedule), machine_(target.ipu21), layout_of_(tasks.tile_values.size(), no_id), last_use_(tasks.tile_values.size(), 0) {
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) {
            for (const std::uint32_t value : inputs_of(op)) last_use_[value] = op;
        }
    }

    std::vector<OperatorMemory> run() {
        std::vector<OperatorMemory> result(tasks_.tile_operators.size());
        OperatorMemory resident;
        for (std::uint32_t op = 0; op < result.size(); ++op) {
            result[op] = peak_of(op);
            resident.standard += plan_of(op).resident_standard;
            resident.interleaved += plan_of(op).resident_interleaved;
        }
        for (OperatorMemory& memory : result) {
            memory.standard += resident.standard;
            memory.interleaved += resident.interleaved;
        }
        return result;
    }

private:
    using Bytes = std::array<std::uint64_t, 2>;   // per memory class

    [[nodiscard]] std::span<const std::uint32_t> inputs_of(std::uint32_t op) const {
        return tasks_.tile_inputs.subspan(tasks_.tile_operators[op].first_input, tasks_.tile_operators[op].input_count);
    }
    [[nodiscard]] const TilePlan& plan_of(std::uint32_t op) const { return tasks_.tile_plans[schedule_.plan_choice[op]]; }

    void add(Bytes& bytes, std::uint32_t value, std::uint32_t layout) const {
        const MatrixShape shape{tasks_.tile_values[value].rows, tasks_.tile_values[value].columns};
        bytes[tasks_.tile_layouts[layout].memory] += operand_bytes(machine_, tasks_.tile_layouts[layout], shape);
    }

    [[nodiscard]] bool lives_after(std::uint32_t value, std::uint32_t op) const { return tasks_.tile_values[value].is_output != 0 || last_use_[value] > op; }

    /// Bytes of all values that stand somewhere.
    [[nodiscard]] Bytes live() const {
        Bytes bytes{};
        for (std::uint32_t value = 0; value < layout_of_.size(); ++value) {
            if (layout_of_[value] != no_id) add(bytes, value, layout_of_[value]);
        }
        return bytes;
    }

    OperatorMemory peak_of(std::uint32_t op) {
        const TilePlan& plan = plan_of(op);
        // A network input stands in the layout that its first reader wants.
        for (std::uint32_t slot = 0; slot < inputs_of(op).size(); ++slot) {
            std::uint32_t& layout = layout_of_[inputs_of(op)[slot]];
            if (layout == no_id) layout = tasks_.plan_layouts[plan.first_layout + slot];
        }
        OperatorMemory peak;
        Bytes copies{};
        const auto note = [&](Bytes more) {
            const Bytes now = live();
            peak.standard = std::max(peak.standard, now[0] + copies[0] + more[0]);
            peak.interleaved = std::max(peak.interleaved, now[1] + copies[1] + more[1]);
        };
        note({});
        std::vector<TileConversion> replacing;
        Bytes lasting{};
        for (const TileConversion& conversion : schedule_.conversions) {
            if (conversion.operator_index != op) continue;
            const std::uint32_t value = inputs_of(op)[conversion.input];
            add(copies, value, conversion.to_layout);
            const bool first = std::ranges::none_of(replacing, [&](const TileConversion& c) { return inputs_of(op)[c.input] == value; });
            if (conversion.replaces != 0 && first) replacing.push_back(conversion);
            else add(lasting, value, conversion.to_layout);
            note({});
        }
        for (const TileConversion& conversion : replacing) layout_of_[inputs_of(op)[conversion.input]] = conversion.to_layout;
        copies = lasting;
        layout_of_[tasks_.tile_operators[op].output] = plan.output_layout;
        note({plan.temporary_standard, plan.temporary_interleaved});
        for (std::uint32_t value = 0; value < layout_of_.size(); ++value) {
            const bool output = value == tasks_.tile_operators[op].output;
            if (layout_of_[value] != no_id && !output && !lives_after(value, op)) layout_of_[value] = no_id;
        }
        return peak;
    }

    const Tasks& tasks_;
    const Schedule& schedule_;
    const Ipu21& machine_;
    std::vector<std::uint32_t> layout_of_;   // per value that stands somewhere
    std::vector<std::uint32_t> last_use_;
};

}  // namespace

std::vector<OperatorMemory> operator_memory(const Tasks& tasks, const Schedule& schedule, const Target& target) {
    return MemoryWalk(tasks, schedule, target).run();
}

}  // namespace weft::ipu21
