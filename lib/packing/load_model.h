#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "artifact/target.h"
#include "packing/lane_geometry.h"
#include "packing/packing.h"
#include "pim/timing.h"

namespace weft {

/// Local memory that a placement may take by the model. A core with several runs of a family's lanes can need more constants than are counted: a
/// thirty-second is kept for them.
[[nodiscard]] inline std::int64_t usable_elems(const Target& target) {
    const auto elems = static_cast<std::int64_t>(target.core.local_memory_bytes);
    return elems - elems / 32;
}

/// Time and local memory of every core under a placement, up to date while lanes move: what `measure_cores` and `plan_memory` say, at the
/// cost of the few tensors that a move touches. Transfers are kept tensor by tensor, because all transfers of a tensor depend on the
/// cores of its producer's and its readers' lanes only.
class LoadModel {
public:
    /// `constants`: of constant_elems; empty where memory does not matter.
    LoadModel(const Tasks& tasks, const Target& target, const PimTiming& timing, LanePlacement placement, const Rhythm& rhythm,
              std::span<const std::int64_t> constants);

    [[nodiscard]] const LanePlacement& placement() const { return placement_; }
    /// Spans that a move of lanes of one family makes it look at, in the mean over all tensors.
    [[nodiscard]] std::uint64_t spans_per_move() const { return 1 + 3 * geometry_.span_count() / std::max<std::size_t>(1, shares_.size()); }
    [[nodiscard]] std::uint32_t core_count() const { return static_cast<std::uint32_t>(cores_.size()); }
    /// As CoreLoads::occupied_ns.
    [[nodiscard]] std::int64_t occupied_ns(std::uint32_t core) const;
    /// Elements of all buffers, scratch and constants.
    [[nodiscard]] std::int64_t used_elems(std::uint32_t core) const;
    [[nodiscard]] std::uint32_t crossbars(std::uint32_t core) const { return cores_[core].crossbars; }
    /// True where every core's memory is enough.
    [[nodiscard]] bool fits(std::int64_t elems) const;
    /// Lanes of a family on a core.
    [[nodiscard]] std::uint32_t lanes_on(FamilyId family, std::uint32_t core) const { return lanes_on_[core * families_ + family.index()]; }

    /// Lanes [first, first + count) of one family go to `core`. Figures follow with `update`.
    void move(std::uint32_t first, std::uint32_t count, std::uint16_t core);
    void update();
    /// Cores whose figures may have changed since the last commit.
    [[nodiscard]] std::span<const std::uint16_t> touched() const { return touched_; }
    /// Everything since the last commit stays, or is taken back.
    void commit();
    void undo();

private:
    struct Core {
        std::int64_t lane_ns = 0;
        std::int64_t transfer_ns = 0;       ///< both ends of messages, loads, copies and stores
        std::int64_t queue_ns = 0;          ///< outgoing queue
        std::int64_t buffer_elems = 0;
        std::uint32_t crossbars = 0;
    };
    /// What one tensor costs one core.
    struct Share {
        std::uint16_t core = 0;
        std::int64_t transfer_ns = 0;
        std::int64_t queue_ns = 0;
        std::int64_t buffer_elems = 0;
    };
    struct Scratch {
        std::int32_t elems = 0;
        std::uint32_t family = 0;
    };
    /// Runs of positions that one core makes.
    struct MadeRun {
        PositionSpan span;
        std::uint16_t core = 0;
    };
    struct LaneWas {
        std::uint32_t lane = 0;
        std::uint16_t core = 0;
    };
    struct SharesWere {
        std::uint32_t tensor = 0;
        std::vector<Share> shares;
    };
    /// A buffer under construction.
    struct Want {
        std::vector<PositionSpan> spans;
        RowRange rows;
    };

    void place_lane(std::uint32_t lane, std::uint16_t core, int sign);
    void add_shares(const std::vector<Share>& shares, int sign);
    void touch(std::uint16_t core);
    void touch_tensor(std::uint32_t tensor);

    /// Of one tensor under the present placement, into price_.
    void price_tensor(TensorId tensor);
    void find_made(TensorId tensor);
    void price_output_buffers(TensorId tensor);
    void price_stores(TensorId tensor);
    void collect_wants(const ReaderGroup& group, TensorId tensor);
    void price_group(const ReaderGroup& group, TensorId tensor);
    void price_want(const Want& want, std::uint16_t core, const ReaderGroup& group, TensorId tensor);
    void price_message(std::uint16_t from, std::uint16_t to, std::uint32_t elems);
    [[nodiscard]] std::int64_t buffer_elems(TensorId tensor, RowRange rows) const;
    Share& price(std::uint16_t core);
    [[nodiscard]] std::vector<Share> take_price();

    const Tasks& tasks_;
    const PimTiming& timing_;
    const Rhythm rhythm_;
    LaneGeometry geometry_;
    std::size_t families_;
    std::vector<std::int64_t> constants_;           // per family
    std::vector<Scratch> scratch_;                  // of families that need some, largest first
    LanePlacement placement_;
    std::vector<Core> cores_;
    std::vector<std::uint32_t> lanes_on_;           // core by family
    std::vector<std::vector<Share>> shares_;        // per tensor

    // Since the last commit.
    std::vector<LaneWas> lanes_were_;
    std::vector<SharesWere> shares_were_;
    std::vector<std::uint32_t> stale_;              // tensors to price anew
    std::vector<char> is_stale_;
    std::vector<std::uint16_t> touched_;
    std::vector<char> is_touched_;

    // While one tensor is priced.
    std::vector<MadeRun> made_;
    std::vector<Share> price_;                      // per core
    std::vector<char> is_priced_;
    std::vector<std::uint16_t> priced_;
    std::vector<Want> wants_;                       // per core
    std::vector<char> is_wanting_;
    std::vector<std::uint16_t> wanting_;
    std::vector<RowRange> rows_;                     // per core
};

}  // namespace weft
