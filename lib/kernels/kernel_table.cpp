#include "kernels/kernel_table.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"

namespace weft {
namespace {

/// The key without dimension `index`.
std::pair<KernelKey, std::string> line_of(const KernelKey& key, std::size_t index) {
    KernelKey line = key;
    std::string name = line.dims[index].first;
    line.dims.erase(line.dims.begin() + static_cast<std::ptrdiff_t>(index));
    return {std::move(line), std::move(name)};
}

std::uint32_t magnitude(std::int64_t ppm) {
    const std::uint64_t size = ppm < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ppm) : static_cast<std::uint64_t>(ppm);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 0xffffffffU));
}

/// Integer square root, rounded down.
std::uint64_t square_root(std::uint64_t value) {
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
    while (root * root > value) --root;
    while ((root + 1) * (root + 1) <= value) ++root;
    return root;
}

}  // namespace

std::string to_text(const KernelKey& key) {
    std::string text = key.kind;
    if (!key.category.empty()) text += fmt::format("[{}]", key.category);
    for (const auto& [name, value] : key.dims) text += fmt::format(" {}={}", name, value);
    return text;
}

KernelTable::KernelTable(std::span<const KernelRecord> records, std::string_view build, std::string_view target, std::string_view file) {
    struct Errors {
        std::uint64_t squares = 0;
        std::uint64_t count = 0;
    };
    std::map<std::pair<std::string, std::string>, Errors> errors;
    for (const KernelRecord& record : records) {
        const bool other = (!build.empty() && record.build != build) || (!target.empty() && record.target != target);
        if (other || record.status != RecordStatus::fresh) {
            ++stale_;
            continue;
        }
        const Point point{0, record.median, magnitude(record.error_ppm)};
        if (!exact_.try_emplace(record.key, point).second) {
            bad_input("{}: two records of {}; merge them before use", file, to_text(record.key));
        }
        for (std::size_t i = 0; i < record.key.dims.size(); ++i) {
            lines_[line_of(record.key, i)].push_back({record.key.dims[i].second, point.value, point.error_ppm});
        }
        Errors& family = errors[{record.key.kind, record.key.category}];
        const std::uint64_t size = std::min<std::uint64_t>(point.error_ppm, 1U << 24U);
        family.squares += size * size;
        ++family.count;
    }
    for (const auto& [family, sums] : errors) family_error_[family] = static_cast<std::uint32_t>(square_root(sums.squares / sums.count));
    for (auto& [line, points] : lines_) std::ranges::sort(points, {}, &Point::at);
}

KernelLookup KernelTable::look_up(const KernelKey& key) const {
    const auto exact = exact_.find(key);
    if (exact != exact_.end()) return {KernelSource::measured, exact->second.value, 0};
    return interpolate(key);
}

KernelLookup KernelTable::interpolate(const KernelKey& key) const {
    KernelLookup best;
    std::uint64_t best_gap = 0;
    for (std::size_t i = 0; i < key.dims.size(); ++i) {
        const auto line = lines_.find(line_of(key, i));
        if (line == lines_.end()) continue;
        const std::vector<Point>& points = line->second;
        if (!std::ranges::is_sorted(points, {}, &Point::value)) continue;
        const std::uint64_t at = key.dims[i].second;
        const auto above = std::ranges::lower_bound(points, at, {}, &Point::at);
        if (above == points.begin() || above == points.end()) continue;   // outside the hull
        const Point& low = *(above - 1);
        const Point& high = *above;
        const std::uint64_t gap = high.at - low.at;
        // The dimension with the nearest neighbours decides; the first one among equals.
        if (best.source != KernelSource::absent && gap >= best_gap) continue;
        __extension__ using Wide = unsigned __int128;
        const auto rise = static_cast<Wide>(high.value - low.value) * (at - low.at);
        best_gap = gap;
        best.source = KernelSource::interpolated;
        best.value = low.value + static_cast<std::uint64_t>((rise + gap - 1) / gap);
        best.error_ppm = std::max(low.error_ppm, high.error_ppm);
    }
    return best;
}

std::uint32_t KernelTable::family_error_ppm(const KernelKey& key) const {
    const auto family = family_error_.find({key.kind, key.category});
    return family == family_error_.end() ? 0 : family->second;
}

}  // namespace weft
