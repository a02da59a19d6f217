#pragma once

#include <string_view>
#include <tuple>
#include <utility>

#include "artifact/candidates.h"
#include "artifact/constraint.h"
#include "artifact/graph.h"
#include "artifact/kernels.h"
#include "artifact/program.h"
#include "artifact/schedule.h"
#include "artifact/selection.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "artifact/timing.h"

namespace weft {

/// Every kind of artifact, in pipeline order.
using ArtifactKinds = std::tuple<Graph, Target, Tasks, Schedule, Candidates, Program, Timing, Selection, Constraint, Kernels>;

/// The four identifier bytes at byte 4; empty where the file is shorter.
[[nodiscard]] inline std::string_view identifier_of(std::span<const std::byte> bytes) {
    return bytes.size() < 8 ? std::string_view{} : std::string_view(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
}

/// Calls `use(std::type_identity<Kind>)` with the kind whose identifier is `identifier`; false where there is none.
template <class Use>
bool dispatch_kind(std::string_view identifier, Use&& use) {
    const auto attempt = [&]<class Kind>(std::type_identity<Kind> kind) {
        if (ArtifactTraits<Kind>::identifier != identifier) return false;
        use(kind);
        return true;
    };
    return [&]<std::size_t... index>(std::index_sequence<index...>) {
        return (attempt(std::type_identity<std::tuple_element_t<index, ArtifactKinds>>{}) || ...);
    }(std::make_index_sequence<std::tuple_size_v<ArtifactKinds>>{});
}

}  // namespace weft
