#include "packing/load_model.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/kernel.h"

namespace weft {

LoadModel::LoadModel(const Tasks& tasks, const Target& target, const PimTiming& timing, LanePlacement placement, const Rhythm& rhythm,
                     std::span<const std::int64_t> constants)
    : tasks_(tasks), timing_(timing), rhythm_(rhythm), geometry_(tasks, rhythm), families_(tasks.families.size()),
      constants_(constants.begin(), constants.end()), placement_(std::move(placement)),
      cores_(target.core_count), lanes_on_(families_ * target.core_count, 0), shares_(tasks.tensors.size()), is_stale_(tasks.tensors.size(), 0),
      is_touched_(target.core_count, 0), price_(target.core_count), is_priced_(target.core_count, 0), wants_(target.core_count),
      is_wanting_(target.core_count, 0), rows_(target.core_count) {
    constants_.resize(families_, 0);
    for (std::uint32_t f = 0; f < families_; ++f) {
        const std::int32_t elems = kernel_scratch_elems(tasks, FamilyId(f));
        if (elems > 0) scratch_.push_back({elems, f});
    }
    std::stable_sort(scratch_.begin(), scratch_.end(), [](const Scratch& a, const Scratch& b) { return a.elems > b.elems; });
    for (std::uint32_t l = 0; l < placement_.size(); ++l) place_lane(l, placement_[l], 1);
    for (std::uint32_t t = 0; t < tasks.tensors.size(); ++t) touch_tensor(t);
    update();
    commit();
}

std::int64_t LoadModel::occupied_ns(std::uint32_t core) const {
    const Core& row = cores_[core];
    return row.lane_ns + row.transfer_ns + std::max<std::int64_t>(0, row.queue_ns - row.lane_ns / 8);
}

std::int64_t LoadModel::used_elems(std::uint32_t core) const {
    const auto largest = std::find_if(scratch_.begin(), scratch_.end(), [&](const Scratch& entry) { return lanes_on_[core * families_ + entry.family] != 0; });
    return cores_[core].buffer_elems + (largest == scratch_.end() ? 0 : largest->elems);
}

bool LoadModel::fits(std::int64_t elems) const {
    for (std::uint32_t core = 0; core < core_count(); ++core) {
        if (used_elems(core) > elems) return false;
    }
    return true;
}

void LoadModel::place_lane(std::uint32_t lane, std::uint16_t core, int sign) {
    const Lane& row = tasks_.lanes[lane];
    Core& on = cores_[core];
    std::uint32_t& count = lanes_on_[core * families_ + row.family];
    const std::uint32_t crossbars = tasks_.families[row.family].crossbars;
    if (sign > 0 ? count++ == 0 : --count == 0) {
        on.crossbars += sign > 0 ? crossbars : 0U - crossbars;
        on.buffer_elems += sign * constants_[row.family];
    }
    on.lane_ns += sign * static_cast<std::int64_t>(row.work_ns);
}

void LoadModel::touch(std::uint16_t core) {
    if (is_touched_[core] != 0) return;
    is_touched_[core] = 1;
    touched_.push_back(core);
}

void LoadModel::touch_tensor(std::uint32_t tensor) {
    if (is_stale_[tensor] != 0) return;
    is_stale_[tensor] = 1;
    stale_.push_back(tensor);
}

void LoadModel::move(std::uint32_t first, std::uint32_t count, std::uint16_t core) {
    for (std::uint32_t lane = first; lane < first + count; ++lane) {
        const std::uint16_t was = placement_[lane];
        lanes_were_.push_back({lane, was});
        place_lane(lane, was, -1);
        place_lane(lane, core, 1);
        placement_[lane] = core;
        touch(was);
    }
    touch(core);
    const Family& family = tasks_.families[tasks_.lanes[first].family];
    touch_tensor(family.output);
    for (const std::uint32_t tensor : tasks_.inputs.subspan(family.first_input, family.input_count)) touch_tensor(tensor);
}

void LoadModel::add_shares(const std::vector<Share>& shares, int sign) {
    for (const Share& share : shares) {
        Core& core = cores_[share.core];
        core.transfer_ns += sign * share.transfer_ns;
        core.queue_ns += sign * share.queue_ns;
        core.buffer_elems += sign * share.buffer_elems;
        touch(share.core);
    }
}

void LoadModel::update() {
    for (const std::uint32_t tensor : stale_) {
        is_stale_[tensor] = 0;
        price_tensor(TensorId(tensor));
        std::vector<Share> shares = take_price();
        add_shares(shares_[tensor], -1);
        add_shares(shares, 1);
        std::swap(shares_[tensor], shares);
        shares_were_.push_back({tensor, std::move(shares)});
    }
    stale_.clear();
}

void LoadModel::commit() {
    lanes_were_.clear();
    shares_were_.clear();
    for (const std::uint16_t core : touched_) is_touched_[core] = 0;
    touched_.clear();
}

void LoadModel::undo() {
    for (std::size_t i = lanes_were_.size(); i-- > 0;) {
        const auto [lane, was] = lanes_were_[i];
        place_lane(lane, placement_[lane], -1);
        place_lane(lane, was, 1);
        placement_[lane] = was;
    }
    for (std::size_t i = shares_were_.size(); i-- > 0;) {
        const std::uint32_t tensor = shares_were_[i].tensor;
        add_shares(shares_[tensor], -1);
        std::swap(shares_[tensor], shares_were_[i].shares);
        add_shares(shares_[tensor], 1);
    }
    for (const std::uint32_t tensor : stale_) is_stale_[tensor] = 0;
    stale_.clear();
    commit();
}

LoadModel::Share& LoadModel::price(std::uint16_t core) {
    if (is_priced_[core] == 0) {
        is_priced_[core] = 1;
        priced_.push_back(core);
        price_[core] = {core, 0, 0, 0};
    }
    return price_[core];
}

std::vector<LoadModel::Share> LoadModel::take_price() {
    std::vector<Share> shares;
    shares.reserve(priced_.size());
    for (const std::uint16_t core : priced_) {
        is_priced_[core] = 0;
        shares.push_back(price_[core]);
    }
    priced_.clear();
    return shares;
}

std::int64_t LoadModel::buffer_elems(TensorId tensor, RowRange rows) const {
    const TaskTensor& row = tasks_.tensors[tensor.index()];
    const std::int64_t halves = rhythm_.exchange == ExchangePolicy::Woven ? 2 : 1;
    const std::int64_t lead = std::int64_t{row.gap} * row.channels;
    return halves * (lead + std::int64_t{row.columns + row.gap} * row.channels * std::max(0, rows.end - rows.first));
}

void LoadModel::price_tensor(TensorId tensor) {
    made_.clear();
    if (tasks_.tensors[tensor.index()].producer != no_id) {
        find_made(tensor);
        price_output_buffers(tensor);
        if (tasks_.tensors[tensor.index()].output_port != no_id) price_stores(tensor);
    }
    for (const ReaderGroup& group : geometry_.groups(tensor)) price_group(group, tensor);
}

void LoadModel::find_made(TensorId tensor) {
    for (const LaneSpan& owned : geometry_.owned(tensor)) {
        const std::uint16_t core = placement_[owned.lane];
        if (!made_.empty() && made_.back().core == core && made_.back().span.first + made_.back().span.count == owned.span.first) {
            made_.back().span.count += owned.span.count;
        } else {
            made_.push_back({owned.span, core});
        }
    }
}

void LoadModel::price_output_buffers(TensorId tensor) {
    const Family& family = tasks_.families[tasks_.tensors[tensor.index()].producer];
    wanting_.clear();
    for (std::uint32_t lane = family.first_lane; lane < family.first_lane + family.lane_count; ++lane) {
        const std::uint16_t core = placement_[lane];
        if (rows_[core].empty()) wanting_.push_back(core);
        rows_[core].add(geometry_.output_rows(lane));
    }
    for (const std::uint16_t core : wanting_) {
        price(core).buffer_elems += buffer_elems(tensor, rows_[core]);
        rows_[core] = {};
    }
}

/// Results of the network: every run of lanes stores what it made.
void LoadModel::price_stores(TensorId tensor) {
    const TaskTensor& output = tasks_.tensors[tensor.index()];
    const Family& family = tasks_.families[output.producer];
    const std::uint32_t end = family.first_lane + family.lane_count;
    for (std::uint32_t first = family.first_lane, next = 0; first < end; first = next) {
        const std::uint16_t core = placement_[first];
        std::uint32_t tiles = 0;
        for (next = first; next < end && placement_[next] == core; ++next) tiles += tasks_.lanes[next].tile_count;
        for_each_store(family, output, tasks_.lanes[first].first_tile, tiles, rhythm_.exchange, [&](PositionSpan span) {
            price(core).transfer_ns += timing_.store_ns(CoreId(core), span_elems(output, span));
        });
    }
}

void LoadModel::collect_wants(const ReaderGroup& group, TensorId tensor) {
    wanting_.clear();
    for (const auto& [rows, lane] : geometry_.wanted_rows(group)) {
        const std::uint16_t core = placement_[lane];
        if (is_wanting_[core] == 0) wanting_.push_back(core);
        is_wanting_[core] = 1;
        wants_[core].rows.add(rows);
    }
    const std::uint32_t bridged = bridged_positions(tasks_.tensors[tensor.index()]);
    for (const auto& [span, lane] : geometry_.wanted(group)) {
        auto& spans = wants_[placement_[lane]].spans;
        if (!spans.empty() && span.first <= spans.back().first + spans.back().count + bridged) {
            spans.back().count = std::max(spans.back().count, span.first + span.count - spans.back().first);
        } else {
            spans.push_back(span);
        }
    }
}

void LoadModel::price_group(const ReaderGroup& group, TensorId tensor) {
    collect_wants(group, tensor);
    for (const std::uint16_t core : wanting_) {
        price_want(wants_[core], core, group, tensor);
        is_wanting_[core] = 0;
        wants_[core].spans.clear();
        wants_[core].rows = {};
    }
}

void LoadModel::price_want(const Want& want, std::uint16_t core, const ReaderGroup& group, TensorId tensor) {
    const TaskTensor& row = tasks_.tensors[tensor.index()];
    const bool loaded = row.producer == no_id;
    const std::uint32_t stages = delay_stages(rhythm_.exchange, group.delays);
    const std::uint32_t most = loaded ? load_positions(row) : message_positions(row, rhythm_.exchange);
    std::int64_t held = 0;
    for (const PositionSpan& span : want.spans) {
        held += span_elems(row, span);
        const auto cut = [&](std::uint32_t first, std::uint32_t end, const auto& each) {
            for (std::uint32_t from = first; from < end; from += std::min(most, end - from)) each(span_elems(row, {from, std::min(most, end - from)}));
        };
        const std::uint32_t end = span.first + span.count;
        if (loaded) {
            cut(span.first, end, [&](std::uint32_t elems) { price(core).transfer_ns += timing_.load_ns(CoreId(core), elems) + stages * timing_.copy_ns(elems); });
            continue;
        }
        auto made = std::upper_bound(made_.begin(), made_.end(), span.first, [](std::uint32_t position, const MadeRun& run) { return position < run.span.first; });
        if (made != made_.begin()) --made;
        for (; made != made_.end() && made->span.first < end; ++made) {
            cut(std::max(span.first, made->span.first), std::min(end, made->span.first + made->span.count), [&](std::uint32_t elems) {
                price(core).transfer_ns += stages * timing_.copy_ns(elems);
                price_message(made->core, core, elems);
            });
        }
    }
    const std::int64_t halves = rhythm_.exchange == ExchangePolicy::Woven ? 2 : 1;
    price(core).buffer_elems += buffer_elems(tensor, want.rows) + halves * stages * held;
}

void LoadModel::price_message(std::uint16_t from, std::uint16_t to, std::uint32_t elems) {
    if (from == to) {
        price(to).transfer_ns += timing_.copy_ns(elems);
        return;
    }
    price(to).transfer_ns += timing_.recv_ns(CoreId(from), CoreId(to), elems);
    Share& sender = price(from);
    sender.transfer_ns += timing_.send_ns(CoreId(from), CoreId(to), elems);
    sender.queue_ns += timing_.network_ns(CoreId(from), CoreId(to), elems);
}

}  // namespace weft
