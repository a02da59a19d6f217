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

/// The members of one instruction object, whatever their order.
struct RawInstruction {
    std::string op;
    std::int32_t rd = 0, rs1 = 0, rs2 = 0, imm = 0, offset_value = 0, offset_select = 0, ibiw = 0, obiw = 0, mbiw = 0, group = 0;
    std::int32_t relu = 0, len = 0, size = 0, core = 0, event_register = 0, wait_value = 0;

    std::int32_t* field(std::string_view key) {
        struct Entry {
            std::string_view key;
            std::int32_t RawInstruction::*member;
        };
        // In order of frequency; a handful of comparisons of short texts each.
        static constexpr std::array<Entry, 16> entries = {{
            {"rd", &RawInstruction::rd}, {"rs1", &RawInstruction::rs1}, {"imm", &RawInstruction::imm}, {"rs2", &RawInstruction::rs2},
            {"len", &RawInstruction::len}, {"size", &RawInstruction::size}, {"core", &RawInstruction::core},
            {"offset_value", &RawInstruction::offset_value}, {"offset_select", &RawInstruction::offset_select},
            {"group", &RawInstruction::group}, {"mbiw", &RawInstruction::mbiw}, {"relu", &RawInstruction::relu},
            {"ibiw", &RawInstruction::ibiw}, {"obiw", &RawInstruction::obiw}, {"event_register", &RawInstruction::event_register},
            {"wait_value", &RawInstruction::wait_value}}};
        for (const Entry& entry : entries) {
            if (entry.key == key) return &(this->*entry.member);
        }
        return nullptr;
    }
};

std::uint8_t register_number(JsonCursor& json, std::int32_t value) {
    if (value < 0 || value >= register_count) json.fail(fmt::format("register {} does not exist (0..31)", value));
    return static_cast<std::uint8_t>(value);
}

Opcode opcode_of(JsonCursor& json, std::string_view name) {
    const auto found = std::find(mnemonics.begin(), mnemonics.end(), name);
    if (found == mnemonics.end()) json.fail(fmt::format("unknown instruction '{}'", name));
    return static_cast<Opcode>(found - mnemonics.begin());
}

Instruction to_instruction(JsonCursor& json, const RawInstruction& raw) {
    const Opcode op = opcode_of(json, raw.op);
    Instruction result;
    result.op = static_cast<std::uint8_t>(op);
    result.rd = register_number(json, raw.rd);
    result.rs1 = register_number(json, raw.rs1);
    result.rs2 = register_number(json, raw.rs2);
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

std::string instruction_problem(const Instruction& instruction, InstructionLimits limits) {
    const auto op = static_cast<Opcode>(instruction.op);
    if (op == Opcode::Vsoftmax) return "vsoftmax is not supported by the simulator";
    if (op > Opcode::Sync) return fmt::format("opcode {} does not exist", instruction.op);
    for (const auto number : {instruction.rd, instruction.rs1, instruction.rs2}) {
        if (number >= register_count) return fmt::format("register {} does not exist (0..31)", number);
    }
    const bool pair_in_rs1 = op == Opcode::Ld || op == Opcode::Sld;
    if ((pair_in_rs1 && instruction.rs1 == 31) || (op == Opcode::St && instruction.rd == 31)) return "a register pair cannot start at r31";
    const bool names_core = op == Opcode::Send || op == Opcode::Recv || op == Opcode::Sync;
    if (names_core && (instruction.immediate < 0 || static_cast<std::size_t>(instruction.immediate) >= limits.cores)) {
        return fmt::format("there is no core {} (the program has {})", instruction.immediate, limits.cores);
    }
    const bool names_event = op == Opcode::Wait || op == Opcode::Sync;
    if (names_event && (instruction.length < 0 || instruction.length >= event_register_count)) {
        return fmt::format("event register {} does not exist (0..31)", instruction.length);
    }
    if (op == Opcode::Mvmul) {
        if (instruction.immediate <= 0) return fmt::format("a weight width of {} bits divides by zero", instruction.immediate);
        if (instruction.length < 0 || static_cast<std::size_t>(instruction.length) >= limits.groups) {
            return fmt::format("there is no array group {} (the core has {})", instruction.length, limits.groups);
        }
    }
    if (op == Opcode::Setbw) {
        const auto impossible = [](std::int32_t bits) { return bits < 0 || bits > 64; };
        if (impossible(instruction.immediate) || impossible(instruction.length)) return "a bit width outside 0..64";
    }
    if (instruction.length < 0) return fmt::format("a negative length, {}", instruction.length);
    return {};
}

void check_core_instructions(std::span<const Instruction> instructions, InstructionLimits limits, std::string_view file, std::size_t core) {
    for (std::size_t at = 0; at < instructions.size(); ++at) {
        const std::string problem = instruction_problem(instructions[at], limits);
        if (problem.empty()) continue;
        bad_input("{}: core {}, instruction {} ({}): {}", file, core, at, mnemonic(static_cast<Opcode>(instructions[at].op)), problem);
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

void parse_json_core(JsonCursor& json, std::vector<Instruction>& instructions) {
    RawInstruction raw;
    const auto member = [&](std::string_view key) {
        if (key == "op") {
            raw.op = json.string();
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
        raw = RawInstruction{std::move(raw.op)};
        raw.op.clear();
        json.object(member);
        instructions.push_back(to_instruction(json, raw));
    });
}

}  // namespace weft
