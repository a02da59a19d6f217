#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// What was measured: a kernel of the tile's (or core's) own, never the grid it runs on, so that all grids share a record.
/// Categorical properties stand in `category` and must match exactly; numeric ones in `dims`, sorted by name.
struct KernelKey {
    std::string kind;                                            ///< "gemm", "stage", "gelu", "mvmul", ...
    std::string category;                                        ///< "load=interleaved,mode=accumulate,..."; may be empty
    std::vector<std::pair<std::string, std::uint64_t>> dims;
    auto operator<=>(const KernelKey&) const = default;
};

[[nodiscard]] std::string to_text(const KernelKey& key);

enum class RecordStatus : std::uint8_t { fresh = 0, stale = 1, quarantined = 2 };

/// Measured cycles (or nanoseconds; a table has one unit) of one key.
struct KernelRecord {
    KernelKey key;
    std::uint64_t samples = 1;
    std::uint64_t minimum = 0;
    std::uint64_t median = 0;
    std::uint64_t p95 = 0;
    std::uint64_t maximum = 0;
    std::int64_t error_ppm = 0;        ///< (analytical - measured) / measured, signed; 0 where no analytical value was given
    std::string build;                 ///< identity of the measured kernels' sources and flags
    std::string target;                ///< revision of the measured target
    std::string profile;               ///< hash of the profile it was taken from; may be empty
    std::string tool;                  ///< version of the program that measured; may be empty
    std::string date;                  ///< of the measurement; may be empty
    std::uint64_t merged = 1;          ///< invocations that one recorded time covered; the times here are of one
    RecordStatus status = RecordStatus::fresh;
    // What else its table says: JSON objects as text, empty where nothing.
    std::string table_fields;          ///< of the whole table
    std::string fields;                ///< of the measurement
    std::string key_fields;            ///< of its key
    bool operator==(const KernelRecord&) const = default;
};

enum class KernelSource : std::uint8_t { absent = 0, measured = 1, interpolated = 2 };

struct KernelLookup {
    KernelSource source = KernelSource::absent;
    std::uint64_t value = 0;
    std::uint32_t error_ppm = 0;       ///< magnitude of the expected relative error
};

/// Measured kernels with exact look-up and guarded interpolation. The value used is the median.
///
/// Interpolation varies one dimension at a time between the nearest records below and above that agree in everything else
/// (kind, category, all other dimensions), linearly, never outside what was measured, and never below the lower record;
/// where several dimensions differ, there is no answer. Families whose records fall while a dimension grows are not interpolated.
class KernelTable {
public:
    /// Records of another build or target are kept out and counted as stale. Duplicate keys: Failure(bad_input) naming `file`.
    KernelTable(std::span<const KernelRecord> records, std::string_view build, std::string_view target, std::string_view file);

    [[nodiscard]] KernelLookup look_up(const KernelKey& key) const;
    /// Root mean square of the recorded errors of the key's kind and category: how far the analytical model is usually off.
    [[nodiscard]] std::uint32_t family_error_ppm(const KernelKey& key) const;
    [[nodiscard]] std::size_t size() const { return exact_.size(); }
    [[nodiscard]] std::size_t stale() const { return stale_; }

private:
    struct Point {
        std::uint64_t at;
        std::uint64_t value;
        std::uint32_t error_ppm;
    };
    [[nodiscard]] KernelLookup interpolate(const KernelKey& key) const;

    std::map<KernelKey, Point> exact_;
    /// Per key with one dimension taken out (named): its records along that dimension, ascending.
    std::map<std::pair<KernelKey, std::string>, std::vector<Point>> lines_;
    std::map<std::pair<std::string, std::string>, std::uint32_t> family_error_;
    std::size_t stale_ = 0;
};

}  // namespace weft
