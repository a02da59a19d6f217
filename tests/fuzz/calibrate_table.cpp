#include <nlohmann/json.hpp>

#include "calibrate/calibrate.h"

/// A measurement table as weft-calibrate reads it: what it accepts must survive export and import, merging and the look-up table.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft;
    try {
        const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
        if (json.is_discarded()) return 0;
        const Measurements table = import_measurements(json, "fuzz");
        const std::vector<KernelRecord> merged = merge_records(table.records, "fuzz");
        const KernelTable lookup(merged, "", "", "fuzz");
        for (const KernelRecord& record : merged) {
            if (record.status == RecordStatus::fresh) WEFT_CHECK(lookup.look_up(record.key).value == record.median);
        }
        const KernelsColumns columns = kernels_of(merged, KernelUnit::Cycles, table.clock_hz);
        validate(view(columns), "fuzz");
        const Measurements again = import_measurements(nlohmann::json::parse(export_measurements(merged, table.clock_hz).dump()), "fuzz");
        WEFT_CHECK(again.records.size() == merged.size());
        for (std::size_t i = 0; i < merged.size() && merged.size() == table.records.size(); ++i) {
            WEFT_CHECK(again.records[i].table_fields == merged[i].table_fields);
            WEFT_CHECK(again.records[i].fields == merged[i].fields);
            WEFT_CHECK(again.records[i].key_fields == merged[i].key_fields);
        }
    } catch (const Failure& failure) {
        if (failure.status() != ExitStatus::bad_input && failure.status() != ExitStatus::system) throw;
    }
    return 0;
}
