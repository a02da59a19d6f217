#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "frontier/graph_planner.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {

[[nodiscard]] inline MatrixShape matrix_shape(const Tasks& tasks, std::uint32_t value) {
    return {tasks.tile_values[value].rows, tasks.tile_values[value].columns};
}

/// What conversions between the layouts of a .tasks cost: estimated, until schedule() has found out. Values of one shape share
/// them. Results are remembered; they depend on nothing but the arguments and the earlier calls of schedule().
class ConversionCosts {
public:
    /// Both must outlive the object.
    ConversionCosts(const Tasks& tasks, const Target& target);

    [[nodiscard]] FormatChange change(std::uint32_t value, std::uint32_t from, std::uint32_t to);
    [[nodiscard]] std::uint64_t exchange_cycles(std::uint32_t value, std::uint32_t from, std::uint32_t to);
    /// Schedules the conversion's phase and takes its cycles from then on; false where that was done before.
    bool schedule(std::uint32_t value, std::uint32_t from, std::uint32_t to);

private:
    struct Known {
        ConversionCost cost;
        std::uint64_t largest = 0;
        bool scheduled = false;
        bool valid = false;
    };
    [[nodiscard]] Known& known(std::uint32_t value, std::uint32_t from, std::uint32_t to);
    [[nodiscard]] const LayoutParts& parts(std::uint32_t shape, std::uint32_t layout, MatrixShape matrix);

    const Tasks& tasks_;
    const Target& target_;
    Topology topology_;
    std::vector<std::uint32_t> shape_of_value_;
    std::vector<std::vector<std::unique_ptr<LayoutParts>>> parts_;      // per shape and layout
    std::vector<std::unordered_map<std::uint64_t, Known>> known_;       // per shape: from, to; only ever looked up
};

}  // namespace weft::ipu21
