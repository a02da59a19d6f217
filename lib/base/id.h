#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

/// A dense 32-bit index into one kind of table. Ids of different kinds do not mix; arithmetic is not offered.
template <class Tag>
struct Id {
    static constexpr std::uint32_t none_value = 0xffffffffU;

    std::uint32_t value = none_value;

    constexpr Id() = default;
    constexpr explicit Id(std::uint64_t index) : value(static_cast<std::uint32_t>(index)) {}

    [[nodiscard]] static constexpr Id none() { return Id(); }
    [[nodiscard]] constexpr bool is_none() const { return value == none_value; }
    [[nodiscard]] constexpr std::size_t index() const { return value; }

    constexpr auto operator<=>(const Id&) const = default;
};

using TensorId = Id<struct TensorTag>;            // row of the graph's or the tasks' tensor table
using NodeId = Id<struct NodeTag>;                // row of the graph's node table
using FamilyId = Id<struct FamilyTag>;            // row of the tasks' family table
using LaneId = Id<struct LaneTag>;                // row of the tasks' lane table
using CoreId = Id<struct CoreTag>;                // core of the target
using GroupId = Id<struct GroupTag>;              // array group of a core
using WeightId = Id<struct WeightTag>;            // row of a weight table
using CandidateId = Id<struct CandidateTag>;      // row of the candidate list

/// "No row" in columns of raw 32-bit ids.
inline constexpr std::uint32_t no_id = 0xffffffffU;

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
    std::size_t operator()(weft::Id<Tag> id) const noexcept { return id.value; }
};
