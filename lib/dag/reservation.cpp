#include "dag/reservation.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

class BestFit {
public:
    BestFit(std::span<const std::uint32_t> weight_size, std::span<const std::uint32_t> capacity)
        : weight_size_(weight_size), capacity_(capacity) {}

    /// `deviation`: the position in `order` where the second best processor is taken, or no_id.
    bool run(std::span<const std::uint32_t> order, std::uint32_t deviation, const char* rung) {
        room_.assign(capacity_.begin(), capacity_.end());
        result_.residences.assign(weight_size_.size(), {});
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            const std::uint32_t processor = find(weight_size_[order[i]], i == deviation);
            if (processor == no_id) return false;
            room_[processor] -= weight_size_[order[i]];
            result_.residences[order[i]] = {order[i], processor};
        }
        result_.rung = rung;
        return true;
    }

    void count_checks() { counting_ = true; }
    [[nodiscard]] bool exhausted() const { return result_.retry_checks >= reservation_check_limit; }
    [[nodiscard]] Reservations take() { return std::move(result_); }

private:
    /// Least room that is enough, then the lowest number; `second`: the next one after that with another room, if there is one.
    std::uint32_t find(std::uint32_t size, bool second) {
        std::uint32_t best = no_id;
        std::uint32_t next = no_id;
        for (std::uint32_t p = 0; p < room_.size(); ++p) {
            if (exhausted()) return no_id;
            result_.retry_checks += counting_ ? 1U : 0U;
            if (room_[p] < size) continue;
            if (best == no_id || room_[p] < room_[best]) {
                if (best != no_id) next = best;
                best = p;
            } else if (room_[p] > room_[best] && (next == no_id || room_[p] < room_[next])) {
                next = p;
            }
        }
        return second && next != no_id ? next : best;
    }

    std::span<const std::uint32_t> weight_size_;
    std::span<const std::uint32_t> capacity_;
    std::vector<std::uint32_t> room_;
    Reservations result_;
    bool counting_ = false;
};

}  // namespace

std::optional<Reservations> reserve_best_fit(std::span<const std::uint32_t> weight_size, std::span<const std::uint32_t> capacity) {
    std::vector<std::uint32_t> order(weight_size.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return weight_size[a] > weight_size[b]; });
    BestFit search(weight_size, capacity);
    if (search.run(order, no_id, "largest-first")) return search.take();
    search.count_checks();
    const std::vector<std::uint32_t> reversed(order.rbegin(), order.rend());
    if (search.run(reversed, no_id, "reversed")) return search.take();
    const auto deviations = std::min<std::size_t>(order.size(), reservation_deviation_limit);
    for (std::uint32_t d = 0; d < deviations && !search.exhausted(); ++d) {
        if (search.run(order, d, "deviation")) return search.take();
    }
    return std::nullopt;
}

}  // namespace weft
