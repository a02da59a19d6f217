#pragma once

#include "artifact/any.h"

namespace weft::test {

// One small valid artifact of every kind. They are the golden files of tests/fuzz/corpus as well: what this version writes, later
// versions must read.

inline GraphColumns sample(std::type_identity<Graph>) {
    GraphColumns graph;
    const std::uint32_t x = pool_append(graph.name_pool, "x");
    const std::uint32_t w = pool_append(graph.name_pool, "w");
    const std::uint32_t t = pool_append(graph.name_pool, "t");
    const std::uint32_t y = pool_append(graph.name_pool, "y");
    graph.dims = {1, 2, 4, 4, 3, 3, 2, 5, 1, 5, 4, 4, 1, 5, 4, 4};
    graph.tensors = {{x, 0, 4, static_cast<std::uint32_t>(TensorRole::Input), 1, 0xffffffffU},
                     {w, 4, 4, static_cast<std::uint32_t>(TensorRole::Weight), 1, 0},
                     {t, 8, 4, static_cast<std::uint32_t>(TensorRole::Activation), 1, 0xffffffffU},
                     {y, 12, 4, static_cast<std::uint32_t>(TensorRole::Output), 1, 0xffffffffU}};
    graph.blobs = {{0x0123456789abcdefULL, 0x1122334455667788ULL, 3 * 3 * 2 * 5 * 4}};
    graph.operands = {0, 1, 0xffffffffU, 2, 2, 3};
    graph.ints = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    graph.attributes = {{static_cast<std::uint32_t>(AttributeKey::Kernel), 0, 2},
                        {static_cast<std::uint32_t>(AttributeKey::Strides), 2, 2},
                        {static_cast<std::uint32_t>(AttributeKey::Pads), 4, 4},
                        {static_cast<std::uint32_t>(AttributeKey::Dilations), 8, 2},
                        {static_cast<std::uint32_t>(AttributeKey::Group), 10, 1}};
    graph.nodes = {{t, static_cast<std::uint32_t>(OperatorKind::Conv), 0, 3, 3, 1, 0, 5},
                   {y, static_cast<std::uint32_t>(OperatorKind::Relu), 4, 1, 5, 1, 5, 0}};
    graph.inputs = {0};
    graph.outputs = {3};
    return graph;
}

inline TargetColumns sample(std::type_identity<Target>) {
    TargetColumns target;
    target.name = "two-cores";
    target.core_count = 2;
    target.weight_bits = 8;
    target.activation_bits = 8;
    target.memory_switch_id = -10;
    target.core.period_fs = 1'000'000;
    target.core.rob_entries = 1;
    target.core.vector_width_elems = 32;
    target.core.vector_step_ns = 4;
    target.core.local_data_width_bytes = 64;
    target.core.local_period_fs = 1'000'000;
    target.core.local_read_cycles = 20;
    target.core.local_write_cycles = 30;
    target.core.local_memory_bytes = 1U << 20U;
    target.core.crossbar_count = 16;
    target.core.crossbar_rows = 128;
    target.core.crossbar_columns = 128;
    target.core.cell_bits = 2;
    target.core.matrix_period_fs = 781'250;
    target.core.matrix_pipelined = true;
    target.core.dac_resolution_bits = 1;
    target.core.dac_count = 128;
    target.core.dac_cycles = 1;
    target.core.adc_count = 16;
    target.core.adc_cycles = 20;
    target.core.crossbar_read_fs = 7'000'000;
    target.core.sample_hold_cycles = 1;
    target.core.shift_adder_cycles = 1;
    target.core.output_buffer_cycles = 1;
    target.memory = {32, 1'000'000, 40, 50, std::uint64_t{1} << 30U};
    target.network = {32, 1, 2};
    target.link_latency_ps = {0, 4000, 15000, 4000, 0, 15000, 15000, 15000, 0};
    return target;
}

inline TasksColumns sample(std::type_identity<Tasks>) {
    TasksColumns tasks;
    const std::uint32_t name = pool_append(tasks.name_pool, "relu");
    tasks.tensors = {{0, 2, 2, 3, 0, 2, 1, 4, 0xffffffffU, 0xffffffffU}, {1, 2, 2, 3, 0, 2, 1, 4, 0, 0}};
    Family family;
    family.name = name;
    family.kind = static_cast<std::uint32_t>(FamilyKind::Pointwise);
    family.output = 1;
    family.input_count = 1;
    family.step_count = 1;
    family.lane_count = 2;
    family.tile_rows = family.tile_columns = 1;
    family.tile_ns = 57;
    tasks.families = {family};
    tasks.inputs = {0};
    tasks.steps = {{static_cast<std::uint32_t>(StepKind::Relu), static_cast<std::uint32_t>(OperandKind::None), 0, 0.0F, 0.0F}};
    tasks.lanes = {{0, 0, 2, 0, 1, 0, 2, 0, 114}, {0, 2, 2, 1, 1, 2, 2, 0, 114}};
    tasks.demands = {{0, 0, 2}, {0, 2, 2}};
    tasks.graph_inputs = {0};
    tasks.graph_outputs = {1};
    tasks.work_bound_ns = 114;
    return tasks;
}

inline ScheduleColumns sample(std::type_identity<Schedule>) {
    ScheduleColumns schedule;
    schedule.strategy = "ordered-packing";
    schedule.lane_core = {0, 1};
    schedule.family_level = {0};
    schedule.family_stage = {0};
    schedule.core_first = {0, 1, 2};
    schedule.core_lanes = {0, 1};
    schedule.slots_per_round = 1;
    schedule.stage_count = 1;
    schedule.core_work_ns = {114, 114};
    schedule.core_crossbars = {0, 0};
    schedule.critical_path_ns = 57;
    schedule.completion_ns = 114;
    return schedule;
}

inline CandidatesColumns sample(std::type_identity<Candidates>) {
    CandidatesColumns candidates;
    candidates.file_names = {"net-0.sched", "net-1.sched"};
    candidates.strategies = {"ordered-packing", "single-stage"};
    candidates.hash_high = {1, 3};
    candidates.hash_low = {2, 4};
    candidates.bottleneck_ns = {114, 228};
    candidates.depth = {1, 0};
    candidates.stage_count = {1, 1};
    candidates.cores_used = {2, 1};
    candidates.crossbars_used = {4, 4};
    return candidates;
}

inline Instruction instruction(Opcode op, std::uint8_t rd, std::uint8_t rs1, std::int32_t immediate, std::int32_t length, std::int32_t step = 0) {
    return {static_cast<std::uint8_t>(op), rd, rs1, 0, immediate, step, length, 0, 0};
}

inline ProgramColumns sample(std::type_identity<Program>) {
    ProgramColumns program;
    program.value_kind = ValueKind::F32;
    program.core_first_run = {0, 2, 3};
    program.runs = {{0, 3, 1, 0xffffffffU}, {3, 3, 2, 0}, {6, 3, 1, 0xffffffffU}};
    program.instructions = {instruction(Opcode::Setbw, 0, 0, 8, 8),      instruction(Opcode::Sldi, 1, 0, 64, 0),
                            instruction(Opcode::Lldi, 1, 0, 0, 16),      instruction(Opcode::Sldi, 2, 0, 64, 0, 8),
                            instruction(Opcode::Mvmul, 2, 1, 8, 0),      instruction(Opcode::Send, 2, 2, 1, 8),
                            instruction(Opcode::Setbw, 0, 0, 8, 8),      instruction(Opcode::Recv, 0, 0, 0, 8),
                            instruction(Opcode::Recv, 0, 0, 0, 8)};
    program.core_first_group = {0, 1, 1};
    program.groups = {{1, 8, 8, 0, 1}};
    program.blocks = {{0, 0, 0, 8, 8, 0, 8, 1}};
    program.constants = {{0, 64, 8, 1, 0, 0xffffffffU, 0, 0, 1.0F, 0.5F}};
    program.weights = {{5, 6, 64}};
    program.inputs = {{0, 0, 2, 2, 3, 0, 2, 1, 4, 0}};
    program.outputs = {{3, 64, 2, 2, 3, 0, 2, 1, 4, 1}};
    program.core_local_elems = {128, 64};
    program.depth = 1;
    program.slots_per_round = 1;
    program.stage_count = 1;
    program.inferences_per_round = 1;
    program.labels = {pool_append(program.name_pool, "conv")};
    return program;
}

inline TimingColumns sample(std::type_identity<Timing>) {
    TimingColumns timing;
    timing.interval_ns = 1200;
    timing.alternative_interval_ns = 1201;
    timing.latency_ns = 2500;
    timing.inferences_per_round = 1;
    timing.depth = 1;
    timing.work_bound_ns = 1100;
    timing.local_bound_ns = 1000;
    timing.busiest_core_ns = 1150;
    timing.cores = {{1000, 150, 50, 20, 0, 9, 2, 4}, {900, 150, 150, 10, 0, 3, 0, 0}};
    return timing;
}

inline SelectionColumns sample(std::type_identity<Selection>) {
    SelectionColumns selection;
    selection.chosen = 1;
    selection.reason = SelectionReason::SeparatesFromOriginal;
    selection.margin_ppm = 21'000;
    selection.verdicts = {CandidateVerdict::Original, CandidateVerdict::Selected};
    selection.interval_ns = {1300, 1200};
    selection.lower_ns = {1273, 1175};
    selection.upper_ns = {1328, 1226};
    selection.duplicate_of = {0, 1};
    selection.program_hash_high = {1, 3};
    selection.program_hash_low = {2, 4};
    return selection;
}

inline ConstraintColumns sample(std::type_identity<Constraint>) {
    ConstraintColumns constraint;
    constraint.operator_name = "up";
    constraint.plan_key = "output-stationary 81x18x1";
    constraint.reason = "tile 3: no interleaved memory";
    constraint.tile = 3;
    constraint.memory = 1;
    constraint.bytes = 65'536;
    constraint.alignment = 32;
    constraint.largest_free_bytes = 40'000;
    constraint.first_step = 2;
    constraint.last_step = 5;
    constraint.conflicts = {{2, 0, 0xffffffffU, 0, 9, 0x80000, 300'000}};
    return constraint;
}

inline KernelsColumns sample(std::type_identity<Kernels>) {
    KernelsColumns kernels;
    kernels.clock_hz = 1'500'000'000;
    const auto text = [&](std::string_view t) { return pool_append(kernels.name_pool, t); };
    const std::uint32_t kind = text("gemm");
    const std::uint32_t category = text("load=interleaved");
    const std::uint32_t build = text("1f");
    const std::uint32_t target = text("ipu21");
    const std::uint32_t none = text("");
    kernels.dims = {{64, text("inner"), 0}, {36, text("rows"), 0}};
    kernels.records = {{9, 100, 110, 120, 130, -20'000, kind, category, 0, 2, build, target, none, 0}};
    return kernels;
}

/// `check(std::type_identity<Kind>, owned columns)` for every kind.
template <class Check>
void for_each_sample(Check&& check) {
    const auto one = [&]<class Kind>(std::type_identity<Kind> kind) { check(kind, sample(kind)); };
    [&]<class... Kind>(std::type_identity<std::tuple<Kind...>>) { (one(std::type_identity<Kind>{}), ...); }(std::type_identity<ArtifactKinds>{});
}

}  // namespace weft::test
