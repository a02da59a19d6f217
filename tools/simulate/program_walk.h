#pragma once

#include <cstdint>

#include "artifact/program.h"

namespace weft {

/// A place in one core's instruction list, repeated round after round.
class ProgramWalk {
public:
    ProgramWalk(const Program& program, std::size_t core)
        : program_(&program), first_run_(program.core_first_run[core]), last_run_(program.core_first_run[core + 1]), run_(first_run_) {
        for (std::size_t run = first_run_; run < last_run_; ++run) {
            size_ += std::uint64_t{program.runs[run].instruction_count} * program.runs[run].trip_count;
        }
        if (size_ != 0) skip_empty_runs();
    }

    /// Instructions in one round.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// Of the current instruction, counted through the unrolled list.
    [[nodiscard]] std::uint64_t position() const { return position_; }
    [[nodiscard]] std::uint64_t round() const { return round_; }
    /// Row of the current instruction.
    [[nodiscard]] std::size_t row() const { return program_->runs[run_].first_instruction + index_; }
    /// The current instruction, its immediate as this repetition has it.
    [[nodiscard]] Instruction current() const {
        Instruction instruction = program_->instructions[row()];
        const auto moved = static_cast<std::uint32_t>(instruction.immediate) + static_cast<std::uint32_t>(instruction.step) * trip_;
        instruction.immediate = static_cast<std::int32_t>(moved);
        return instruction;
    }

    void advance() {
        ++position_;
        const Run& run = program_->runs[run_];
        if (++index_ < run.instruction_count) return;
        index_ = 0;
        if (++trip_ < run.trip_count) return;
        trip_ = 0;
        ++run_;
        skip_empty_runs();
    }

private:
    void skip_empty_runs() {
        while (run_ < last_run_ && program_->runs[run_].instruction_count == 0) ++run_;
        if (run_ < last_run_) return;
        ++round_;
        position_ = 0;
        run_ = first_run_;
        while (program_->runs[run_].instruction_count == 0) ++run_;
    }

    const Program* program_;
    std::size_t first_run_;
    std::size_t last_run_;
    std::size_t run_;
    std::uint32_t trip_ = 0;
    std::uint32_t index_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t round_ = 0;
    std::uint64_t size_ = 0;
};

}  // namespace weft
