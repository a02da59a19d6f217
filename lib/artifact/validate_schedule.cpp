#include <vector>

#include "artifact/schedule.h"
#include "artifact/validate.h"
#include "artifact/validate_tiles.h"

namespace weft {

template <>
void validate<Schedule>(const Schedule& schedule, std::string_view file) {
    const Validator check(file);
    if (schedule.mode > ScheduleMode::Latency) bad_input("{}: unknown mode {}", file, static_cast<int>(schedule.mode));
    if (schedule.exchange > ExchangePolicy::Sided) bad_input("{}: unknown exchange policy {}", file, static_cast<int>(schedule.exchange));
    if (schedule.exchange != ExchangePolicy::Burst && schedule.slots_per_round != 1) {
        bad_input("{}: a woven or sided exchange needs one slot per round, not {}", file, schedule.slots_per_round);
    }
    if (schedule.core_first.empty()) bad_input("{}: column 'core_first' is empty", file);
    const std::size_t cores = schedule.core_first.size() - 1;
    const std::size_t lanes = schedule.lane_core.size();
    check.offsets(schedule.core_first, cores, lanes, "core_first");
    check.length(schedule.core_lanes.size(), lanes, "core_lanes");
    check.length(schedule.core_work_ns.size(), cores, "core_work_ns");
    check.length(schedule.core_crossbars.size(), cores, "core_crossbars");
    check.length(schedule.family_stage.size(), schedule.family_level.size(), "family_stage");
    for (std::size_t l = 0; l < lanes; ++l) check.below(schedule.lane_core[l], cores, "lane_core", l);
    std::vector<char> seen(lanes, 0);
    for (std::size_t core = 0; core < cores; ++core) {
        for (std::size_t row = schedule.core_first[core]; row < schedule.core_first[core + 1]; ++row) {
            const std::uint32_t lane = schedule.core_lanes[row];
            check.below(lane, lanes, "core_lanes", row);
            if (schedule.lane_core[lane] != core) check.reject("core_lanes", row, "lane {} is placed on another core", lane);
            if (seen[lane] != 0) check.reject("core_lanes", row, "lane {} stands twice", lane);
            seen[lane] = 1;
        }
    }
    validate_tile_schedule(schedule, file);
    if (schedule.slots_per_round == 0) bad_input("{}: slots_per_round must not be 0", file);
    for (std::size_t f = 0; f < schedule.family_level.size(); ++f) {
        check.below(schedule.family_stage[f], schedule.stage_count, "family_stage", f);
        if (schedule.family_level[f] / schedule.slots_per_round != schedule.family_stage[f]) {
            check.reject("family_stage", f, "stage {} is not level {} / slots_per_round {}", schedule.family_stage[f],
                         schedule.family_level[f], schedule.slots_per_round);
        }
    }
}

}  // namespace weft
