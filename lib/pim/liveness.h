#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"
#include "base/id.h"

namespace weft {

/// A communication instruction that never completes.
struct BlockedCore {
    CoreId core;
    std::uint32_t generation = 0;      ///< passes over the core's list completed before
    std::uint64_t position = 0;        ///< index among the instructions that one pass executes
    std::uint32_t instruction = 0;     ///< row of Program::instructions
    Opcode op = Opcode::Nop;
    CoreId peer;                       ///< send, recv: the other core; wait: none
    std::uint32_t event_register = 0;  ///< wait
    std::int64_t wanted = 0;           ///< wait: tokens
    std::int64_t present = 0;          ///< wait: tokens that have come
    std::vector<CoreId> waits_for;     ///< who would have to act, ascending
};

/// An instruction that the chip cannot execute at all, for example a message to a core without a program.
struct LivenessFault {
    CoreId core;
    std::uint32_t instruction = 0;
    std::string what;
};

struct LivenessReport {
    bool live = true;
    std::vector<LivenessFault> faults;
    std::vector<BlockedCore> blocked;  ///< by core; empty where there are faults
    /// Shortest cycle of `blocked` rows in which each waits for the next; where there is none (a partner has no such
    /// instruction left), one row: the first that waits for such a partner.
    std::vector<std::uint32_t> cycle;

    /// For people: cycle, partners that have finished, number of blocked cores. Empty where live.
    [[nodiscard]] std::string text() const;
};

/// Whether every core completes `generations` passes over its list, back to back and without barriers, under the blocking
/// rules of the `pim` family: send and recv are a rendezvous without buffering, sync adds a token to one of the receiver's
/// counters, wait(v) takes v tokens when that many are there. Nothing but the order of these decides: a token or a partner
/// that is there stays until taken by its only taker, so that every order of execution ends the same way.
///
/// `run_ahead`: cores may complete that many passes more where others need it, for programs whose cores repeat at different
/// rates (one consumes in a pass what another makes in five).
///
/// Linear in executed communication instructions; local instructions are only scanned once. Throws Failure(system) where more
/// than 2^32 of them would be executed.
[[nodiscard]] LivenessReport check_liveness(const Program& program, const Target& target, unsigned generations = 3, unsigned run_ahead = 0);

}  // namespace weft
