#include "event_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"

namespace weft {
namespace {

constexpr Picoseconds request_hold = 1000;

struct Unavailable {
    std::string reason;
};

/// One execution of an event within a round. Sends have two nodes (`node`: requested, `node` + 1: delivered), others one.
struct Occurrence {
    std::uint32_t core = 0;
    std::uint32_t event = 0;
    std::uint32_t node = 0;
    std::uint32_t partner = no_id;   // sends and receives: the matching occurrence
};

/// `offset` after the instant `node`.
struct Moment {
    std::uint32_t node = no_id;
    Picoseconds offset = 0;
};

class GraphBuilder {
public:
    GraphBuilder(const QueueProgram& program, std::uint64_t node_limit) : program_(program), period_(program.period), node_limit_(node_limit) {}

    EventGraph build() {
        try {
            result_.exact = aligned_ = is_aligned();
            if (!aligned_) result_.remarks.emplace_back("durations that are no whole clocks: ends between clock edges are not rounded up");
            write_out();
            match_messages();
            for (std::uint32_t core = 0; core < program_.lists.size(); ++core) connect_core(core);
            connect_tokens();
        } catch (const Unavailable& problem) {
            result_ = {};
            result_.unavailable = problem.reason;
        }
        return std::move(result_);
    }

private:
    /// Whether every instant falls on a clock edge; only then what happens at edges is known beforehand.
    [[nodiscard]] bool is_aligned() const {
        if (!program_.model.issue) return true;   // nothing is rounded
        return std::all_of(program_.events.begin(), program_.events.end(), [&](const QueueEvent& event) {
            const bool holds = event.kind != EventKind::Send || request_hold % period_ == 0;
            return holds && event.a % period_ == 0 && event.b % period_ == 0 && event.c % period_ == 0;
        });
    }

    std::uint32_t add_node(InstantKind kind, std::uint32_t core, std::uint32_t event) {
        if (result_.instants.size() >= node_limit_) throw Unavailable{fmt::format("more than {} communication instants a round", node_limit_)};
        result_.instants.push_back({kind, core, event});
        return result_.graph.node_count++;
    }

    void add_edge(std::uint32_t from, std::uint32_t to, Picoseconds weight, EdgeKind kind, std::uint32_t distance = 0) {
        result_.graph.add(from, to, weight, distance);
        result_.kinds.push_back(kind);
    }

    static InstantKind kind_of(EventKind kind) {
        switch (kind) {
            case EventKind::Send: return InstantKind::Requested;
            case EventKind::Recv: return InstantKind::Permitted;
            case EventKind::Load:
            case EventKind::Store: return InstantKind::Served;
            case EventKind::Sync: return InstantKind::Posted;
            case EventKind::Wait: break;
        }
        return InstantKind::Taken;
    }

    void write_out() {
        for (std::uint32_t core = 0; core < program_.lists.size(); ++core) {
            first_occurrence_.push_back(static_cast<std::uint32_t>(occurrences_.size()));
            if (!program_.accounts[core].has_program) continue;
            const EventList& list = program_.lists[core].any_pass;
            for (std::uint32_t segment = list.begin; segment < list.end; ++segment) {
                const QueueSegment& part = program_.segments[segment];
                for (std::uint32_t trip = 0; trip < part.trip_count; ++trip) {
                    for (std::uint32_t event = part.first; event < part.last; ++event) add_occurrence(core, event);
                }
            }
        }
        first_occurrence_.push_back(static_cast<std::uint32_t>(occurrences_.size()));
    }

    void add_occurrence(std::uint32_t core, std::uint32_t event) {
        const EventKind kind = program_.events[event].kind;
        Occurrence one{core, event, add_node(kind_of(kind), core, event), no_id};
        if (kind == EventKind::Send) add_node(InstantKind::Delivered, core, event);
        occurrences_.push_back(one);
    }

    /// The n-th send from a core to another meets the n-th receive there.
    void match_messages() {
        struct End {
            std::uint32_t from, to, occurrence;
        };
        std::vector<End> sends;
        std::vector<End> receives;
        for (std::uint32_t id = 0; id < occurrences_.size(); ++id) {
            const Occurrence& one = occurrences_[id];
            const QueueEvent& event = program_.events[one.event];
            if (event.kind == EventKind::Send) sends.push_back({one.core, event.other, id});
            if (event.kind == EventKind::Recv) receives.push_back({event.other, one.core, id});
        }
        const auto by_pair = [](const End& a, const End& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; };
        std::stable_sort(sends.begin(), sends.end(), by_pair);
        std::stable_sort(receives.begin(), receives.end(), by_pair);
        for (std::size_t at = 0; at < std::max(sends.size(), receives.size()); ++at) {
            const bool both = at < sends.size() && at < receives.size();
            if (!both || sends[at].from != receives[at].from || sends[at].to != receives[at].to) {
                throw Unavailable{"cores repeat at different rates: a round sends more or fewer messages than its receivers' rounds take"};
            }
            occurrences_[sends[at].occurrence].partner = receives[at].occurrence;
            occurrences_[receives[at].occurrence].partner = sends[at].occurrence;
        }
    }

    /// What follows an activity that ends at an instant after `end`: until noticed, retired, and the next start.
    [[nodiscard]] Picoseconds after(Picoseconds end, bool late) const {
        if (!program_.model.issue) return end;
        return end + (late && aligned_ ? 3 : 2) * period_;
    }

    void connect_core(std::uint32_t core) {
        const CoreAccount& account = program_.accounts[core];
        if (!account.has_program) return;
        const std::uint32_t start = add_node(InstantKind::CoreStart, core, no_id);
        core_ = core;
        ready_ = {start, 0};
        switch_ = {};
        first_switch_ = no_id;
        const EventList& list = program_.lists[core].any_pass;
        std::uint32_t occurrence = first_occurrence_[core];
        for (std::uint32_t segment = list.begin; segment < list.end; ++segment) {
            const QueueSegment& part = program_.segments[segment];
            ready_.offset += part.lead;
            for (std::uint32_t trip = 0; trip < part.trip_count; ++trip) {
                for (std::uint32_t event = part.first; event < part.last; ++event) connect(occurrences_[occurrence++]);
                ready_.offset += part.tail;
            }
        }
        add_edge(ready_.node, start, ready_.offset + list.tail, EdgeKind::Restart, 1);
        if (first_switch_ != no_id) add_edge(switch_.node, first_switch_, switch_.offset, EdgeKind::Restart, 1);
    }

    /// The core's next message, ready at `issued`, through its switch: arrives at `node` after `duration`.
    void through_switch(std::uint32_t node, Picoseconds issued, Picoseconds duration) {
        add_edge(ready_.node, node, ready_.offset + issued + duration, EdgeKind::Order);
        if (!program_.model.network_queues) return;
        if (switch_.node == no_id) {
            first_switch_ = add_node(InstantKind::SwitchStart, core_, no_id);
            switch_ = {first_switch_, 0};
        }
        add_edge(switch_.node, node, switch_.offset + duration, EdgeKind::Queue);
    }

    void connect(const Occurrence& one) {
        const QueueEvent& event = program_.events[one.event];
        ready_.offset += event.lead;
        switch (event.kind) {
            case EventKind::Send: {
                const std::uint32_t permitted = occurrences_[one.partner].node;
                const std::uint32_t delivered = one.node + 1;
                through_switch(one.node, 0, event.c);
                if (program_.model.network_queues) add_edge(one.node, delivered, request_hold + event.b, EdgeKind::Queue);
                add_edge(permitted, delivered, event.a + event.b, EdgeKind::Link);
                switch_ = {delivered, 0};
                ready_ = {permitted, after(event.a, event.late)};
                break;
            }
            case EventKind::Recv: {
                const std::uint32_t requested = occurrences_[one.partner].node;
                add_edge(requested, one.node, event.b, EdgeKind::Link);
                through_switch(one.node, 0, event.b);
                switch_ = {one.node, 0};
                ready_ = {requested + 1, after(event.a, event.late)};
                break;
            }
            case EventKind::Load:
                through_switch(one.node, 0, event.b + event.c);
                switch_ = {one.node, 0};
                ready_ = {one.node, after(event.a, event.late)};
                break;
            case EventKind::Store:
                through_switch(one.node, event.a, event.b + event.c);
                switch_ = {one.node, 0};
                ready_ = {one.node, after(0, event.late)};
                break;
            case EventKind::Sync:
                through_switch(one.node, 0, event.b);
                switch_ = {one.node, 0};
                ready_.offset += program_.model.issue ? 4 * period_ : period_;
                break;
            case EventKind::Wait:
                // It begins on an edge, where it is noticed late; what ends it may come between edges.
                add_edge(ready_.node, one.node, ready_.offset + (program_.model.issue ? 3 * period_ : 0), EdgeKind::Order);
                ready_ = {one.node, 0};
                break;
        }
    }

    /// A counter's waits take its tokens in order. With one producer the order is that of its syncs; with several only a wait for the last
    /// token of the round is known: it comes after all of them.
    void connect_tokens() {
        struct Place {
            std::uint32_t slot, occurrence;
        };
        std::vector<Place> posts;
        std::vector<Place> waits;
        for (std::uint32_t id = 0; id < occurrences_.size(); ++id) {
            const QueueEvent& event = program_.events[occurrences_[id].event];
            if (event.kind == EventKind::Sync) posts.push_back({event.other, id});
            if (event.kind == EventKind::Wait) waits.push_back({event.other, id});
        }
        const auto by_slot = [](const Place& a, const Place& b) { return a.slot < b.slot; };
        std::stable_sort(posts.begin(), posts.end(), by_slot);
        std::stable_sort(waits.begin(), waits.end(), by_slot);
        std::size_t first_post = 0;
        for (std::size_t first = 0; first < waits.size();) {
            const std::uint32_t slot = waits[first].slot;
            while (first_post < posts.size() && posts[first_post].slot < slot) ++first_post;
            std::size_t last_post = first_post;
            while (last_post < posts.size() && posts[last_post].slot == slot) ++last_post;
            std::size_t last = first;
            std::uint64_t taken = 0;
            for (; last < waits.size() && waits[last].slot == slot; ++last) {
                const std::int32_t count = program_.events[occurrences_[waits[last].occurrence].event].count;
                if (count < 0) throw Unavailable{fmt::format("core {} waits for less than nothing", program_.slots[slot].core)};
                if (count == 0) continue;
                taken += static_cast<std::uint64_t>(count);
                if (taken > last_post - first_post) throw Unavailable{"cores repeat at different rates: a round waits for more tokens than rounds post"};
                connect_wait(waits[last].occurrence, slot, first_post, taken, last_post, posts);
            }
            if (taken != last_post - first_post) throw Unavailable{"cores repeat at different rates: a round posts more tokens than rounds wait for"};
            first = last;
        }
    }

    void connect_wait(std::uint32_t wait, std::uint32_t slot, std::size_t first_post, std::uint64_t taken, std::size_t last_post, const auto& posts) {
        const Picoseconds noticed = after(0, true);
        const auto join = [&](std::size_t post) { add_edge(occurrences_[posts[post].occurrence].node, occurrences_[wait].node, noticed, EdgeKind::Token); };
        if (!program_.slots[slot].many_producers) return join(first_post + taken - 1);
        const bool all = taken == last_post - first_post;
        if (all && result_.sound) result_.remarks.emplace_back("counters with several producers: no token of a later round is taken to come first");
        if (!all && result_.exact) result_.remarks.emplace_back("counters with several producers: which token ends a wait for some of them is not known");
        result_.sound = result_.sound && !all;
        result_.exact = false;
        for (std::size_t post = first_post; all && post < last_post; ++post) join(post);
    }

    const QueueProgram& program_;
    Picoseconds period_;
    std::uint64_t node_limit_;
    bool aligned_ = true;
    std::vector<Occurrence> occurrences_;
    std::vector<std::uint32_t> first_occurrence_;   // by core
    std::uint32_t core_ = 0;
    Moment ready_;
    Moment switch_;
    std::uint32_t first_switch_ = no_id;
    EventGraph result_;
};

}  // namespace

EventGraph event_graph(const QueueProgram& program, std::uint64_t node_limit) { return GraphBuilder(program, node_limit).build(); }

const char* name_of(InstantKind kind) {
    switch (kind) {
        case InstantKind::CoreStart: return "core start";
        case InstantKind::SwitchStart: return "switch start";
        case InstantKind::Requested: return "requested";
        case InstantKind::Permitted: return "permitted";
        case InstantKind::Delivered: return "delivered";
        case InstantKind::Served: return "served";
        case InstantKind::Posted: return "posted";
        case InstantKind::Taken: return "taken";
    }
    return "unknown";
}

const char* name_of(EdgeKind kind) {
    switch (kind) {
        case EdgeKind::Order: return "order";
        case EdgeKind::Queue: return "switch queue";
        case EdgeKind::Link: return "link";
        case EdgeKind::Token: return "token";
        case EdgeKind::Restart: return "restart";
        case EdgeKind::Ready: return "ready";
        case EdgeKind::Free: return "free";
        case EdgeKind::Transfer: return "transfer";
        case EdgeKind::Memory: return "memory";
    }
    return "unknown";
}

}  // namespace weft
