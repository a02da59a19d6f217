#include "pim/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/checked.h"

namespace weft {
namespace {

std::uint32_t row_of(const TaskTensor& tensor, std::uint32_t position) { return position / tensor.columns; }

/// Consecutive lanes of a family on one core become one actor.
void merge_lanes(const Tasks& tasks, std::span<const std::uint16_t> lane_core, std::span<const std::uint32_t> family_level,
                 ActorPlan& plan) {
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            const Lane& lane = tasks.lanes[l];
            const CoreId core(lane_core[l]);
            if (!plan.actors.empty() && l > family.first_lane && plan.actors.back().core == core) {
                Actor& actor = plan.actors.back();
                actor.tile_count += lane.tile_count;
                ++actor.lane_count;
                continue;
            }
            Actor actor;
            actor.family = FamilyId(f);
            actor.core = core;
            actor.first_lane = l;
            actor.lane_count = 1;
            actor.first_tile = lane.first_tile;
            actor.tile_count = lane.tile_count;
            actor.level = family_level[f];
            plan.actors.push_back(actor);
        }
    }
}

/// Collects the positions and rows that one buffer must hold.
struct BufferDraft {
    RowBuffer buffer;
    RowRange rows;
    std::vector<PositionSpan> spans;

    void add_span(const TaskTensor& tensor, PositionSpan span) {
        if (span.count == 0) return;
        spans.push_back(span);
        rows.add({static_cast<std::int32_t>(row_of(tensor, span.first)), static_cast<std::int32_t>(row_of(tensor, span.first + span.count - 1)) + 1});
    }

    /// Sort and join spans into the plan: overlapping and touching ones, and those with at most `gap` positions between them.
    void finish(std::vector<PositionSpan>& all, std::uint32_t gap = 0) {
        std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        buffer.first_row = rows.first;
        buffer.row_count = rows.end - rows.first;
        buffer.first_span = narrow<std::uint32_t>(all.size());
        for (const PositionSpan& span : spans) {
            if (all.size() > buffer.first_span && span.first <= all.back().first + all.back().count + gap) {
                all.back().count = std::max(all.back().count, span.first + span.count - all.back().first);
            } else {
                all.push_back(span);
            }
        }
        buffer.span_count = narrow<std::uint32_t>(all.size()) - buffer.first_span;
    }
};

void plan_outputs(const Tasks& tasks, ActorPlan& plan) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> index;   // (family, core)
    std::vector<BufferDraft> drafts;
    for (Actor& actor : plan.actors) {
        const Family& family = tasks.families[actor.family.index()];
        const auto [entry, added] = index.try_emplace({actor.family.value, actor.core.value}, narrow<std::uint32_t>(drafts.size()));
        if (added) {
            BufferDraft draft;
            draft.buffer.core = actor.core;
            draft.buffer.tensor = TensorId(family.output);
            draft.buffer.level = actor.level;
            drafts.push_back(draft);
        }
        actor.output = entry->second;
        BufferDraft& draft = drafts[actor.output];
        const TaskTensor& tensor = tasks.tensors[family.output];
        const TileGrid grid(family, tensor);
        grid.for_each_owned_span(actor.first_tile, actor.tile_count, [&](PositionSpan span) { draft.add_span(tensor, span); });
        grid.for_each_row(actor.first_tile, actor.tile_count, [&](const TileRectangle&, const TileRectangle& computed) {
            draft.rows.add({static_cast<std::int32_t>(computed.first_row), static_cast<std::int32_t>(computed.end_row)});
        });
    }
    for (BufferDraft& draft : drafts) {
        draft.finish(plan.spans);
        plan.outputs.push_back(draft.buffer);
    }
}

/// Elements that are cheaper moved for nothing than left out between two messages.
constexpr std::uint32_t bridged_elems = 128;

/// The memory serves one request at a time, a core waits for its own, and whoever waits for either waits with them: pieces of a few
/// microseconds.
constexpr std::uint32_t load_elems = 2048;

/// A sided message stands before the first or behind the last use of all that it moves: large ones would leave it the ends of the round
/// only. Smaller pieces cost more rendezvous than they win (ResNet-50: 12,288 and 8,192 elements 14 and 11 % shorter rounds, 2,048 none).
constexpr std::uint32_t sided_elems = 12288;

void plan_inputs(const Tasks& tasks, ActorPlan& plan) {
    // Actors of one core that read one tensor in the same slot share a buffer, and so one copy of each message.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> index;   // (core, tensor, level)
    std::vector<BufferDraft> drafts;
    RowRange rows;   // of the family before
    FamilyId rows_of;
    for (Actor& actor : plan.actors) {
        const Family& family = tasks.families[actor.family.index()];
        const bool matrix = family.kind == static_cast<std::uint32_t>(FamilyKind::Matrix);
        if (matrix && rows_of != actor.family) {
            rows = strip_rows(tasks, family);
            rows_of = actor.family;
        }
        actor.first_input = narrow<std::uint32_t>(plan.actor_inputs.size());
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            const std::uint32_t tensor = tasks.inputs[family.first_input + slot];
            const auto [entry, added] =
                index.try_emplace({actor.core.value, tensor, actor.level}, narrow<std::uint32_t>(drafts.size()));
            if (added) {
                BufferDraft draft;
                draft.buffer.core = actor.core;
                draft.buffer.tensor = TensorId(tensor);
                draft.buffer.level = actor.level;
                drafts.push_back(draft);
            }
            plan.actor_inputs.push_back(entry->second);
            if (matrix) drafts[entry->second].rows.add(window_rows(tasks, actor.family, actor.first_tile, actor.tile_count, rows));
        }
        for (const Lane& lane : tasks.lanes.subspan(actor.first_lane, actor.lane_count)) {
            for (const Demand& demand : tasks.demands.subspan(lane.first_demand, lane.demand_count)) {
                const std::uint32_t tensor = tasks.inputs[family.first_input + demand.input];
                drafts[plan.actor_inputs[actor.first_input + demand.input]].add_span(tasks.tensors[tensor],
                                                                                     {demand.first_position, demand.position_count});
            }
        }
    }
    for (BufferDraft& draft : drafts) {
        draft.finish(plan.spans, bridged_positions(tasks.tensors[draft.buffer.tensor.index()]));
        plan.inputs.push_back(draft.buffer);
    }
}

/// A value that is written in slot `producer` can leave in slots producer + 1 ... producer + slots (then it is overwritten), and is
/// used in slot `consumer`; whole rounds in between are spent in delay buffers. As few of those as possible, then as early as possible.
TravelTime burst_time(std::uint32_t producer, std::uint32_t consumer, std::uint32_t slots) {
    if (consumer <= producer) bad_input("the schedule lets level {} read what level {} makes", consumer, producer);
    const std::uint32_t latest = std::min(consumer, producer + slots);
    const std::uint32_t delays = (consumer - latest) / slots;
    const std::uint32_t earliest_with_it = consumer - delays * slots >= slots ? consumer - delays * slots - slots + 1 : 0;
    const std::uint32_t leaving = std::max(producer + 1, earliest_with_it);
    return {leaving % slots, delays};
}

/// Woven: written in round p, on the way during round p + 1, used from round p + 2 on.
TravelTime woven_time(std::uint32_t producer, std::uint32_t consumer) {
    if (consumer < producer + 2) bad_input("the schedule's woven exchange lets level {} read what level {} makes", consumer, producer);
    return {0, consumer - producer - 2};
}

void plan_transfers(const Tasks& tasks, ActorPlan& plan) {
    // Output buffers of each tensor.
    std::vector<std::vector<std::uint32_t>> producers(tasks.tensors.size());
    for (std::uint32_t o = 0; o < plan.outputs.size(); ++o) producers[plan.outputs[o].tensor.index()].push_back(o);
    const std::uint32_t slots = plan.slots_per_round;
    for (std::uint32_t target = 0; target < plan.inputs.size(); ++target) {
        const RowBuffer& input = plan.inputs[target];
        const auto wanted = std::span(plan.spans).subspan(input.first_span, input.span_count);
        if (tasks.tensors[input.tensor.index()].producer == no_id) {
            const TravelTime time = load_time(plan.exchange, slots, input.level);
            const std::uint32_t most = load_positions(tasks.tensors[input.tensor.index()]);
            for (const PositionSpan& span : wanted) {
                for (std::uint32_t done = 0; done < span.count; done += most) {
                    plan.transfers.push_back({no_id, target, {span.first + done, std::min(most, span.count - done)}, time.slot, time.delays});
                }
            }
            continue;
        }
        for (const std::uint32_t source : producers[input.tensor.index()]) {
            const RowBuffer& output = plan.outputs[source];
            const TravelTime time = travel_time(plan.exchange, slots, output.level, input.level);
            const std::uint32_t most = message_positions(tasks.tensors[input.tensor.index()], plan.exchange);
            const auto made = std::span(plan.spans).subspan(output.first_span, output.span_count);
            for (std::size_t a = 0, b = 0; a < wanted.size() && b < made.size();) {
                const std::uint32_t first = std::max(wanted[a].first, made[b].first);
                const std::uint32_t wanted_end = wanted[a].first + wanted[a].count;
                const std::uint32_t made_end = made[b].first + made[b].count;
                const std::uint32_t end = std::min(wanted_end, made_end);
                for (std::uint32_t from = first; from < end; from += std::min(most, end - from)) {
                    plan.transfers.push_back({source, target, {from, std::min(most, end - from)}, time.slot, time.delays});
                }
                wanted_end <= made_end ? ++a : ++b;
            }
        }
    }
}

}  // namespace

void RowRange::add(RowRange other) {
    if (other.empty()) return;
    if (empty()) {
        *this = other;
        return;
    }
    first = std::min(first, other.first);
    end = std::max(end, other.end);
}

RowRange strip_rows(const Tasks& tasks, const Family& family) {
    RowRange rows{std::numeric_limits<std::int32_t>::max(), 0};
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) {
        for (const Piece& piece : tasks.pieces.subspan(strip.first_piece, strip.piece_count)) {
            rows.first = std::min(rows.first, static_cast<std::int32_t>(piece.row));
            rows.end = std::max(rows.end, static_cast<std::int32_t>(piece.row) + 1);
        }
    }
    return rows;
}

RowRange window_rows(const Tasks& tasks, FamilyId family, std::uint32_t first_tile, std::uint32_t tile_count, RowRange rows) {
    const Family& row = tasks.families[family.index()];
    const TileGrid grid(row, tasks.tensors[row.output]);
    const FamilyBand band = band_of(tasks, family.index());
    const auto origin = [&](std::uint32_t tile) { return window_origin_row(row, band, grid.row_origin(tile / grid.tiles_per_row())); };
    return {origin(first_tile) + rows.first, origin(first_tile + tile_count - 1) + rows.end};
}

std::uint32_t bridged_positions(const TaskTensor& tensor) { return bridged_elems / tensor.channels; }

std::uint32_t message_positions(const TaskTensor& tensor, ExchangePolicy exchange) {
    return exchange == ExchangePolicy::Sided ? std::max(1U, sided_elems / tensor.channels) : no_id;
}

std::uint32_t load_positions(const TaskTensor& tensor) { return std::max(1U, load_elems / tensor.channels); }

TravelTime travel_time(ExchangePolicy exchange, std::uint32_t slots_per_round, std::uint32_t producer, std::uint32_t consumer) {
    return exchange == ExchangePolicy::Woven ? woven_time(producer, consumer) : burst_time(producer, consumer, slots_per_round);
}

TravelTime load_time(ExchangePolicy exchange, std::uint32_t slots_per_round, std::uint32_t consumer) {
    if (exchange != ExchangePolicy::Woven) return {consumer % slots_per_round, consumer / slots_per_round};
    if (consumer == 0) bad_input("the schedule's woven exchange has a level 0");
    return {0, consumer - 1};
}

std::vector<std::uint32_t> dependency_levels(const Tasks& tasks, std::uint32_t first, std::uint32_t step) {
    std::vector<std::uint32_t> levels(tasks.families.size(), first);
    for (std::size_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        for (const std::uint32_t tensor : tasks.inputs.subspan(family.first_input, family.input_count)) {
            const std::uint32_t producer = tasks.tensors[tensor].producer;
            if (producer != no_id) levels[f] = std::max(levels[f], levels[producer] + step);
        }
    }
    return levels;
}

ActorPlan plan_actors(const Tasks& tasks, std::span<const std::uint16_t> lane_core, const Rhythm& rhythm) {
    ActorPlan plan;
    plan.slots_per_round = rhythm.slots_per_round;
    plan.exchange = rhythm.exchange;
    merge_lanes(tasks, lane_core, rhythm.family_level, plan);
    plan_outputs(tasks, plan);
    plan_inputs(tasks, plan);
    plan_transfers(tasks, plan);
    return plan;
}

std::uint32_t span_elems(const TaskTensor& tensor, PositionSpan span) {
    if (span.count == 0) return 0;
    const std::uint32_t rows_crossed = (span.first + span.count - 1) / tensor.columns - span.first / tensor.columns;
    return (span.count + rows_crossed * tensor.gap) * tensor.channels;
}

}  // namespace weft
