#include "kernels/kernel_file.h"

#include <algorithm>
#include <map>

#include "base/checked.h"

namespace weft {

std::vector<KernelRecord> records_of(const Kernels& kernels) {
    std::vector<KernelRecord> records;
    const auto text = [&](std::uint32_t offset) { return std::string(pool_text(kernels.name_pool, offset)); };
    for (std::size_t i = 0; i < kernels.records.size(); ++i) {
        const KernelRow& row = kernels.records[i];
        KernelRecord record;
        record.key.kind = text(row.kind);
        record.key.category = text(row.category);
        for (const KernelDim& dim : kernels.dims.subspan(row.first_dim, row.dim_count)) record.key.dims.emplace_back(text(dim.name), dim.value);
        record.samples = row.samples;
        record.minimum = row.minimum;
        record.median = row.median;
        record.p95 = row.p95;
        record.maximum = row.maximum;
        record.error_ppm = row.error_ppm;
        record.build = text(row.build);
        record.target = text(row.target);
        record.profile = text(row.profile);
        record.status = static_cast<RecordStatus>(row.status);
        if (!kernels.origins.empty()) {
            record.tool = text(kernels.origins[i].tool);
            record.date = text(kernels.origins[i].date);
            record.merged = kernels.origins[i].merged;
        }
        if (!kernels.extras.empty()) {
            record.table_fields = text(kernels.extras[i].table_fields);
            record.fields = text(kernels.extras[i].fields);
            record.key_fields = text(kernels.extras[i].key_fields);
        }
        records.push_back(std::move(record));
    }
    return records;
}

KernelsColumns kernels_of(std::vector<KernelRecord> records, KernelUnit unit, std::uint64_t clock_hz) {
    std::ranges::stable_sort(records, {}, &KernelRecord::key);
    KernelsColumns kernels;
    kernels.unit = unit;
    kernels.clock_hz = clock_hz;
    std::map<std::string, std::uint32_t> offsets;   // texts repeat a lot
    const auto text = [&](const std::string& t) {
        const auto at = offsets.find(t);
        if (at != offsets.end()) return at->second;
        return offsets.emplace(t, pool_append(kernels.name_pool, t)).first->second;
    };
    const bool origins = std::ranges::any_of(records, [](const KernelRecord& r) { return !r.tool.empty() || !r.date.empty() || r.merged != 1; });
    const bool extras = std::ranges::any_of(records, [](const KernelRecord& r) { return !r.table_fields.empty() || !r.fields.empty() || !r.key_fields.empty(); });
    for (const KernelRecord& record : records) {
        KernelRow row{};
        row.samples = record.samples;
        row.minimum = record.minimum;
        row.median = record.median;
        row.p95 = record.p95;
        row.maximum = record.maximum;
        row.error_ppm = record.error_ppm;
        row.kind = text(record.key.kind);
        row.category = text(record.key.category);
        row.first_dim = narrow<std::uint32_t>(kernels.dims.size());
        row.dim_count = narrow<std::uint32_t>(record.key.dims.size());
        for (const auto& [name, value] : record.key.dims) kernels.dims.push_back({value, text(name), 0});
        row.build = text(record.build);
        row.target = text(record.target);
        row.profile = text(record.profile);
        row.status = static_cast<std::uint32_t>(record.status);
        kernels.records.push_back(row);
        if (origins) kernels.origins.push_back({text(record.tool), text(record.date), record.merged});
        if (extras) kernels.extras.push_back({text(record.table_fields), text(record.fields), text(record.key_fields)});
    }
    return kernels;
}

std::vector<KernelRecord> merge_records(std::vector<KernelRecord> records, std::string_view file) {
    std::ranges::stable_sort(records, {}, &KernelRecord::key);
    std::vector<KernelRecord> merged;
    for (KernelRecord& next : records) {
        if (merged.empty() || merged.back().key != next.key) {
            merged.push_back(std::move(next));
            continue;
        }
        KernelRecord& into = merged.back();
        if (into.build != next.build || into.target != next.target) {
            bad_input("{}: records of {} come from different builds or targets and do not merge", file, to_text(into.key));
        }
        const std::uint64_t samples = checked_add(into.samples, next.samples);
        __extension__ using Wide = unsigned __int128;
        const auto weighted = [&](std::uint64_t a, std::uint64_t b) {
            return static_cast<std::uint64_t>((static_cast<Wide>(a) * into.samples + static_cast<Wide>(b) * next.samples) / samples);
        };
        into.median = weighted(into.median, next.median);
        into.p95 = weighted(into.p95, next.p95);
        into.minimum = std::min(into.minimum, next.minimum);
        into.maximum = std::max(into.maximum, next.maximum);
        into.error_ppm = (into.error_ppm + next.error_ppm) / 2;
        into.samples = samples;
        if (into.profile != next.profile) into.profile.clear();
        if (into.tool != next.tool) into.tool.clear();
        // What is said of one of them only is not said of both.
        if (into.table_fields != next.table_fields) into.table_fields.clear();
        if (into.fields != next.fields) into.fields.clear();
        if (into.key_fields != next.key_fields) into.key_fields.clear();
        into.date = std::max(into.date, next.date);
        into.merged = std::max(into.merged, next.merged);
        into.status = std::max(into.status, next.status);
    }
    return merged;
}

}  // namespace weft
