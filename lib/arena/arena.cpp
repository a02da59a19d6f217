#include "arena/arena.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft {
namespace {

constexpr std::uint64_t unplaced = ~std::uint64_t{0};
constexpr std::uint32_t all_placed = 0xffffffffU;

std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) { return ceil_divide(address, alignment) * alignment; }

/// One pass: blocks in a given order, each at the lowest address that is free for its whole life.
class FirstFit {
public:
    FirstFit(std::span<const ArenaRequest> requests, std::span<const Arena> arenas)
        : requests_(requests), arenas_(arenas), addresses_(requests.size(), unplaced) {}

    /// The block that found no place, or none.
    std::uint32_t run(std::span<const std::uint32_t> order, ArenaFailure* failure) {
        for (const std::uint32_t index : order) {
            if (place(index)) continue;
            if (failure != nullptr) describe(index, *failure);
            return index;
        }
        return all_placed;
    }

    /// The lowest address that is free for the block's whole life; false where there is none.
    bool place(std::uint32_t index) {
        const ArenaRequest& request = requests_[index];
        if (request.bytes == 0) {
            addresses_[index] = arenas_.empty() ? 0 : arenas_.front().begin;
            return true;
        }
        const std::vector<std::uint32_t> others = neighbours(index);
        for (const Arena& arena : arenas_) {
            std::uint64_t at = aligned(arena.begin, request.alignment);
            for (const std::uint32_t other : others) {
                if (at + request.bytes <= addresses_[other]) break;
                at = std::max(at, aligned(addresses_[other] + requests_[other].bytes, request.alignment));
            }
            if (at >= arena.begin && at + request.bytes <= arena.end) {
                addresses_[index] = at;
                return true;
            }
        }
        return false;
    }

    void remove(std::uint32_t index) { addresses_[index] = unplaced; }

    [[nodiscard]] std::uint64_t top() const {
        std::uint64_t top = 0;
        for (std::size_t i = 0; i < addresses_.size(); ++i) top = std::max(top, addresses_[i] + requests_[i].bytes);
        return top;
    }
    [[nodiscard]] std::vector<std::uint64_t>& addresses() { return addresses_; }

private:
    /// Placed blocks that are alive together with `index`, by address.
    [[nodiscard]] std::vector<std::uint32_t> neighbours(std::uint32_t index) const {
        std::vector<std::uint32_t> result;
        for (std::uint32_t other = 0; other < requests_.size(); ++other) {
            if (addresses_[other] != unplaced && requests_[other].bytes != 0 && requests_[index].meets(requests_[other])) result.push_back(other);
        }
        std::ranges::sort(result, {}, [&](std::uint32_t other) { return std::pair(addresses_[other], other); });
        return result;
    }

    void describe(std::uint32_t index, ArenaFailure& failure) const {
        failure.request = index;
        failure.conflicts = neighbours(index);
        failure.addresses = addresses_;
        failure.largest_free = 0;
        for (const Arena& arena : arenas_) {
            std::uint64_t at = arena.begin;
            for (const std::uint32_t other : failure.conflicts) {
                const std::uint64_t begin = std::clamp(addresses_[other], arena.begin, arena.end);
                if (begin > at) failure.largest_free = std::max(failure.largest_free, begin - at);
                at = std::max(at, std::clamp(addresses_[other] + requests_[other].bytes, arena.begin, arena.end));
            }
            failure.largest_free = std::max(failure.largest_free, arena.end - at);
        }
    }

    std::span<const ArenaRequest> requests_;
    std::span<const Arena> arenas_;
    std::vector<std::uint64_t> addresses_;
};

/// All orders in which blocks can be placed first fit. That is every placement that matters: taking the blocks of any legal placement by
/// address, first fit puts none higher than it was.
class OrderSearch {
public:
    OrderSearch(std::span<const ArenaRequest> requests, std::span<const Arena> arenas, std::uint64_t budget)
        : requests_(requests), fit_(requests, arenas), budget_(budget), placed_(requests.size(), false) {}

    /// Whether an order was found within the budget.
    bool run() { return visit(0, all_placed); }
    /// Whether all orders were seen (or one was found).
    [[nodiscard]] bool complete() const { return budget_ > 0; }
    [[nodiscard]] std::vector<std::uint64_t>& addresses() { return fit_.addresses(); }

private:
    bool visit(std::size_t depth, std::uint32_t last) {
        if (depth == requests_.size()) return true;
        if (!all_fit()) return false;
        for (std::uint32_t index = 0; index < requests_.size(); ++index) {
            if (placed_[index] || is_repeated(index)) continue;
            // Two neighbours in the order that never live together can be exchanged: only one of the two orders is looked at.
            if (last != all_placed && index < last && !requests_[index].meets(requests_[last])) continue;
            if (!try_place(index)) return false;
            placed_[index] = true;
            if (visit(depth + 1, index)) return true;
            placed_[index] = false;
            fit_.remove(index);
            if (budget_ == 0) return false;
        }
        return false;
    }

    bool try_place(std::uint32_t index) {
        if (budget_ == 0) return false;
        --budget_;
        return fit_.place(index);
    }

    /// Every block that is left has a place now; what has none now never gets one.
    bool all_fit() {
        for (std::uint32_t index = 0; index < requests_.size(); ++index) {
            if (placed_[index]) continue;
            if (!try_place(index)) return false;
            fit_.remove(index);
        }
        return true;
    }

    /// Of equal blocks the first one that is left goes first.
    [[nodiscard]] bool is_repeated(std::uint32_t index) const {
        for (std::uint32_t other = 0; other < index; ++other) {
            if (!placed_[other] && requests_[other] == requests_[index]) return true;
        }
        return false;
    }

    std::span<const ArenaRequest> requests_;
    FirstFit fit_;
    std::uint64_t budget_;   // blocks that may still be tried
    std::vector<bool> placed_;
};

/// Orders that put forward what found no place, until everything has one or they repeat themselves.
std::optional<std::vector<std::uint64_t>> place_by_promotion(std::span<const ArenaRequest> requests, std::span<const Arena> arenas, std::vector<std::uint32_t> order) {
    for (std::size_t attempt = 0; attempt < 2 * requests.size(); ++attempt) {
        FirstFit fit(requests, arenas);
        const std::uint32_t failed = fit.run(order, nullptr);
        if (failed == all_placed) return std::move(fit.addresses());
        const auto at = std::ranges::find(order, failed);
        if (at == order.begin()) return std::nullopt;   // does not fit an empty arena
        std::rotate(order.begin(), at, at + 1);
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> place_in_arenas(std::span<const ArenaRequest> requests, std::span<const Arena> arenas,
                                                          ArenaFailure* failure) {
    std::vector<std::uint32_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto life = [&](std::uint32_t i) { return requests[i].last - requests[i].first; };
    const auto by_size = [&](std::uint32_t a, std::uint32_t b) { return requests[a].bytes > requests[b].bytes; };
    const auto by_life = [&](std::uint32_t a, std::uint32_t b) { return std::pair(life(a), requests[a].bytes) > std::pair(life(b), requests[b].bytes); };
    const auto by_start = [&](std::uint32_t a, std::uint32_t b) { return std::pair(requests[a].first, life(b)) < std::pair(requests[b].first, life(a)); };
    std::optional<std::vector<std::uint64_t>> best;
    std::uint64_t best_top = 0;
    bool first = true;
    std::vector<std::uint32_t> largest_first;
    const auto attempt = [&](const auto& before) {
        std::vector<std::uint32_t> sorted = order;
        std::ranges::stable_sort(sorted, before);
        FirstFit fit(requests, arenas);
        const bool placed = fit.run(sorted, first ? failure : nullptr) == all_placed;
        if (first) largest_first = std::move(sorted);
        first = false;
        if (!placed || (best && fit.top() >= best_top)) return;
        best_top = fit.top();
        best = std::move(fit.addresses());
    };
    attempt(by_size);
    attempt(by_life);
    attempt(by_start);
    if (!best) best = place_by_promotion(requests, arenas, largest_first);
    if (best) return best;
    constexpr std::uint64_t budget = 200'000;
    OrderSearch search(requests, arenas, budget);
    if (search.run()) return std::move(search.addresses());
    if (failure != nullptr) failure->proved = search.complete();
    return std::nullopt;
}

std::uint64_t most_alive_bytes(std::span<const ArenaRequest> requests) {
    std::uint64_t most = 0;
    for (const ArenaRequest& moment : requests) {
        std::uint64_t alive = 0;
        for (const ArenaRequest& other : requests) {
            if (other.first <= moment.first && moment.first <= other.last) alive += other.bytes;
        }
        most = std::max(most, alive);
    }
    return most;
}

}  // namespace weft
