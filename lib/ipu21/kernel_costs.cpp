#include "ipu21/kernel_costs.h"

#include "base/checked.h"
#include "ipu21/operand.h"

namespace weft::ipu21 {

KernelKey gemm_key(const Ipu21& machine, const GemmCall& call) {
    KernelKey key;
    key.kind = "gemm";
    key.category = fmt::format("accumulate=f{0},align={6},load={1},mixture={2},mode={3},multiply=f{0},orientation={4},source={5},tail={7}",
                               8 * call.elem_bytes, call.interleaved ? "interleaved" : "standard", call.mixed_rows ? "two" : "one",
                               call.accumulate ? "accumulate" : "initialise", call.swapped ? "swapped" : "normal",
                               call.repacked ? "repacked" : "direct", machine.amp_alignment_bytes, stream_tail_bytes(machine, call.elem_bytes));
    key.dims = {{"columns", call.columns}, {"inner", call.inner}, {"rows", call.rows}};
    return key;
}

KernelKey amount_key(std::string_view kind, std::string_view dimension, std::uint64_t amount) {
    KernelKey key;
    key.kind = kind;
    key.dims = {{std::string(dimension), amount}};
    return key;
}

GemmCycles KernelCosts::analytical_gemm(const GemmCall& call) const {
    const bool wide = call.elem_bytes == 2;
    const std::uint32_t micro_inner = wide ? machine_.amp_inner_f16 : machine_.amp_inner_f32;
    const std::uint64_t steps = ceil_divide(call.inner, micro_inner);
    const std::uint64_t groups = ceil_divide(call.columns, machine_.amp_columns);
    const std::uint64_t group_cycles = call.interleaved ? machine_.amp_group_interleaved_cycles : machine_.amp_group_standard_cycles;
    // Rows pass every micro-block; loading a group of 16 columns is charged per four micro-blocks of K. F32 has half the K per
    // micro-block and half the rate, so a step costs twice the feed and the same load.
    const std::uint64_t feed = groups * call.rows * machine_.amp_row_cycles * (wide ? 1 : 2);
    const std::uint64_t load = ceil_divide<std::uint64_t>(groups * group_cycles, 4);
    return {machine_.amp_call_cycles, steps * feed, steps * load};
}

std::optional<std::uint64_t> KernelCosts::analytical(const KernelKey& key) const {
    const auto dim = [&](std::string_view name) -> std::optional<std::uint64_t> {
        for (const auto& [known, value] : key.dims) {
            if (known == name) return value;
        }
        return std::nullopt;
    };
    const auto has = [&](std::string_view text) { return key.category.find(text) != std::string::npos; };
    const KernelCosts model(target_, nullptr);
    if (key.kind == "gemm") {
        constexpr std::uint64_t limit = 1U << 20U;
        const auto rows = dim("rows");
        const auto inner = dim("inner");
        const auto columns = dim("columns");
        if (!rows || !inner || !columns || *rows > limit || *inner > limit || *columns > limit) return std::nullopt;
        return analytical_gemm({static_cast<std::uint32_t>(*rows), static_cast<std::uint32_t>(*inner), static_cast<std::uint32_t>(*columns),
                                has("multiply=f32") ? 4U : 2U, has("load=interleaved"), has("mode=accumulate"), has("source=repacked"), has("orientation=swapped"), has("mixture=two")}).total();
    }
    if (key.dims.size() != 1) return std::nullopt;
    const std::uint64_t amount = key.dims.front().second;
    if (key.kind == "stage") return model.stage(amount).cycles;
    if (key.kind == "reduce") return model.reduce(amount).cycles;
    if (key.kind == "gelu") return model.gelu(amount).cycles;
    if (key.kind == "pointwise") return model.pointwise(amount, 1).cycles;
    if (key.kind == "softmax") return model.softmax(amount).cycles;
    if (key.kind == "norm") return model.norm(amount).cycles;
    if (key.kind == "rearrange") return model.rearrange(amount).cycles;
    if (key.kind == "cast") return model.cast(amount, 0).cycles;
    return std::nullopt;
}

KernelCost KernelCosts::look_up(const KernelKey& key, std::uint64_t analytical) const {
    if (table_ == nullptr) return {analytical, CostSource::Analytical, 0};
    const KernelLookup found = table_->look_up(key);
    switch (found.source) {
        case KernelSource::measured: return {found.value, CostSource::Measured, found.error_ppm};
        case KernelSource::interpolated: return {found.value, CostSource::Interpolated, found.error_ppm};
        case KernelSource::absent: break;
    }
    return {analytical, CostSource::Analytical, table_->family_error_ppm(key)};
}

KernelCost KernelCosts::gemm(const GemmCall& call) const { return look_up(gemm_key(machine_, call), analytical_gemm(call).total()); }

KernelCost KernelCosts::stage(std::uint64_t bytes) const {
    return look_up(amount_key("stage", "bytes", bytes), ceil_divide<std::uint64_t>(bytes, machine_.stage_bytes_per_cycle));
}

KernelCost KernelCosts::reduce(std::uint64_t bytes) const {
    return look_up(amount_key("reduce", "bytes", bytes), ceil_divide<std::uint64_t>(bytes, machine_.reduction_bytes_per_cycle));
}

KernelCost KernelCosts::gelu(std::uint64_t elems) const {
    return look_up(amount_key("gelu", "elems", elems), elems * machine_.gelu_cycles_per_elem);
}

KernelCost KernelCosts::pointwise(std::uint64_t elems, std::uint32_t elem_bytes) const {
    return look_up(amount_key("pointwise", "bytes", elems * elem_bytes),
                   ceil_divide<std::uint64_t>(elems * elem_bytes, machine_.pointwise_bytes_per_cycle));
}

KernelCost KernelCosts::softmax(std::uint64_t elems) const {
    return look_up(amount_key("softmax", "elems", elems), elems * machine_.softmax_cycles_per_elem);
}

KernelCost KernelCosts::norm(std::uint64_t elems) const {
    return look_up(amount_key("norm", "elems", elems), elems * machine_.norm_cycles_per_elem);
}

KernelCost KernelCosts::rearrange(std::uint64_t elems) const {
    return look_up(amount_key("rearrange", "elems", elems), elems * machine_.rearrange_cycles_per_elem);
}

KernelCost KernelCosts::cast(std::uint64_t in_bytes, std::uint64_t out_bytes) const {
    return look_up(amount_key("cast", "bytes", in_bytes + out_bytes),
                   ceil_divide<std::uint64_t>(in_bytes + out_bytes, machine_.copy_bytes_per_cycle));
}

}  // namespace weft::ipu21
