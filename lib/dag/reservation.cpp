#include "dag/reservation.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

class BestFit {
public:
    BestFit(std::span<const ReservationRequest> requests, std::span<const std::uint32_t> capacity)
        : requests_(requests), capacity_(capacity) {
        for (const ReservationRequest& request : requests) groups_ = std::max(groups_, request.group + 1);
    }

    /// `deviation`: the how-manieth choice takes the second best processor, or no_id.
    bool run(std::span<const std::uint32_t> order, std::uint32_t deviation, const char* rung) {
        room_.assign(capacity_.begin(), capacity_.end());
        in_group_.assign(std::size_t{groups_} * capacity_.size(), false);
        result_.residences.clear();
        for (const std::uint32_t weight : order) {
            const ReservationRequest& request = requests_[weight];
            has_copy_.assign(capacity_.size(), false);
            for (std::uint32_t copy = 0; copy < request.copies; ++copy) {
                const std::uint32_t processor = find(request, result_.residences.size() == deviation);
                if (processor == no_id) return false;
                room_[processor] -= request.size;
                has_copy_[processor] = true;
                in_group_[group_index(request, processor)] = true;
                result_.residences.push_back({weight, processor});
            }
        }
        result_.rung = rung;
        return true;
    }

    void count_checks() { counting_ = true; }
    [[nodiscard]] bool exhausted() const { return result_.retry_checks >= reservation_check_limit; }
    [[nodiscard]] Reservations take() { return std::move(result_); }

private:
    [[nodiscard]] std::size_t group_index(const ReservationRequest& request, std::size_t processor) const {
        return request.group * capacity_.size() + processor;
    }

    /// `second`: the next best one, if there is one that differs in more than its number.
    std::uint32_t find(const ReservationRequest& request, bool second) {
        const auto grade = [&](std::uint32_t p) { return std::pair(in_group_[group_index(request, p)] ? 1 : 0, room_[p]); };
        std::uint32_t best = no_id;
        std::uint32_t next = no_id;
        for (std::uint32_t p = 0; p < room_.size(); ++p) {
            if (exhausted()) return no_id;
            result_.retry_checks += counting_ ? 1U : 0U;
            if (room_[p] < request.size || has_copy_[p]) continue;
            if (best == no_id || grade(p) < grade(best)) {
                next = best;
                best = p;
            } else if (grade(p) != grade(best) && (next == no_id || grade(p) < grade(next))) {
                next = p;
            }
        }
        return second && next != no_id ? next : best;
    }

    std::span<const ReservationRequest> requests_;
    std::span<const std::uint32_t> capacity_;
    std::uint32_t groups_ = 0;
    std::vector<std::uint32_t> room_;
    std::vector<bool> has_copy_;    // per processor: of the weight that is placed now
    std::vector<bool> in_group_;    // [group][processor]
    Reservations result_;
    bool counting_ = false;
};

}  // namespace

std::optional<Reservations> reserve_best_fit(std::span<const ReservationRequest> requests, std::span<const std::uint32_t> capacity) {
    std::vector<std::uint32_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return requests[a].size > requests[b].size; });
    BestFit search(requests, capacity);
    if (search.run(order, no_id, "largest-first")) return search.take();
    search.count_checks();
    const std::vector<std::uint32_t> reversed(order.rbegin(), order.rend());
    if (search.run(reversed, no_id, "reversed")) return search.take();
    for (std::uint32_t d = 0; d < reservation_deviation_limit && !search.exhausted(); ++d) {
        if (search.run(order, d, "deviation")) return search.take();
    }
    return std::nullopt;
}

}  // namespace weft
