#include "artifact/kernels.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Kernels>(const Kernels& kernels, std::string_view file) {
    const Validator check(file);
    check.below(static_cast<std::uint64_t>(kernels.unit), 2, "unit", 0);
    check.pool(kernels.name_pool, "name_pool");
    for (std::size_t row = 0; row < kernels.dims.size(); ++row) {
        check.text(kernels.dims[row].name, kernels.name_pool, "dims", row);
        if (kernels.dims[row].reserved != 0) check.reject("dims", row, "a reserved field is set");
    }
    if (!kernels.origins.empty() && kernels.origins.size() != kernels.records.size()) check.reject("origins", 0, "not one per record");
    for (std::size_t row = 0; row < kernels.origins.size(); ++row) {
        for (const std::uint32_t text : {kernels.origins[row].tool, kernels.origins[row].date}) check.text(text, kernels.name_pool, "origins", row);
        if (kernels.origins[row].merged == 0) check.reject("origins", row, "no invocations");
    }
    if (!kernels.extras.empty() && kernels.extras.size() != kernels.records.size()) check.reject("extras", 0, "not one per record");
    for (std::size_t row = 0; row < kernels.extras.size(); ++row) {
        const KernelExtra& extra = kernels.extras[row];
        for (const std::uint32_t text : {extra.table_fields, extra.fields, extra.key_fields}) check.text(text, kernels.name_pool, "extras", row);
    }
    // Products of two values in an interpolation stay within 127 bits, sums of thousands within 63.
    constexpr std::uint64_t value_limit = std::uint64_t{1} << 48U;
    for (std::size_t row = 0; row < kernels.records.size(); ++row) {
        const KernelRow& record = kernels.records[row];
        for (const std::uint32_t text : {record.kind, record.category, record.build, record.target, record.profile}) {
            check.text(text, kernels.name_pool, "records", row);
        }
        check.range(record.first_dim, record.dim_count, kernels.dims.size(), "records", row);
        check.below(record.status, 3, "records", row);
        for (const std::uint64_t value : {record.minimum, record.median, record.p95, record.maximum}) check.below(value, value_limit, "records", row);
        if (record.samples == 0) check.reject("records", row, "no samples");
        if (record.minimum > record.median || record.median > record.p95 || record.p95 > record.maximum) check.reject("records", row, "its quantiles fall");
    }
}

}  // namespace weft
