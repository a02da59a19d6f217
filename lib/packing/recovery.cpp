#include "packing/recovery.h"

#include <algorithm>
#include <numeric>

#include "base/id.h"

namespace weft {
namespace {

class Fitter {
public:
    Fitter(std::span<const std::uint32_t> sizes, std::uint32_t cores, std::uint32_t capacity, const RecoveryLimits& limits)
        : sizes_(sizes), cores_(cores), capacity_(capacity), limits_(limits), in_order_(sizes.size()) {
        std::iota(in_order_.begin(), in_order_.end(), 0U);
        largest_first_ = in_order_;
        std::stable_sort(largest_first_.begin(), largest_first_.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes_[a] > sizes_[b]; });
    }

    Recovery run() {
        Recovery result;
        for (std::size_t rung = 0; rung < rung_count; ++rung) {
            if (limits_.skipped[rung]) continue;
            if (!climb(static_cast<Rung>(rung), result)) continue;
            result.rung = static_cast<Rung>(rung);
            result.core_of = core_of_;
            break;
        }
        result.checks = checks_;
        return result;
    }

private:
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    bool climb(Rung rung, Recovery& result) {
        switch (rung) {
            case Rung::in_order: return construct(in_order_, nowhere);
            case Rung::largest_first: return construct(largest_first_, nowhere);
            case Rung::reverse: {
                std::vector<std::uint32_t> order(in_order_.rbegin(), in_order_.rend());
                return construct(order, nowhere);
            }
            case Rung::deviation: return deviate();
            case Rung::search:
                clear();
                if (descend(0)) return true;
                result.exhausted = !stopped_;
                return false;
        }
        return false;
    }

    void clear() {
        room_.assign(cores_, capacity_);
        core_of_.assign(sizes_.size(), 0);
    }

    [[nodiscard]] bool check() {
        stopped_ = stopped_ || checks_ == limits_.checks;
        if (!stopped_) ++checks_;
        return !stopped_;
    }

    /// The fullest core that has room, or the second fullest with another room; no_id where there is none.
    std::uint32_t best_core(std::uint32_t size, bool second) {
        std::uint32_t best = no_id;
        std::uint32_t next = no_id;
        for (std::uint32_t core = 0; core < cores_; ++core) {
            if (!check()) return no_id;
            if (room_[core] < size) continue;
            if (best == no_id || room_[core] < room_[best]) {
                if (best != no_id) next = best;
                best = core;
            } else if (room_[core] != room_[best] && (next == no_id || room_[core] < room_[next])) {
                next = core;
            }
        }
        return second ? next : best;
    }

    /// Best fit in that order, the choice of position `deviating` the second best. Where it stops is in `reached_`.
    bool construct(std::span<const std::uint32_t> order, std::size_t deviating) {
        clear();
        for (reached_ = 0; reached_ < order.size(); ++reached_) {
            const std::uint32_t item = order[reached_];
            const std::uint32_t core = best_core(sizes_[item], reached_ == deviating);
            if (core == no_id) return false;
            room_[core] -= sizes_[item];
            core_of_[item] = static_cast<std::uint16_t>(core);
        }
        return true;
    }

    bool deviate() {
        static_cast<void>(construct(largest_first_, nowhere));   // has failed before; where?
        std::size_t position = reached_;
        for (std::uint32_t tried = 0; tried < limits_.deviations && position > 0; ++tried) {
            if (construct(largest_first_, --position)) return true;
            if (stopped_) return false;
        }
        return false;
    }

    /// Items from `depth` on. Cores with equal room are alike.
    bool descend(std::size_t depth) {
        if (depth == largest_first_.size()) return true;
        const std::uint32_t item = largest_first_[depth];
        std::vector<std::uint32_t> tried;
        for (std::uint32_t core = 0; core < cores_; ++core) {
            if (!check()) return false;
            if (room_[core] < sizes_[item] || std::find(tried.begin(), tried.end(), room_[core]) != tried.end()) continue;
            tried.push_back(room_[core]);
            room_[core] -= sizes_[item];
            core_of_[item] = static_cast<std::uint16_t>(core);
            if (descend(depth + 1)) return true;
            room_[core] += sizes_[item];
        }
        return false;
    }

    std::span<const std::uint32_t> sizes_;
    std::uint32_t cores_;
    std::uint32_t capacity_;
    const RecoveryLimits& limits_;
    std::vector<std::uint32_t> in_order_;
    std::vector<std::uint32_t> largest_first_;
    std::vector<std::uint32_t> room_;
    std::vector<std::uint16_t> core_of_;
    std::size_t reached_ = 0;
    std::uint64_t checks_ = 0;
    bool stopped_ = false;          // there were no more
};

}  // namespace

std::string_view rung_name(Rung rung) {
    switch (rung) {
        case Rung::in_order: return "in order";
        case Rung::largest_first: return "largest first";
        case Rung::reverse: return "reverse order";
        case Rung::deviation: return "deviation";
        case Rung::search: return "search";
    }
    return "unknown";
}

Recovery fit_weights(std::span<const std::uint32_t> sizes, std::uint32_t cores, std::uint32_t capacity, const RecoveryLimits& limits) {
    return Fitter(sizes, cores, capacity, limits).run();
}

}  // namespace weft
