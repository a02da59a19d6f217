#include "inspect/figures.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "all_visit.h"
#include "inspect/column_view.h"

namespace weft {
namespace {

class FigureList {
public:
    template <class Number>
        requires std::is_arithmetic_v<Number>
    void add(std::string name, Number number) {
        figures_.push_back({std::move(name), fmt::format("{}", number), true});
    }
    void add(std::string name, std::string_view text) { figures_.push_back({std::move(name), std::string(text), false}); }
    /// a / b with four digits; "-" where b is zero.
    void add_ratio(std::string name, std::uint64_t a, std::uint64_t b) {
        if (b == 0) {
            add(std::move(name), "-");
        } else {
            figures_.push_back({std::move(name), fmt::format("{:.4f}", static_cast<double>(a) / static_cast<double>(b)), true});
        }
    }
    [[nodiscard]] std::vector<Figure> take() { return std::move(figures_); }

private:
    std::vector<Figure> figures_;
};

/// "Conv 21, Relu 17": how often each value of an enum occurs, most frequent first, then by value.
template <class Enum, class Rows, class KindOf>
std::string histogram(const Rows& rows, KindOf kind_of) {
    std::vector<std::uint64_t> counts(256);
    for (const auto& row : rows) ++counts[std::min<std::uint32_t>(kind_of(row), 255)];
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    std::string text;
    for (const std::size_t kind : order) {
        if (counts[kind] == 0) break;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", enum_text(static_cast<Enum>(kind)), counts[kind]);
    }
    return text;
}

std::string shape_text(const Graph& graph, std::uint32_t tensor) {
    const GraphTensor& row = graph.tensors[tensor];
    const auto dims = graph.dims.subspan(row.first_dim, row.rank);
    return fmt::format("{} [{}]", pool_text(graph.name_pool, row.name), fmt::join(dims, ", "));
}

/// Number of items at each core that are not zero.
template <class Counts>
std::size_t used(const Counts& counts) {
    return static_cast<std::size_t>(std::count_if(counts.begin(), counts.end(), [](auto count) { return count != 0; }));
}

}  // namespace

std::vector<Figure> figures_of(const Graph& graph) {
    FigureList list;
    for (const auto tensor : graph.inputs) list.add("input", shape_text(graph, tensor));
    for (const auto tensor : graph.outputs) list.add("output", shape_text(graph, tensor));
    list.add("nodes", graph.nodes.size());
    list.add("operators", histogram<OperatorKind>(graph.nodes, [](const GraphNode& node) { return node.kind; }));
    std::uint64_t weight_bytes = 0;
    for (const auto& blob : graph.blobs) weight_bytes += blob.byte_count;
    list.add("weight_blobs", graph.blobs.size());
    list.add("weight_bytes", weight_bytes);
    return list.take();
}

std::vector<Figure> figures_of(const Target& target) {
    FigureList list;
    list.add("name", target.name);
    list.add("family", enum_text(target.family));
    list.add("cores", target.core_count);
    list.add("crossbars_per_core", target.core.crossbar_count);
    list.add("crossbars", std::uint64_t{target.core_count} * target.core.crossbar_count);
    list.add("crossbar_size", fmt::format("{} x {} cells of {} bits", target.core.crossbar_rows, target.core.crossbar_columns,
                                          target.core.cell_bits));
    list.add("local_memory_bytes", target.core.local_memory_bytes);
    list.add("reorder_buffer_entries", target.core.rob_entries);
    return list.take();
}

std::vector<Figure> figures_of(const Tasks& tasks) {
    FigureList list;
    list.add("families", tasks.families.size());
    list.add("kinds", histogram<FamilyKind>(tasks.families, [](const Family& family) { return family.kind; }));
    std::uint64_t crossbars = 0;
    for (const auto& family : tasks.families) crossbars += family.crossbars;
    std::uint64_t work = 0;
    for (const auto& lane : tasks.lanes) work += lane.work_ns;
    list.add("strips", tasks.strips.size());
    list.add("lanes", tasks.lanes.size());
    list.add("demands", tasks.demands.size());
    list.add("crossbars_once", crossbars);
    list.add("work_ns", work);
    list.add("work_bound_ns", tasks.work_bound_ns);
    list.add("host_head_nodes", tasks.host_head.size());
    list.add("host_tail_nodes", tasks.host_tail.size());
    return list.take();
}

std::vector<Figure> figures_of(const Schedule& schedule) {
    FigureList list;
    list.add("mode", enum_text(schedule.mode));
    list.add("strategy", schedule.strategy);
    list.add("lanes", schedule.lane_core.size());
    list.add("stages", schedule.stage_count);
    list.add("slots_per_round", schedule.slots_per_round);
    list.add("depth", schedule.depth);
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (const auto work : schedule.core_work_ns) {
        total += work;
        largest = std::max(largest, work);
    }
    std::uint64_t crossbars = 0;
    for (const auto count : schedule.core_crossbars) crossbars += count;
    list.add("cores", schedule.core_work_ns.size());
    list.add("cores_used", used(schedule.core_work_ns));
    list.add("crossbars_used", crossbars);
    list.add("work_ns", total);
    list.add("largest_core_ns", largest);
    list.add_ratio("largest_to_mean", largest * schedule.core_work_ns.size(), total);
    list.add("critical_path_ns", schedule.critical_path_ns);
    list.add("completion_ns", schedule.completion_ns);
    return list.take();
}

std::vector<Figure> figures_of(const Candidates& candidates) {
    FigureList list;
    list.add("candidates", candidates.file_names.size());
    for (std::size_t row = 0; row < candidates.file_names.size(); ++row) {
        list.add(fmt::format("candidate_{}", row),
                 fmt::format("{} {}: largest core {} ns, depth {}, {} stages, {} cores, {} crossbars", candidates.file_names[row],
                             candidates.strategies[row], candidates.bottleneck_ns[row], candidates.depth[row],
                             candidates.stage_count[row], candidates.cores_used[row], candidates.crossbars_used[row]));
    }
    return list.take();
}

std::vector<Figure> figures_of(const Program& program) {
    FigureList list;
    const std::size_t cores = program.core_first_run.empty() ? 0 : program.core_first_run.size() - 1;
    std::array<std::uint64_t, 256> executed{};
    std::uint64_t total = 0;
    for (const auto& run : program.runs) {
        for (const auto& row : program.instructions.subspan(run.first_instruction, run.instruction_count)) {
            executed[row.op] += run.trip_count;
            total += run.trip_count;
        }
    }
    std::size_t cores_used = 0;
    for (std::size_t core = 0; core < cores; ++core) {
        cores_used += program.core_first_run[core + 1] != program.core_first_run[core] ? 1 : 0;
    }
    std::uint64_t crossbars = 0;
    for (const auto& group : program.groups) crossbars += group.crossbars;
    list.add("values", enum_text(program.value_kind));
    list.add("cores", cores);
    list.add("cores_used", cores_used);
    list.add("crossbars_used", crossbars);
    list.add("groups", program.groups.size());
    list.add("depth", program.depth);
    list.add("stages", program.stage_count);
    list.add("inferences_per_round", program.inferences_per_round);
    list.add("runs", program.runs.size());
    list.add("instruction_rows", program.instructions.size());
    list.add("executed_instructions", total);
    for (std::size_t op = 0; op < executed.size(); ++op) {
        if (executed[op] != 0) list.add(fmt::format("executed_{}", enum_text(static_cast<Opcode>(op))), executed[op]);
    }
    const auto local = std::max_element(program.core_local_elems.begin(), program.core_local_elems.end());
    list.add("largest_local_elems", local == program.core_local_elems.end() ? 0U : *local);
    list.add("inputs", program.inputs.size());
    list.add("outputs", program.outputs.size());
    return list.take();
}

std::vector<Figure> figures_of(const Timing& timing) {
    FigureList list;
    list.add("availability", enum_text(timing.availability));
    if (!timing.reason.empty()) list.add("reason", timing.reason);
    list.add("interval_ns", timing.interval_ns);
    list.add("alternative_interval_ns", timing.alternative_interval_ns);
    list.add("latency_ns", timing.latency_ns);
    list.add("depth", timing.depth);
    list.add("inferences_per_round", timing.inferences_per_round);
    list.add("work_bound_ns", timing.work_bound_ns);
    list.add("local_bound_ns", timing.local_bound_ns);
    list.add_ratio("interval_to_work_bound", timing.interval_ns, timing.work_bound_ns);
    list.add_ratio("interval_to_local_bound", timing.interval_ns, timing.local_bound_ns);
    list.add("busiest_core_ns", timing.busiest_core_ns);
    list.add("memory_bound_ns", timing.memory_bound_ns);
    list.add("switch_bound_ns", timing.switch_bound_ns);
    list.add("events", timing.events);
    return list.take();
}

std::vector<Figure> figures_of(const Selection& selection) {
    FigureList list;
    list.add("chosen", selection.chosen);
    list.add("reason", enum_text(selection.reason));
    list.add("margin_ppm", selection.margin_ppm);
    for (std::size_t row = 0; row < selection.verdicts.size(); ++row) {
        list.add(fmt::format("candidate_{}", row), fmt::format("{}: interval {} ns, between {} and {} ns", enum_text(selection.verdicts[row]),
                                                               selection.interval_ns[row], selection.lower_ns[row], selection.upper_ns[row]));
    }
    return list.take();
}

std::vector<Figure> figures_of(const Constraint& constraint) {
    FigureList list;
    list.add("operator", constraint.operator_name);
    list.add("plan", constraint.plan_key);
    list.add("reason", constraint.reason);
    list.add("tile", constraint.tile);
    list.add("bytes", constraint.bytes);
    list.add("largest_free_bytes", constraint.largest_free_bytes);
    list.add("conflicts", constraint.conflicts.size());
    return list.take();
}

std::vector<Figure> figures_of(const Kernels& kernels) {
    FigureList list;
    std::uint64_t fresh = 0;
    std::uint64_t samples = 0;
    for (const KernelRow& record : kernels.records) {
        fresh += record.status == 0 ? 1 : 0;
        samples += record.samples;
    }
    list.add("records", kernels.records.size());
    list.add("fresh", fresh);
    list.add("samples", samples);
    list.add("unit", enum_text(kernels.unit));
    list.add("clock_hz", kernels.clock_hz);
    return list.take();
}

}  // namespace weft
