#include "pim/reader.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "artifact/artifact.h"
#include "pim/reader_parts.h"

namespace weft {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::size_t record_bytes = 20;
constexpr std::size_t inflated_limit = std::size_t{1} << 32U;

template <class T>
T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);   // little-endian hosts only, as everywhere in weft
    return value;
}

/// One record of 20 bytes; which field means what depends on the opcode.
Instruction decode_record(const std::byte* record) {
    const auto operand = load<std::int32_t>(record + 4);
    const auto first = load<std::int32_t>(record + 8);
    const auto second = load<std::int32_t>(record + 12);
    const auto third = load<std::int32_t>(record + 16);
    Instruction result;
    result.op = load<std::uint8_t>(record);
    result.rd = load<std::uint8_t>(record + 1);
    result.rs1 = load<std::uint8_t>(record + 2);
    switch (static_cast<Opcode>(result.op)) {
        case Opcode::Sldi: case Opcode::Saddi: case Opcode::Smuli:
            result.immediate = operand;
            break;
        case Opcode::Nop: case Opcode::Sadd: case Opcode::Ssub: case Opcode::Smul:
            break;   // the second source cannot be encoded: always r0
        case Opcode::Sld:
            result.offset_value = second;
            break;
        case Opcode::Setbw:
            result.immediate = first;
            result.length = second;
            break;
        case Opcode::Mvmul:
            result.immediate = operand;
            result.offset_value = first;
            result.length = second;
            break;
        case Opcode::Wait:
            result.length = first;
            result.offset_value = second;
            break;
        case Opcode::Sync:
            result.immediate = operand;
            result.length = first;
            break;
        case Opcode::Ld: case Opcode::St: case Opcode::Lmv:
            result.offset_select = first;
            result.offset_value = second;
            result.length = third;
            break;
        case Opcode::Lldi: case Opcode::Send: case Opcode::Recv:
            result.immediate = operand;
            result.offset_select = first;
            result.offset_value = second;
            result.length = third;
            break;
        default:   // vector
            result.rs2 = operand < 0 || operand > 255 ? std::uint8_t{255} : static_cast<std::uint8_t>(operand);
            result.offset_select = first;
            result.offset_value = second;
            result.length = third;
    }
    return result;
}

/// The quick half of instruction_problem(): true only for instructions that have none whatever the limits.
bool clearly_possible(const Instruction& instruction) {
    const auto op = static_cast<Opcode>(instruction.op);
    const bool small_registers = instruction.rd < 31 && instruction.rs1 < 31 && instruction.rs2 < 32;
    const bool plain = op < Opcode::Setbw || (op > Opcode::Mvmul && op < Opcode::Vsoftmax) || (op > Opcode::Vsoftmax && op < Opcode::Send);
    return small_registers && plain && instruction.length >= 0;
}

/// The text of compressed bytes, piece by piece.
class Inflater {
public:
    Inflater(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {
        constexpr int detect_gzip_or_zlib = 15 + 32;
        if (inflateInit2(&stream_, detect_gzip_or_zlib) != Z_OK) system_failure("{}: zlib cannot start", file);
        stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    /// Up to `room` characters; 0 once the end has been reached.
    std::size_t read(char* buffer, std::size_t room) {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer);
        stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, 1U << 30U));
        const auto offered = stream_.avail_out;
        while (stream_.avail_out != 0 && state_ == Z_OK) {
            if (stream_.avail_in == 0) {
                stream_.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes_.size() - given_, 1U << 30U));
                given_ += stream_.avail_in;
            }
            state_ = inflate(&stream_, Z_NO_FLUSH);
        }
        if (state_ != Z_OK && state_ != Z_STREAM_END) bad_input("{}: damaged or cut compressed data", file_);
        const std::size_t came = offered - stream_.avail_out;
        inflated_ += came;
        if (inflated_ > inflated_limit) system_failure("{}: more than 4 GiB after decompression", file_);
        return came;
    }

private:
    std::span<const std::byte> bytes_;
    std::string_view file_;
    z_stream stream_{};
    std::size_t given_ = 0;
    std::size_t inflated_ = 0;
    int state_ = Z_OK;
};

bool is_compressed(std::span<const std::byte> bytes) {
    if (bytes.size() < 2) return false;
    const auto first = std::to_integer<unsigned>(bytes[0]);
    const auto second = std::to_integer<unsigned>(bytes[1]);
    const bool gzip = first == 0x1f && second == 0x8b;
    const bool zlib = first == 0x78 && (first * 256 + second) % 31 == 0;
    return gzip || zlib;
}

/// core<number> without leading zeros, as the simulator builds the key.
std::optional<std::size_t> core_of_key(std::string_view key) {
    if (key.substr(0, 4) != "core" || key.size() < 5 || key.size() > 9) return std::nullopt;
    const std::string_view digits = key.substr(4);
    std::size_t core = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), core);
    if (error != std::errc() || stop != digits.data() + digits.size() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
    return core;
}

/// Program columns without instructions: the parts that are empty for TimingOnly programs.
ProgramColumns empty_program(const ProgramConfig& config, std::size_t cores) {
    ProgramColumns program;
    program.value_kind = ValueKind::TimingOnly;
    program.inferences_per_round = 1;
    program.stage_count = 1;
    program.core_local_elems.assign(cores, 0);
    program.core_first_run.assign(1, 0);
    program.core_first_group.assign(1, 0);
    for (std::size_t core = 0; core < cores; ++core) {
        if (core < config.groups.size()) {
            for (const auto crossbars : config.groups[core].crossbars) program.groups.push_back({crossbars, 0, 0, 0, 0});
        }
        program.core_first_group.push_back(static_cast<std::uint32_t>(program.groups.size()));
    }
    return program;
}

/// Close the core whose instructions were just appended from `first` on.
void close_core(ProgramColumns& program, std::size_t first) {
    const std::size_t count = program.instructions.size() - first;
    if (program.instructions.size() > UINT32_MAX) system_failure("more than 2^32 instructions");
    if (count != 0) program.runs.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), 1, 0xffffffffU});
    program.core_first_run.push_back(static_cast<std::uint32_t>(program.runs.size()));
}

std::size_t group_count(const ProgramConfig& config, std::size_t core) {
    return core < config.groups.size() ? config.groups[core].crossbars.size() : 0;
}

void require_groups(const ProgramConfig& config, std::size_t core, std::string_view file) {
    if (core >= config.groups.size() || !config.groups[core].present) {
        bad_input("{}: array_group_map has no entry for core {} (an empty list will do where it has no mvmul)", file, core);
    }
}

struct CoreFile {
    std::filesystem::path path;
    bool binary = false;
};

/// core_<id>.pim or core_<id>.json; the binary one wins. Other names that start so are errors, as in the simulator.
std::map<std::size_t, CoreFile> list_core_files(const std::filesystem::path& folder) {
    std::map<std::size_t, CoreFile> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.substr(0, 5) != "core_" || !entry.is_regular_file()) continue;
        const std::string extension = entry.path().extension().string();
        const std::string digits = entry.path().stem().string().substr(5);
        std::size_t core = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), core);
        const bool number = error == std::errc() && stop == digits.data() + digits.size();
        if (!number || (extension != ".pim" && extension != ".json")) {
            bad_input("{}: the name must be core_<number>.pim or core_<number>.json", entry.path().string());
        }
        const bool binary = extension == ".pim";
        const auto [place, fresh] = files.try_emplace(core, CoreFile{entry.path(), binary});
        if (!fresh && place->second.binary == binary) bad_input("{}: there is another file for core {}", entry.path().string(), core);
        if (!fresh && binary) place->second = {entry.path(), true};
    }
    return files;
}

/// Room for what the files can hold, so that the list does not grow by copies. Pages that are not used cost nothing.
std::size_t expected_instructions(const std::map<std::size_t, CoreFile>& files) {
    constexpr std::size_t limit = std::size_t{1} << 24U;
    constexpr std::size_t text_bytes = 32;   // few instructions have less
    std::size_t sum = 0;
    for (const auto& [core, file] : files) {
        std::error_code error;
        const auto size = std::filesystem::file_size(file.path, error);
        if (!error) sum += std::min<std::size_t>(size, limit * record_bytes) / (file.binary ? record_bytes : text_bytes);
    }
    return std::min(sum, limit);
}

std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

ProgramColumns read_folder(const std::filesystem::path& folder) {
    ProgramConfig config;
    const std::filesystem::path config_path = folder / "config.json";
    const MappedFile config_file(config_path);
    JsonCursor json(as_text(config_file.bytes()), config_file.name());
    parse_config(json, config);
    json.finish();
    if (config.core_count == 0) bad_input("{}: core_cnt is missing", config_file.name());
    const auto cores = static_cast<std::size_t>(config.core_count);
    const auto files = list_core_files(folder);
    if (!files.empty() && files.rbegin()->first >= cores) {
        bad_input("{}: core_cnt is {}, so there is no core {}", files.rbegin()->second.path.string(), cores, files.rbegin()->first);
    }
    for (std::size_t core = 0; core < cores; ++core) {
        require_groups(config, core, config_file.name());
        if (!files.contains(core)) bad_input("{}: no file for core {} (an idle core needs an empty one)", folder.string(), core);
    }
    ProgramColumns program = empty_program(config, cores);
    program.instructions.reserve(expected_instructions(files));
    for (const auto& [core, core_file] : files) {
        const MappedFile file(core_file.path);
        const std::size_t first = program.instructions.size();
        if (core_file.binary) {
            parse_binary_core(file.bytes(), file.name(), core, cores, group_count(config, core), program.instructions);
        } else {
            JsonCursor core_json(as_text(file.bytes()), file.name());
            parse_json_core(core_json, core, program.instructions);
            core_json.finish();
            check_core_instructions(std::span(program.instructions).subspan(first), {cores, group_count(config, core)}, file.name(), core);
        }
        close_core(program, first);
    }
    return program;
}

/// Messages to a core that the file does not mention crash the simulator: such a core does not exist.
void check_destinations(std::span<const Instruction> instructions, const std::vector<bool>& present, std::string_view file, std::size_t core) {
    for (std::size_t at = 0; at < instructions.size(); ++at) {
        const auto op = static_cast<Opcode>(instructions[at].op);
        if (op != Opcode::Send && op != Opcode::Sync) continue;
        const auto other = static_cast<std::size_t>(instructions[at].immediate);
        if (!present[other]) fail_instruction({fmt::format("core {} has no program", other), true}, file, core, at, mnemonic(op));
    }
}

}  // namespace

void parse_binary_core(std::span<const std::byte> bytes, std::string_view file, std::size_t core, std::size_t core_count, std::size_t group_count,
                       std::vector<Instruction>& instructions) {
    if (bytes.size() < header_bytes || std::memcmp(bytes.data(), "PIMB", 4) != 0) bad_input("{}: not a binary core file ('PIMB' is missing)", file);
    const auto version = load<std::uint32_t>(bytes.data() + 4);
    if (version != 1) bad_input("{}: version {} is unknown, only 1 is", file, version);
    const std::size_t count = load<std::uint32_t>(bytes.data() + 8);
    const std::size_t present = (bytes.size() - header_bytes) / record_bytes;
    if (count > present) bad_input("{}: cut off: {} instructions announced, {} there", file, count, present);
    const InstructionLimits limits{core_count, group_count};
    // Not to the exact size: one core's file follows another's.
    if (const std::size_t wanted = instructions.size() + count; wanted > instructions.capacity()) instructions.reserve(std::max(wanted, 2 * instructions.capacity()));
    const std::byte* record = bytes.data() + header_bytes;
    for (std::size_t at = 0; at < count; ++at, record += record_bytes) {
        const Instruction instruction = decode_record(record);
        if (!clearly_possible(instruction)) {
            const InstructionProblem problem = instruction_problem(instruction, limits);
            if (!problem.text.empty()) fail_instruction(problem, file, core, at, mnemonic(static_cast<Opcode>(instruction.op)));
        }
        instructions.push_back(instruction);
    }
}

namespace {

ProgramColumns parse_combined(JsonCursor& json, std::string_view file) {
    ProgramConfig config;
    bool has_config = false;
    std::map<std::size_t, std::vector<Instruction>> lists;
    json.object([&](std::string_view key) {
        if (key == "config") {
            has_config = true;
            parse_config(json, config);
        } else if (const auto core = core_of_key(key); core.has_value()) {
            auto& list = lists[*core];
            list.clear();
            parse_json_core(json, *core, list);
        } else {
            json.skip();
        }
    });
    json.finish();
    if (!has_config || config.core_count == 0) bad_input("{}: config with core_cnt is missing", file);
    const auto cores = static_cast<std::size_t>(config.core_count);
    ProgramColumns program = empty_program(config, cores);
    std::size_t instructions = 0;
    for (const auto& [core, list] : lists) instructions += list.size();
    program.instructions.reserve(instructions);
    std::vector<bool> present(cores);
    for (const auto& [core, list] : lists) {
        if (core < cores) present[core] = true;
    }
    if (std::find(present.begin(), present.end(), true) == present.end()) bad_input("{}: there is no core's program in it", file);
    for (std::size_t core = 0; core < cores; ++core) {
        const std::size_t first = program.instructions.size();
        if (present[core]) {
            require_groups(config, core, file);
            auto& list = lists[core];
            check_core_instructions(list, {cores, group_count(config, core)}, file, core);
            check_destinations(list, present, file, core);
            program.instructions.insert(program.instructions.end(), list.begin(), list.end());
            std::vector<Instruction>().swap(list);
        }
        close_core(program, first);
    }
    return program;
}

}  // namespace

ProgramColumns parse_combined_program(std::span<const std::byte> bytes, std::string_view file) {
    if (!is_compressed(bytes)) {
        JsonCursor json(as_text(bytes), file);
        return parse_combined(json, file);
    }
    Inflater inflater(bytes, file);
    JsonCursor json([&](char* buffer, std::size_t room) { return inflater.read(buffer, room); }, file);
    return parse_combined(json, file);
}

ProgramColumns read_simulator_program(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return read_folder(path);
    if (path.extension() == ".pim") bad_input("{}: one core's file is no program; name the folder that holds it", path.string());
    const MappedFile file(path);
    return parse_combined_program(file.bytes(), file.name());
}

bool is_simulator_program(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return true;
    const MappedFile file(path);
    const auto bytes = file.bytes();
    return bytes.size() < 8 || std::memcmp(bytes.data() + 4, ArtifactTraits<Program>::identifier.data(), 4) != 0;
}

}  // namespace weft
