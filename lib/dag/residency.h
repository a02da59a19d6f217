#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dag/list_schedule.h"

namespace weft {

/// Which weights are resident where, and what space is left, as tasks are placed. Weights x processors bits.
class Residency {
public:
    Residency(const Dag& dag, std::span<const Residence> reserved, bool only_reserved)
        : dag_(dag),
          space_(dag.space.begin(), dag.space.end()),
          free_(dag.capacity.begin(), dag.capacity.end()),
          room_(dag.weight_limit.begin(), dag.weight_limit.end()),
          resident_(dag.weight_size.size() * dag.processor_count),
          fixed_(dag.weight_size.size(), false) {
        if (room_.empty()) room_.assign(dag.weight_size.size(), dag.processor_count);
        for (const Residence& residence : reserved) {
            add(residence.weight, residence.processor);
            fixed_[residence.weight] = only_reserved;
        }
    }

    [[nodiscard]] bool admits(std::uint32_t task, std::uint32_t processor) const {
        if (!space_.empty() && space_[processor] < dag_.task_space[task]) return false;
        const std::uint32_t weight = dag_.weight_of(task);
        if (weight == no_id || resident_[index(weight, processor)]) return true;
        return !fixed_[weight] && room_[weight] > 0 && free_[processor] >= dag_.weight_size[weight];
    }

    void settle(std::uint32_t task, std::uint32_t processor) {
        if (!space_.empty()) space_[processor] -= dag_.task_space[task];
        const std::uint32_t weight = dag_.weight_of(task);
        if (weight != no_id) add(weight, processor);
    }

    [[nodiscard]] std::vector<Residence> take() { return std::move(list_); }

private:
    [[nodiscard]] std::size_t index(std::uint32_t weight, std::uint32_t processor) const {
        return std::size_t{weight} * dag_.processor_count + processor;
    }

    void add(std::uint32_t weight, std::uint32_t processor) {
        if (resident_[index(weight, processor)]) return;
        WEFT_CHECK(free_[processor] >= dag_.weight_size[weight], "weight {} passes the capacity of processor {}", weight, processor);
        free_[processor] -= dag_.weight_size[weight];
        WEFT_CHECK(room_[weight] > 0, "weight {} passes its limit", weight);
        --room_[weight];
        resident_[index(weight, processor)] = true;
        list_.push_back({weight, processor});
    }

    const Dag& dag_;
    std::vector<std::int64_t> space_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> room_;   // per weight: further processors it may be on
    std::vector<bool> resident_;
    std::vector<bool> fixed_;
    std::vector<Residence> list_;
};

}  // namespace weft
