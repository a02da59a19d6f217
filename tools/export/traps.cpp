#include "export/traps.h"

#include <algorithm>
#include <array>

#include "export/opcode.h"

namespace weft {
namespace {

constexpr std::uint32_t register_count = 32;
constexpr std::int32_t event_register_count = 32;

/// A round may not exchange more messages than this: the search for unmatched ones lists them all.
constexpr std::uint64_t message_limit = std::uint64_t{1} << 27U;

/// One message as one of its ends sees it.
struct Message {
    std::uint32_t source;
    std::uint32_t destination;
    std::int32_t bytes;
    bool operator==(const Message&) const = default;
    [[nodiscard]] std::uint64_t pair() const { return (std::uint64_t{source} << 32U) | destination; }
};

/// Tokens given to or taken from one event register of one core per round.
struct Tokens {
    std::uint32_t core;
    std::int32_t event;
    std::int64_t count;
};

class TrapSearch {
public:
    TrapSearch(const Program& program, const Target& target, ExportFormat format, std::size_t limit)
        : program_(program), target_(target), format_(format), limit_(limit) {
        cores_ = static_cast<std::uint32_t>(program.core_first_run.size()) - 1;
    }

    std::vector<std::string> run() && {
        check_chip();
        for (core_ = 0; core_ < cores_; ++core_) {
            check_groups();
            if (!is_idle(core_)) check_core();
        }
        check_messages();
        check_tokens();
        return std::move(traps_);
    }

private:
    template <class... Args>
    void report(fmt::format_string<Args...> text, Args&&... args) {
        if (traps_.size() < limit_) traps_.push_back(fmt::format(text, std::forward<Args>(args)...));
    }

    /// A trap of the instruction at hand.
    template <class... Args>
    void trap(fmt::format_string<Args...> text, Args&&... args) {
        const Instruction& instruction = program_.instructions[row_];
        report("core {}, run {}, instruction {} ({}): {}", core_, run_ - program_.core_first_run[core_],
               row_ - program_.runs[run_].first_instruction, opcode_name(static_cast<Opcode>(instruction.op)),
               fmt::format(text, std::forward<Args>(args)...));
    }

    [[nodiscard]] bool is_idle(std::uint32_t core) const { return program_.core_first_run[core] == program_.core_first_run[core + 1]; }

    [[nodiscard]] std::uint32_t group_count(std::uint32_t core) const {
        return program_.core_first_group[core + 1] - program_.core_first_group[core];
    }

    void check_chip() {
        if (cores_ == 0 || cores_ > target_.core_count) report("the program has {} cores, the chip {}", cores_, target_.core_count);
        bool any = false;
        for (std::uint32_t core = 0; core < cores_; ++core) any = any || !is_idle(core);
        if (!any) report("every core's program is empty");
    }

    void check_groups() {
        std::uint64_t sum = 0;
        for (std::uint32_t group = program_.core_first_group[core_]; group < program_.core_first_group[core_ + 1]; ++group) {
            const std::uint32_t crossbars = program_.groups[group].crossbars;
            if (crossbars == 0) report("core {}, group {}: no crossbars", core_, group - program_.core_first_group[core_]);
            sum += crossbars;
        }
        if (sum > target_.core.crossbar_count) {
            report("core {}: {} crossbars in its groups, the chip has {} per core", core_, sum, target_.core.crossbar_count);
        }
    }

    void check_core() {
        std::uint64_t executed = 0;
        Opcode last = Opcode::Nop;
        for (run_ = program_.core_first_run[core_]; run_ < program_.core_first_run[core_ + 1]; ++run_) {
            const Run& run = program_.runs[run_];
            const std::size_t first_sent = sent_.size();
            const std::size_t first_received = received_.size();
            for (std::uint32_t index = 0; index < run.instruction_count; ++index) {
                row_ = run.first_instruction + index;
                const Instruction& instruction = program_.instructions[row_];
                if (instruction.op >= opcode_count) {
                    report("core {}, instruction row {}: unknown operation {}", core_, row_, instruction.op);
                    continue;
                }
                last = static_cast<Opcode>(instruction.op);
                if (executed == 0 && index == 0 && last != Opcode::Setbw) trap("a core's program must begin with setbw");
                check_instruction(instruction, last, run.trip_count);
            }
            executed += std::uint64_t{run.instruction_count} * run.trip_count;
            repeat_messages(sent_, first_sent, run.trip_count);
            repeat_messages(received_, first_received, run.trip_count);
        }
        if (executed < 2) report("core {}: a program of one instruction never counts its rounds", core_);
        if (!is_unit(last)) {
            report("core {}: the last instruction is {}; a core whose program does not end with a matrix, vector or transfer instruction never finishes",
                   core_, opcode_name(last));
        }
    }

    void check_instruction(const Instruction& instruction, Opcode op, std::uint32_t repetitions) {
        check_operation(instruction, op);
        check_registers(instruction, op);
        if (op == Opcode::Setbw && (instruction.immediate <= 0 || instruction.length <= 0)) trap("bit widths must be positive");
        if (op == Opcode::Mvmul) {
            if (instruction.immediate <= 0) trap("weights of {} bits", instruction.immediate);
            if (instruction.length < 0 || static_cast<std::uint32_t>(instruction.length) >= group_count(core_)) {
                trap("group {} of {}", instruction.length, group_count(core_));
            }
        }
        const bool has_offset = (is_vector(op) || is_transfer(op)) && op != Opcode::Wait;
        if (has_offset && (instruction.offset_select != 0 || instruction.offset_value != 0)) {
            trap("offsets are honoured wrongly by the simulator; put whole addresses into registers");
        }
        if ((is_vector(op) || is_transfer_with_size(op)) && instruction.length < 0) trap("a length of {}", instruction.length);
        if (op == Opcode::Wait || op == Opcode::Sync) check_event(instruction, op, repetitions);
        if (names_other_core(op)) check_other_core(instruction, op);
    }

    void check_operation(const Instruction& instruction, Opcode op) {
        if (op == Opcode::Nop) trap("nop crashes or blocks the simulator");
        if (op == Opcode::Sld) trap("sld loads nothing in the simulator; use sldi");
        if (op == Opcode::Vsoftmax && format_ != ExportFormat::native_json) trap("the simulator rejects vsoftmax");
        const bool two_sources = op == Opcode::Sadd || op == Opcode::Ssub || op == Opcode::Smul;
        const bool one_source = op == Opcode::Saddi || op == Opcode::Smuli;
        if ((one_source || two_sources) && (instruction.rd == instruction.rs1 || (two_sources && instruction.rd == instruction.rs2))) {
            trap("r{} is both source and destination; stalled, it would be computed again and again", instruction.rd);
        }
        if (two_sources && instruction.rs2 != 0 && format_ == ExportFormat::pimsim_binary) {
            trap("the binary format cannot hold r{} as second source; use --format pimsim-json", instruction.rs2);
        }
    }

    void check_registers(const Instruction& instruction, Opcode op) {
        for (const std::uint8_t number : {instruction.rd, instruction.rs1, instruction.rs2}) {
            if (number >= register_count) trap("register r{} of {}", number, register_count);
        }
        const std::uint8_t pair = op == Opcode::St ? instruction.rd : instruction.rs1;
        if ((op == Opcode::Ld || op == Opcode::St) && pair + 1U >= register_count) trap("r{} and its successor hold the global address", pair);
    }

    void check_event(const Instruction& instruction, Opcode op, std::uint32_t repetitions) {
        if (instruction.length < 0 || instruction.length >= event_register_count) {
            trap("event register {} of {}", instruction.length, event_register_count);
            return;
        }
        if (op == Opcode::Sync) {
            tokens_.push_back({static_cast<std::uint32_t>(instruction.immediate), instruction.length, repetitions});
            return;
        }
        if (instruction.offset_value < 1) trap("a wait for {} tokens never waits", instruction.offset_value);
        tokens_.push_back({core_, instruction.length, -std::int64_t{instruction.offset_value} * repetitions});
    }

    void check_other_core(const Instruction& instruction, Opcode op) {
        const auto other = static_cast<std::uint32_t>(instruction.immediate);
        if (instruction.immediate < 0 || other >= cores_) {
            trap("core {} does not exist ({} cores)", instruction.immediate, cores_);
        } else if (is_idle(other)) {
            trap("core {} is idle and will never answer", other);
        } else if (other == core_ && op != Opcode::Sync) {
            trap("a core that sends to itself waits forever");
        } else if (op == Opcode::Send) {
            sent_.push_back({core_, other, instruction.length});
        } else if (op == Opcode::Recv) {
            received_.push_back({other, core_, instruction.length});
        }
    }

    /// The messages from `first` on are one repetition of a run; append the others.
    void repeat_messages(std::vector<Message>& list, std::size_t first, std::uint32_t trip_count) {
        const std::uint64_t count = list.size() - first;
        if (count * trip_count + first > message_limit) {
            report("core {}: more than {} messages in a round", core_, message_limit);
            return;
        }
        list.reserve(first + count * trip_count);
        for (std::uint32_t repetition = 1; repetition < trip_count; ++repetition) {
            for (std::uint64_t index = 0; index < count; ++index) list.push_back(list[first + index]);
        }
    }

    /// Between two cores the k-th send meets the k-th recv, and both must have the same size.
    void check_messages() {
        const auto by_pair = [](const Message& a, const Message& b) { return a.pair() < b.pair(); };
        std::stable_sort(sent_.begin(), sent_.end(), by_pair);
        std::stable_sort(received_.begin(), received_.end(), by_pair);
        auto send = sent_.begin();
        auto receive = received_.begin();
        while (send != sent_.end() || receive != received_.end()) {
            const std::uint64_t pair = send == sent_.end()            ? receive->pair()
                                       : receive == received_.end() ? send->pair()
                                                                    : std::min(send->pair(), receive->pair());
            const auto last_of_pair = [&](const Message& message) { return message.pair() > pair; };
            const auto send_end = std::find_if(send, sent_.end(), last_of_pair);
            const auto receive_end = std::find_if(receive, received_.end(), last_of_pair);
            compare_pair({send, send_end}, {receive, receive_end}, pair);
            send = send_end;
            receive = receive_end;
        }
    }

    void compare_pair(std::span<const Message> sent, std::span<const Message> received, std::uint64_t pair) {
        const auto source = static_cast<std::uint32_t>(pair >> 32U);
        const auto destination = static_cast<std::uint32_t>(pair);
        if (sent.size() != received.size()) {
            report("core {} sends {} messages to core {} in a round, which receives {} from it", source, sent.size(), destination,
                   received.size());
            return;
        }
        const auto [send, receive] = std::mismatch(sent.begin(), sent.end(), received.begin());
        if (send == sent.end()) return;
        report("message {} from core {} to core {} is sent with {} bytes and received with {}", send - sent.begin(), source, destination,
               send->bytes, receive->bytes);
    }

    void check_tokens() {
        std::vector<std::int64_t> balance(std::size_t{cores_} * event_register_count);
        for (const auto& tokens : tokens_) {
            if (tokens.core < cores_) balance[std::size_t{tokens.core} * event_register_count + static_cast<std::size_t>(tokens.event)] += tokens.count;
        }
        for (std::size_t index = 0; index < balance.size(); ++index) {
            if (balance[index] == 0) continue;
            report("core {}, event register {}: a round leaves {} tokens over; it must take as many as it is given",
                   index / event_register_count, index % event_register_count, balance[index]);
        }
    }

    const Program& program_;
    const Target& target_;
    ExportFormat format_;
    std::size_t limit_;
    std::uint32_t cores_ = 0;
    std::uint32_t core_ = 0;
    std::uint32_t run_ = 0;
    std::uint32_t row_ = 0;
    std::vector<Message> sent_;
    std::vector<Message> received_;
    std::vector<Tokens> tokens_;
    std::vector<std::string> traps_;
};

}  // namespace

std::vector<std::string> find_traps(const Program& program, const Target& target, ExportFormat format, std::size_t limit) {
    return TrapSearch(program, target, format, limit).run();
}

}  // namespace weft
