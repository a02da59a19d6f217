#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/id.h"
#include "frontier/retain.h"

namespace weft {

/// Choosing one plan per operator of a graph so that producers and consumers agree on formats or convert between them: the
/// problem behind operator planning on any target whose tensors have more than one layout. Knows no target family.
///
/// Memory comes in two classes. What is resident (weights) occupies its class for the whole program; values from
/// their producer to their last consumer; temporaries and copies only while their operator runs.

inline constexpr std::uint32_t any_format = 0xffffffffU;

struct MemoryBytes {
    std::uint64_t first = 0;    ///< class 0
    std::uint64_t second = 0;   ///< class 1
    std::uint64_t large = 0;    ///< of class 0: in blocks so large that only some of its regions can hold them
};

/// One way to run one operator.
struct OperatorPlan {
    std::uint32_t first_format = 0;    ///< into PlanProblem::plan_formats: one per input
    std::uint32_t output_format = 0;
    std::uint64_t cycles = 0;
    std::uint64_t row_bytes = 0;       ///< adds up over the program (exchange code), counted in class 0
    MemoryBytes resident;
    MemoryBytes temporary;
    std::uint64_t largest = 0;         ///< largest single allocation of class 0
};

/// Changing one value's format.
struct FormatChange {
    std::uint64_t cycles = 0;
    std::uint64_t row_bytes = 0;
    MemoryBytes temporary;
    std::uint64_t largest = 0;         ///< largest single allocation of class 0
    bool possible = true;
};

struct PlanProblem {
    // Values: those without a producer are inputs of the network, which arrive in the first consumer's format.
    std::vector<std::uint32_t> value_producer;   ///< operator, or no_id
    std::vector<std::uint8_t> value_kept;        ///< an output of the network: lives to the end
    // Operators in execution order.
    std::vector<std::uint32_t> first_input;      ///< CSR, operators + 1
    std::vector<std::uint32_t> inputs;           ///< values
    std::vector<std::uint32_t> output;           ///< value per operator
    std::vector<std::uint32_t> first_plan;       ///< CSR, operators + 1
    std::vector<OperatorPlan> plans;
    std::vector<std::uint32_t> plan_formats;     ///< any_format: taken as it comes
    std::vector<std::uint32_t> format_family;    ///< per format: formats that are alike for the cap's diversity
    /// Pure functions of their arguments; results are remembered.
    std::function<FormatChange(std::uint32_t value, std::uint32_t from, std::uint32_t to)> change;
    std::function<MemoryBytes(std::uint32_t value, std::uint32_t format)> bytes;

    [[nodiscard]] std::size_t operator_count() const { return output.size(); }
};

/// What a state costs so far; all are minimised and none ever falls. Six quantities: cycles, the three peaks with what is resident added, the
/// need for contiguous memory (`largest` and the large blocks that are alive together), and `row_bytes`. Residents are kept apart from the peaks because a later, larger peak adds to
/// them: comparing only the sums would discard states that win in the end.
struct PlanObjectives {
    std::uint64_t cycles = 0;
    std::uint64_t peak_first = 0;       ///< without residents
    std::uint64_t peak_second = 0;
    std::uint64_t peak_both = 0;
    std::uint64_t largest = 0;
    std::uint64_t row_bytes = 0;
    std::uint64_t resident_first = 0;
    std::uint64_t resident_second = 0;
    std::uint64_t peak_large = 0;       ///< without residents
    std::uint64_t resident_large = 0;
    auto operator<=>(const PlanObjectives&) const = default;
    static constexpr std::size_t count = 10;
    [[nodiscard]] std::array<std::uint64_t, count> array() const {
        return {cycles, peak_first, peak_second, peak_both, largest, row_bytes, resident_first, resident_second, peak_large, resident_large};
    }
};

/// Monotone: true for one state implies true for every state that is no larger anywhere.
using PlanFits = std::function<bool(const PlanObjectives&)>;

struct ChosenConversion {
    std::uint32_t operator_index = 0;
    std::uint32_t input = 0;           ///< slot of the operator
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t replaces = 0;        ///< 1: later consumers see the new format
    auto operator<=>(const ChosenConversion&) const = default;
};

/// A complete choice.
struct GraphPlan {
    std::vector<std::uint32_t> plan;             ///< per operator: row of PlanProblem::plans
    std::vector<ChosenConversion> conversions;   ///< in execution order
    PlanObjectives objectives;
};

struct PlannerOptions {
    std::size_t width = 128;       ///< states kept after each operator
    std::size_t finalists = 11;    ///< complete plans returned
    std::uint64_t resident_step = 0;   ///< the cap keeps states apart whose resident bytes differ by so much; 0: it does not
    bool retention = true;         ///< false: keep every state (exhaustive search, for tests)
};

struct PlannerCounts {
    std::uint64_t expanded = 0;          ///< states x plans x conversions looked at
    std::uint64_t infeasible = 0;
    RetentionCounts retention;
    std::uint32_t widest = 0;
    std::uint32_t changes = 0;           ///< distinct format changes costed
    std::uint32_t stuck_operator = no_id;   ///< the first operator after which no state fits
    PlanObjectives stuck_least;          ///< there: the least of each objective over all states
};

/// Complete plans by cycles, best first; empty where nothing fits (see counts). Deterministic.
[[nodiscard]] std::vector<GraphPlan> plan_graph(const PlanProblem& problem, const PlanFits& fits, const PlannerOptions& options,
                                                PlannerCounts* counts = nullptr);

}  // namespace weft
