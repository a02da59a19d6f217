#include "artifact/timing.h"
#include "artifact/validate.h"

namespace weft {

/// Known availability; an estimate where available, a reason where not; no core busier than the busiest.
template <>
void validate<Timing>(const Timing& timing, std::string_view file) {
    const Validator check(file);
    check.below(static_cast<std::uint64_t>(timing.availability), static_cast<std::uint64_t>(Availability::EmptyProgram) + 1, "availability", 0);
    // Above this, sums of a few intervals would pass 63 bits.
    constexpr std::uint64_t time_limit = std::uint64_t{1} << 60U;
    const bool available = timing.availability == Availability::Available;
    if (available && (timing.interval_ns == 0 || timing.alternative_interval_ns == 0)) check.reject("interval_ns", 0, "an available timing needs intervals");
    if (available && timing.cores.empty()) check.reject("cores", 0, "an available timing needs cores");
    if (available && timing.inferences_per_round == 0) check.reject("inferences_per_round", 0, "must be at least 1");
    if (!available && timing.reason.empty()) check.reject("reason", 0, "an unavailable timing needs a reason");
    check.below(timing.interval_ns, time_limit, "interval_ns", 0);
    check.below(timing.alternative_interval_ns, time_limit, "alternative_interval_ns", 0);
    check.below(timing.latency_ns, time_limit, "latency_ns", 0);
    if (timing.recurrence_numerator_ps != 0 && timing.recurrence_denominator == 0) check.reject("recurrence_denominator", 0, "a ratio needs one");
    for (std::size_t row = 0; row < timing.cores.size(); ++row) {
        const CoreTiming& core = timing.cores[row];
        for (const std::uint64_t time : {core.local_ns, core.communication_ns, core.wait_ns, core.switch_ns, core.memory_wait_ns}) {
            check.below(time, time_limit, "cores", row);
        }
        // Both parts are rounded, so their sum may be one more.
        if (core.local_ns + core.communication_ns > timing.busiest_core_ns + 1) check.reject("cores", row, "is busier than the busiest core");
    }
}

}  // namespace weft
