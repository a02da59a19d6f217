#include "pim/reader_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace weft {
namespace {

constexpr std::array<std::string_view, 33> mnemonics = {
    "nop",   "sldi",  "sld",   "sadd",  "ssub", "smul",  "saddi", "smuli", "setbw",    "mvmul", "vvadd",
    "vvsub", "vvmul", "vvdmul", "vvmax", "vvsll", "vvsra", "vavg",  "vrelu", "vtanh",    "vsigm", "vsoftmax",
    "vmv",   "vrsu",  "vrsl",  "ld",    "st",   "lldi",  "lmv",   "send",  "recv",     "wait",  "sync"};

constexpr std::int32_t register_count = 32;
constexpr std::int32_t event_register_count = 32;
constexpr std::int32_t core_count_limit = 1 << 15;

bool is_vector(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vrsl; }

/// Length and up to eight characters of a word. For words of at most eight characters, equal numbers are equal words.
struct ShortWord {
    std::uint64_t characters = 0;
    std::size_t size = 0;
    bool operator==(const ShortWord&) const = default;

    constexpr ShortWord() = default;
    constexpr explicit ShortWord(std::string_view word) : size(word.size()) {
        if (size >= 4) {
            characters = four(word.data()) | four(word.data() + size - 4) << 32U;   // the first and the last: all, or all but some in the middle
        } else {
            for (const char letter : word) characters = characters << 8U | static_cast<unsigned char>(letter);
        }
    }
    [[nodiscard]] constexpr std::uint64_t hash() const { return (characters + size) * 0x9e3779b97f4a7c15ULL; }

private:
    static constexpr std::uint64_t four(const char* at) {
        std::uint64_t number = 0;
        for (unsigned i = 0; i < 4; ++i) number |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);   // one load
        return number;
    }
};

/// Words of a fixed list to their places: one probe for almost every word, one comparison to be sure.
template <std::size_t Count>
class WordTable {
public:
    static constexpr std::size_t absent = Count;

    constexpr explicit WordTable(const std::array<std::string_view, Count>& words) {
        for (std::size_t word = 0; word < Count; ++word) {
            const ShortWord key(words[word]);
            std::size_t slot = key.hash() >> shift;
            while (slots_[slot].place != Count) slot = (slot + 1) % slots_.size();
            slots_[slot] = {key, words[word], word};
        }
    }

    [[nodiscard]] std::size_t find(std::string_view word) const {
        const ShortWord key(word);
        for (std::size_t slot = key.hash() >> shift; slots_[slot].place != Count; slot = (slot + 1) % slots_.size()) {
            if (slots_[slot].key == key && (key.size <= 8 || slots_[slot].word == word)) return slots_[slot].place;
        }
        return absent;
    }

private:
    static constexpr unsigned shift = 64 - 8;
    struct Slot {
        ShortWord key;
        std::string_view word;
        std::size_t place = Count;
    };
    std::array<Slot, 256> slots_{};
};

constexpr WordTable<mnemonics.size()> mnemonic_table(mnemonics);
constexpr std::size_t no_op = mnemonic_table.absent;

/// The members of one instruction object, whatever their order.
struct RawInstruction {
    std::size_t op = no_op;
    std::int32_t rd = 0, rs1 = 0, rs2 = 0, imm = 0, offset_value = 0, offset_select = 0, ibiw = 0, obiw = 0, mbiw = 0, group = 0;
    std::int32_t relu = 0, len = 0, size = 0, core = 0, event_register = 0, wait_value = 0;

    std::int32_t* field(std::string_view key) {
        static constexpr std::array<std::string_view, 16> keys = {"rd",   "rs1",  "imm",  "rs2",  "len",  "size",           "core",      "offset_value", "offset_select",
                                                                  "group", "mbiw", "relu", "ibiw", "obiw", "event_register", "wait_value"};
        static constexpr std::array<std::int32_t RawInstruction::*, 16> members = {
            &RawInstruction::rd,   &RawInstruction::rs1,  &RawInstruction::imm,  &RawInstruction::rs2,  &RawInstruction::len,           &RawInstruction::size,
            &RawInstruction::core, &RawInstruction::offset_value, &RawInstruction::offset_select, &RawInstruction::group, &RawInstruction::mbiw, &RawInstruction::relu,
            &RawInstruction::ibiw, &RawInstruction::obiw, &RawInstruction::event_register, &RawInstruction::wait_value};
        static constexpr WordTable<keys.size()> table(keys);
        const std::size_t place = table.find(key);
        return place == table.absent ? nullptr : &(this->*members[place]);
    }
};

/// Where an instruction stands, for messages.
struct Place {
    JsonCursor& json;
    std::size_t core;
    std::size_t instruction;
};

std::string unknown_register(std::int32_t number) { return fmt::format("register {} does not exist (0..31)", number); }

std::uint8_t register_number(const Place& place, std::int32_t value, std::size_t op) {
    if (value < 0 || value >= register_count) fail_instruction({unknown_register(value), true}, place.json.file(), place.core, place.instruction, mnemonics[op]);
    return static_cast<std::uint8_t>(value);
}

std::size_t opcode_of(JsonCursor& json, std::string_view name) {
    const std::size_t found = mnemonic_table.find(name);
    if (found == no_op) json.fail(fmt::format("unknown instruction '{}'", name));
    return found;
}

Instruction to_instruction(const Place& place, const RawInstruction& raw) {
    if (raw.op == no_op) place.json.fail("unknown instruction ''");
    const auto op = static_cast<Opcode>(raw.op);
    Instruction result;
    result.op = static_cast<std::uint8_t>(op);
    result.rd = register_number(place, raw.rd, raw.op);
    result.rs1 = register_number(place, raw.rs1, raw.op);
    result.rs2 = register_number(place, raw.rs2, raw.op);
    result.offset_select = raw.offset_select;
    result.offset_value = raw.offset_value;
    if (op == Opcode::Setbw) {
        result.immediate = raw.ibiw;
        result.length = raw.obiw;
    } else if (op == Opcode::Mvmul) {
        result.immediate = raw.mbiw;
        result.length = raw.group;
        result.offset_value = raw.relu;
    } else if (is_vector(op) || op == Opcode::Lldi) {
        result.immediate = op == Opcode::Lldi ? raw.imm : 0;
        result.length = raw.len;
    } else if (op == Opcode::Lmv) {
        result.immediate = raw.size;   // what the hazard check of larger reorder buffers looks at
        result.length = raw.len;
    } else if (op == Opcode::Ld || op == Opcode::St) {
        result.length = raw.size;
    } else if (op == Opcode::Send || op == Opcode::Recv) {
        result.immediate = raw.core;
        result.length = raw.size;
    } else if (op == Opcode::Sync) {
        result.immediate = raw.core;
        result.length = raw.event_register;
    } else if (op == Opcode::Wait) {
        result.length = raw.event_register;
        result.offset_value = raw.wait_value;
    } else {
        result.immediate = raw.imm;
    }
    return result;
}

void parse_group_list(JsonCursor& json, ProgramConfig::CoreGroups& groups) {
    groups.present = true;
    groups.crossbars.clear();
    json.array([&] {
        const std::int32_t crossbars = json.integer();
        if (crossbars < 1) json.fail(fmt::format("an array group of {} crossbars; at least one is needed", crossbars));
        groups.crossbars.push_back(static_cast<std::uint32_t>(crossbars));
    });
}

}  // namespace

std::string_view mnemonic(Opcode op) {
    const auto code = static_cast<std::size_t>(op);
    return code < mnemonics.size() ? mnemonics[code] : "?";
}

InstructionProblem instruction_problem(const Instruction& instruction, InstructionLimits limits) {
    const auto op = static_cast<Opcode>(instruction.op);
    const auto trap = [](std::string text) { return InstructionProblem{std::move(text), true}; };
    const auto malformed = [](std::string text) { return InstructionProblem{std::move(text), false}; };
    if (op == Opcode::Vsoftmax) return malformed("vsoftmax is not supported by the simulator");
    if (op > Opcode::Sync) return malformed(fmt::format("opcode {} does not exist", instruction.op));
    for (const auto number : {instruction.rd, instruction.rs1, instruction.rs2}) {
        if (number >= register_count) return trap(unknown_register(number));
    }
    const bool pair_in_rs1 = op == Opcode::Ld || op == Opcode::Sld;
    if ((pair_in_rs1 && instruction.rs1 == 31) || (op == Opcode::St && instruction.rd == 31)) return trap("a register pair cannot start at r31");
    const bool names_core = op == Opcode::Send || op == Opcode::Recv || op == Opcode::Sync;
    if (names_core && (instruction.immediate < 0 || static_cast<std::size_t>(instruction.immediate) >= limits.cores)) {
        return trap(fmt::format("there is no core {} (the program has {})", instruction.immediate, limits.cores));
    }
    const bool names_event = op == Opcode::Wait || op == Opcode::Sync;
    if (names_event && (instruction.length < 0 || instruction.length >= event_register_count)) {
        return trap(fmt::format("event register {} does not exist (0..31)", instruction.length));
    }
    if (op == Opcode::Mvmul) {
        if (instruction.immediate <= 0) return trap(fmt::format("a weight width of {} bits divides by zero", instruction.immediate));
        if (instruction.length < 0 || static_cast<std::size_t>(instruction.length) >= limits.groups) {
            return malformed(fmt::format("there is no array group {} (the core has {})", instruction.length, limits.groups));
        }
    }
    if (op == Opcode::Setbw) {
        const auto impossible = [](std::int32_t bits) { return bits < 0 || bits > 64; };
        if (impossible(instruction.immediate) || impossible(instruction.length)) return malformed("a bit width outside 0..64");
    }
    if (instruction.length < 0) return malformed(fmt::format("a negative length, {}", instruction.length));
    return {};
}

void fail_instruction(const InstructionProblem& problem, std::string_view file, std::size_t core, std::size_t instruction, std::string_view mnemonic) {
    if (problem.is_trap) refuse("{}: core {}, instruction {} ({}): {}; the simulator would crash, hang or corrupt its memory", file, core, instruction, mnemonic, problem.text);
    bad_input("{}: core {}, instruction {} ({}): {}", file, core, instruction, mnemonic, problem.text);
}

void check_core_instructions(std::span<const Instruction> instructions, InstructionLimits limits, std::string_view file, std::size_t core) {
    for (std::size_t at = 0; at < instructions.size(); ++at) {
        const InstructionProblem problem = instruction_problem(instructions[at], limits);
        if (!problem.text.empty()) fail_instruction(problem, file, core, at, mnemonic(static_cast<Opcode>(instructions[at].op)));
    }
}

void parse_config(JsonCursor& json, ProgramConfig& config) {
    json.object([&](std::string_view key) {
        if (key == "core_cnt") {
            config.core_count = json.integer();
            if (config.core_count < 1 || config.core_count > core_count_limit) json.fail(fmt::format("core_cnt {} is impossible (1..32768)", config.core_count));
        } else if (key == "array_group_map") {
            json.object([&](std::string_view core_key) {
                std::size_t core = 0;
                const std::string_view digits = core_key.substr(0, 4) == "core" ? core_key.substr(4) : std::string_view{};
                const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), core);
                const bool known = error == std::errc() && !digits.empty() && stop == digits.data() + digits.size() && core < core_count_limit;
                if (!known) return json.skip();
                if (core >= config.groups.size()) config.groups.resize(core + 1);
                parse_group_list(json, config.groups[core]);
            });
        } else {
            json.skip();
        }
    });
}

void parse_json_core(JsonCursor& json, std::size_t core, std::vector<Instruction>& instructions) {
    RawInstruction raw;
    const std::size_t first = instructions.size();
    const auto member = [&](std::string_view key) {
        if (key == "op") {
            raw.op = opcode_of(json, json.string());
        } else if (key == "offset") {
            json.object([&](std::string_view inner) {
                if (inner == "offset_value") raw.offset_value = json.integer();
                else if (inner == "offset_select") raw.offset_select = json.integer();
                else json.skip();
            });
        } else if (std::int32_t* field = raw.field(key); field != nullptr) {
            *field = json.integer();
        } else {
            json.skip();
        }
    };
    json.array([&] {
        raw = RawInstruction{};
        json.object(member);
        instructions.push_back(to_instruction({json, core, instructions.size() - first}, raw));
    });
}

}  // namespace weft
