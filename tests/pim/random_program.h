#pragma once

#include <algorithm>
#include <random>
#include <utility>

#include "example_target.h"
#include "program_builder.h"

namespace weft::test {

/// Random programs that are legal because every action is added to all its cores at once, in one chip-wide order, and tokens
/// are posted before they are awaited. Draws only from the raw engine, so that every standard library gives the same ones.
class RandomProgram {
public:
    explicit RandomProgram(std::uint64_t seed) : engine_(seed) {}

    /// `cores` cores; about `actions` actions, some in loops.
    TestProgram make(std::uint32_t cores, std::uint32_t actions) {
        cores_ = cores;
        program_.assign(cores, {});
        for (auto& runs : program_) runs.push_back({{setbw(), sldi(2, 0), sldi(4, 4096)}, 1});
        while (actions > 0) {
            const std::uint32_t block = 1 + below(std::min<std::uint32_t>(actions, 12));
            add_block(block, below(3) == 0 ? 2 + below(6) : 1);
            actions -= block;
        }
        for (auto& runs : program_) runs.push_back({{sized(Opcode::Vvadd, static_cast<std::int32_t>(1 + below(64)))}, 1});
        return std::exchange(program_, {});
    }

    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }

    /// Turns the last target into one with clocks that do not divide one another, uneven links, wider or narrower memories.
    TargetColumns target(std::uint32_t cores) {
        TargetColumns result = example_target(cores);
        const std::uint32_t periods[] = {1'000'000, 1'000'000, 2'000'000, 1'500'000, 781'250};
        result.core.period_fs = periods[below(5)];
        result.core.local_period_fs = periods[below(5)];
        result.core.matrix_period_fs = periods[below(5)];
        result.memory.period_fs = periods[below(5)];
        result.core.local_data_width_bytes = 16U << below(3);
        result.core.local_read_cycles = 1 + below(4);
        result.core.local_write_cycles = 1 + below(4);
        result.memory.read_cycles = 1 + below(6);
        result.memory.write_cycles = 1 + below(6);
        for (auto& link : result.link_latency_ps) link = link == 0 ? 0 : 1000 * (1 + below(20)) + 500 * below(2);
        return result;
    }

private:
    std::int32_t size() { return static_cast<std::int32_t>(below(4) == 0 ? below(8) * 64 : below(600)); }

    void add_block(std::uint32_t actions, std::uint32_t trip_count) {
        blocks_.assign(cores_, {});
        tokens_.clear();
        for (std::uint32_t action = 0; action < actions; ++action) add_action();
        while (!tokens_.empty()) await_tokens();
        for (std::uint32_t core = 0; core < cores_; ++core) {
            if (!blocks_[core].empty()) program_[core].push_back({std::move(blocks_[core]), trip_count});
        }
    }

    void add_action() {
        const std::uint32_t core = below(cores_);
        switch (below(cores_ > 1 ? 12 : 6)) {
            case 0: blocks_[core].push_back(sized(below(2) == 0 ? Opcode::Lmv : Opcode::Lldi, size())); break;
            case 1: blocks_[core].push_back(scalar()); break;
            case 2: blocks_[core].push_back(vector()); break;
            case 3: blocks_[core].push_back(below(4) == 0 ? mvmul() : vector()); break;
            case 4: blocks_[core].push_back(sized(Opcode::Ld, size())); break;
            case 5: blocks_[core].push_back(sized(Opcode::St, size())); break;
            case 6:
            case 7:
            case 8: add_message(core); break;
            case 9:
            case 10: post_token(core); break;
            default: await_tokens(); break;
        }
    }

    /// All instructions that never enter the reorder buffer and are no traps; setbw changes what follows.
    Instruction scalar() {
        Instruction result;
        switch (below(8)) {
            case 0: return setbw(below(2) == 0 ? 8 : 16, below(2) == 0 ? 8 : 16);
            case 1: result = row(Opcode::Saddi); break;
            case 2: result = row(Opcode::Smuli); break;
            default: return sldi(2, static_cast<std::int32_t>(below(4096)));
        }
        result.rd = 8;
        result.rs1 = 2;
        result.immediate = static_cast<std::int32_t>(below(100));
        return result;
    }

    Instruction vector() {
        const Opcode ops[] = {Opcode::Vvadd, Opcode::Vvsub, Opcode::Vvmul, Opcode::Vvdmul, Opcode::Vvmax, Opcode::Vvsll, Opcode::Vvsra, Opcode::Vavg,
                              Opcode::Vrelu, Opcode::Vtanh, Opcode::Vsigm, Opcode::Vmv,    Opcode::Vrsu,  Opcode::Vrsl};
        return sized(ops[below(14)], size());
    }

    void add_message(std::uint32_t from) {
        std::uint32_t to = below(cores_ - 1);
        if (to >= from) ++to;
        const std::int32_t bytes = size();
        blocks_[from].push_back(message(Opcode::Send, to, bytes));
        blocks_[to].push_back(message(Opcode::Recv, from, bytes));
    }

    void post_token(std::uint32_t from) {
        const std::uint32_t to = below(cores_);
        const std::uint32_t event_register = below(3);
        blocks_[from].push_back(sync(to, event_register));
        tokens_.emplace_back(to, event_register);
    }

    /// The first posted register's tokens are awaited, all at once or one by one.
    void await_tokens() {
        if (tokens_.empty()) return;
        const auto wanted = tokens_.front();
        const auto kept = std::stable_partition(tokens_.begin(), tokens_.end(), [&](const auto& token) { return token != wanted; });
        const auto count = static_cast<std::int32_t>(tokens_.end() - kept);
        tokens_.erase(kept, tokens_.end());
        if (below(2) == 0) {
            blocks_[wanted.first].push_back(wait(wanted.second, count));
        } else {
            for (std::int32_t token = 0; token < count; ++token) blocks_[wanted.first].push_back(wait(wanted.second, 1));
        }
    }

    std::mt19937_64 engine_;
    std::uint32_t cores_ = 0;
    TestProgram program_;
    std::vector<std::vector<Instruction>> blocks_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> tokens_;
};

/// Damages one communication instruction: exchanged with its neighbour, dropped, or its count changed. False where the program
/// has none.
inline bool mutate(TestProgram& program, RandomProgram& random) {
    struct Place {
        std::size_t core, run, instruction;
    };
    std::vector<Place> places;
    for (std::size_t core = 0; core < program.size(); ++core) {
        for (std::size_t run = 0; run < program[core].size(); ++run) {
            for (std::size_t at = 0; at < program[core][run].body.size(); ++at) {
                if (program[core][run].body[at].op >= static_cast<std::uint8_t>(Opcode::Send)) places.push_back({core, run, at});
            }
        }
    }
    if (places.empty()) return false;
    const Place place = places[random.below(static_cast<std::uint32_t>(places.size()))];
    auto& body = program[place.core][place.run].body;
    Instruction& chosen = body[place.instruction];
    const std::uint32_t kind = random.below(3);
    if (kind == 0 && body.size() > 1) {
        std::swap(chosen, body[place.instruction + 1 < body.size() ? place.instruction + 1 : place.instruction - 1]);
    } else if (kind == 1 && static_cast<Opcode>(chosen.op) == Opcode::Wait) {
        chosen.offset_value += random.below(2) == 0 ? 1 : -1;
    } else {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(place.instruction));
    }
    return true;
}

}  // namespace weft::test
