#include "pim/reader.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <random>

#include "artifact/file.h"
#include "pim/json_cursor.h"
#include "program_maker.h"

using namespace weft;
using namespace weft::test;

namespace {

std::string record(int op, int rd, int rs1, int operand, int first, int second, int third, int flags = 0) {
    std::string bytes{static_cast<char>(op), static_cast<char>(rd), static_cast<char>(rs1), static_cast<char>(flags)};
    for (const std::int32_t word : {operand, first, second, third}) bytes.append(reinterpret_cast<const char*>(&word), 4);
    return bytes;
}

std::string binary_core(const std::vector<std::string>& records, std::uint32_t version = 1, std::int64_t count = -1) {
    std::string bytes = "PIMB";
    const auto announced = static_cast<std::uint32_t>(count < 0 ? static_cast<std::int64_t>(records.size()) : count);
    bytes.append(reinterpret_cast<const char*>(&version), 4);
    bytes.append(reinterpret_cast<const char*>(&announced), 4);
    for (const auto& one : records) bytes += one;
    return bytes;
}

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// Of the last failure: traps of the simulator are refused, what is no program is bad input.
ExitStatus last_status = ExitStatus::done;

void note(const Failure& failure) {
    last_status = failure.status();
    CHECK((last_status == ExitStatus::bad_input || last_status == ExitStatus::refused));
}

std::string failure_of(const std::string& text) {
    try {
        (void)parse_combined_program(as_bytes(text), "p.json");
    } catch (const Failure& failure) {
        note(failure);
        return failure.what();
    }
    return {};
}

std::string folder_failure(const std::filesystem::path& path) {
    try {
        (void)read_simulator_program(path);
    } catch (const Failure& failure) {
        note(failure);
        return failure.what();
    }
    return {};
}

std::string binary_failure(const std::string& bytes) {
    std::vector<Instruction> instructions;
    try {
        parse_binary_core(as_bytes(bytes), "core_0.pim", 0, 4, 2, instructions);
    } catch (const Failure& failure) {
        note(failure);
        return failure.what();
    }
    return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string combined(const std::string& core0, const std::string& map = R"("core0": [1])", const std::string& rest = "") {
    return fmt::format(R"({{"config": {{"core_cnt": 2, "array_group_map": {{{}}}}}, "core0": {}{}}})", map, core0, rest);
}

std::string compressed(const std::string& text, int window_bits) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string result(text.size() + 100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

constexpr const char* every_kind = R"([
  {"op": "setbw", "ibiw": 8, "obiw": 16}, {"op": "sldi", "rd": 1, "imm": -5}, {"op": "sadd", "rd": 1, "rs1": 2, "rs2": 3},
  {"op": "saddi", "rd": 1, "rs1": 2, "imm": 7}, {"op": "mvmul", "rd": 3, "rs1": 1, "mbiw": 8, "group": 0, "relu": 1},
  {"op": "vvadd", "rd": 1, "rs1": 2, "rs2": 3, "len": 9, "offset": {"offset_value": 6, "offset_select": 1}}, {"rs1": 4, "len": 3, "op": "vrelu"},
  {"op": "ld", "rd": 1, "rs1": 2, "size": 64}, {"op": "st", "rd": 2, "rs1": 1, "size": 65}, {"op": "lldi", "rd": 1, "imm": 3, "len": 10},
  {"op": "lmv", "rd": 1, "rs1": 2, "len": 11, "size": 12}, {"op": "send", "rd": 1, "rs1": 1, "core": 1, "size": 100},
  {"op": "recv", "rd": 1, "core": 1, "size": 101}, {"op": "sync", "core": 1, "event_register": 4}, {"op": "wait", "event_register": 5, "wait_value": 2}])";

Instruction with_offset(Instruction instruction, int select, int value) {
    instruction.offset_select = select;
    instruction.offset_value = value;
    return instruction;
}

}  // namespace

TEST_CASE("every kind of instruction from JSON") {
    const auto program = parse_combined_program(as_bytes(combined(every_kind, R"("core0": [3], "core1": [])", R"(, "core1": [], "other": {"a": [1, {}]})")), "p");
    validate(view(program), "p");
    CHECK(program.value_kind == ValueKind::TimingOnly);
    CHECK(program.core_first_run == std::vector<std::uint32_t>{0, 1, 1});
    CHECK(program.core_first_group == std::vector<std::uint32_t>{0, 1, 1});
    CHECK(program.groups.at(0).crossbars == 3);
    Instruction widths = make(Opcode::Setbw, 0, 0, 0, 8, 16);
    const std::vector<Instruction> expected = {
        widths, make(Opcode::Sldi, 1, 0, 0, -5), make(Opcode::Sadd, 1, 2, 3), make(Opcode::Saddi, 1, 2, 0, 7),
        with_offset(make(Opcode::Mvmul, 3, 1, 0, 8, 0), 0, 1), with_offset(make(Opcode::Vvadd, 1, 2, 3, 0, 9), 1, 6), make(Opcode::Vrelu, 0, 4, 0, 0, 3),
        make(Opcode::Ld, 1, 2, 0, 0, 64), make(Opcode::St, 2, 1, 0, 0, 65), make(Opcode::Lldi, 1, 0, 0, 3, 10), make(Opcode::Lmv, 1, 2, 0, 12, 11),
        make(Opcode::Send, 1, 1, 0, 1, 100), make(Opcode::Recv, 1, 0, 0, 1, 101), sync(1, 4), wait(5, 2)};
    CHECK(program.instructions == expected);
}

TEST_CASE("every kind of instruction from a binary file") {
    const std::string bytes = binary_core({record(8, 0, 0, 0, 8, 16, 0), record(1, 1, 0, -5, 0, 0, 0), record(3, 1, 2, 9, 0, 0, 0), record(6, 1, 2, 7, 0, 0, 0),
                                           record(9, 3, 1, 8, 1, 1, 0), record(10, 1, 2, 3, 1, 6, 9), record(18, 0, 4, 0, 0, 0, 3), record(25, 1, 2, 0, 0, 0, 64),
                                           record(26, 2, 1, 0, 0, 0, 65), record(27, 1, 0, 3, 0, 0, 10), record(28, 1, 2, 0, 0, 0, 11), record(29, 1, 1, 1, 0, 0, 100),
                                           record(30, 1, 0, 1, 0, 0, 101, 77), record(32, 0, 0, 1, 4, 0, 0), record(31, 0, 0, 0, 5, 2, 0)}) + "trailing bytes";
    std::vector<Instruction> instructions;
    parse_binary_core(as_bytes(bytes), "core_0.pim", 0, 4, 2, instructions);
    const std::vector<Instruction> expected = {
        make(Opcode::Setbw, 0, 0, 0, 8, 16), make(Opcode::Sldi, 1, 0, 0, -5), make(Opcode::Sadd, 1, 2, 0), make(Opcode::Saddi, 1, 2, 0, 7),
        with_offset(make(Opcode::Mvmul, 3, 1, 0, 8, 1), 0, 1), with_offset(make(Opcode::Vvadd, 1, 2, 3, 0, 9), 1, 6), make(Opcode::Vrelu, 0, 4, 0, 0, 3),
        make(Opcode::Ld, 1, 2, 0, 0, 64), make(Opcode::St, 2, 1, 0, 0, 65), make(Opcode::Lldi, 1, 0, 0, 3, 10), make(Opcode::Lmv, 1, 2, 0, 0, 11),
        make(Opcode::Send, 1, 1, 0, 1, 100), make(Opcode::Recv, 1, 0, 0, 1, 101), sync(1, 4), wait(5, 2)};
    CHECK(instructions == expected);
}

TEST_CASE("recorded programs are the same from binary, JSON, combined and compressed files") {
    for (const char* name : {"02_vector_loop", "04_pipeline3", "06_sync_ready_free", "09_random6", "11_ring8"}) {
        CAPTURE(name);
        const auto source = std::filesystem::path(WEFT_TEST_DATA) / "oracle" / name;
        const ProgramColumns binary = read_simulator_program(source);
        validate(view(binary), name);
        const ScratchFolder folder;
        folder.write("config.json", read_text(source / "config.json"));
        std::string whole = R"({"config": )" + read_text(source / "config.json");
        const std::size_t cores = binary.core_local_elems.size();
        for (std::size_t core = cores; core-- > 0;) {   // in falling order: the result is by core all the same
            const std::string text = read_text(source / fmt::format("core_{}.json", core));
            folder.write(fmt::format("core_{:02}.json", core), text);
            whole += fmt::format(R"(, "core{}": {})", core, text);
        }
        whole += "}";
        const ProgramColumns json = read_simulator_program(folder.path);
        const ProgramColumns together = parse_combined_program(as_bytes(whole), "whole");
        const ProgramColumns gzip = parse_combined_program(as_bytes(compressed(whole, 15 + 16)), "gzip");
        const ProgramColumns zlib = parse_combined_program(as_bytes(compressed(whole, 15)), "zlib");
        CHECK(json.instructions == binary.instructions);
        for (const ProgramColumns* other : {&together, &gzip, &zlib}) {
            CHECK(other->instructions == json.instructions);
            CHECK(other->runs == json.runs);
            CHECK(other->core_first_run == json.core_first_run);
            CHECK(other->groups == json.groups);
        }
    }
}

TEST_CASE("malformed JSON programs") {
    const std::string good = R"([{"op": "setbw", "ibiw": 8, "obiw": 8}])";
    CHECK(failure_of(combined(good)).empty());
    CHECK(contains(failure_of("{}"), "config"));
    CHECK(contains(failure_of(""), "p.json"));
    CHECK(contains(failure_of(R"({"config": {"core_cnt": 1, "array_group_map": {}}})"), "no core's program"));
    CHECK(contains(failure_of(combined(good, "")), "no entry for core 0"));
    CHECK(contains(failure_of(combined(good, R"("core0": [0])")), "array group of 0 crossbars"));
    CHECK(contains(failure_of(R"({"config": {"core_cnt": 0}})"), "core_cnt 0"));
    CHECK(contains(failure_of(combined(good) + "x"), "something follows"));
    CHECK(contains(failure_of(combined(R"([{"op": "jump"}])")), "unknown instruction 'jump'"));
    CHECK(contains(failure_of(combined(R"([{"rd": 1}])")), "unknown instruction ''"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "rd": 32}])")), "register 32"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "rd": -1}])")), "register -1"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "imm": 3000000000}])")), "32 bits"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "imm": 1.5}])")), "whole number"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "imm": "1"}])")), "whole number"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "imm": }])")), "line 1"));
    CHECK(contains(failure_of(combined(R"([{"op": "sldi", "imm": 1])")), "'}' expected"));
    CHECK(contains(failure_of(combined(R"([{"op": "vsoftmax"}])")), "vsoftmax"));
    CHECK(contains(failure_of(combined(R"([{"op": "mvmul", "mbiw": 0}])")), "weight width"));
    CHECK(contains(failure_of(combined(R"([{"op": "mvmul", "mbiw": 8, "group": 1}])")), "array group 1"));
    CHECK(contains(failure_of(combined(R"([{"op": "mvmul", "mbiw": 8, "group": -1}])")), "array group -1"));
    CHECK(contains(failure_of(combined(R"([{"op": "sync", "core": 0, "event_register": 32}])")), "event register 32"));
    CHECK(contains(failure_of(combined(R"([{"op": "wait", "event_register": -1}])")), "event register -1"));
    CHECK(contains(failure_of(combined(R"([{"op": "send", "core": 2}])")), "no core 2"));
    CHECK(contains(failure_of(combined(R"([{"op": "send", "core": 1}])")), "core 1 has no program"));
    CHECK(contains(failure_of(combined(R"([{"op": "ld", "rs1": 31}])")), "register pair"));
    CHECK(contains(failure_of(combined(R"([{"op": "vrelu", "len": -1}])")), "negative length"));
    CHECK(contains(failure_of(compressed(combined(good), 15 + 16).substr(0, 30)), "compressed"));
}

TEST_CASE("traps are refused by core and instruction, other faults are bad input") {
    const auto status_of = [](const std::string& instruction) {
        const std::string text = failure_of(combined(R"([{"op": "sldi"}, )" + instruction + "]"));
        const bool is_trap = contains(text, "would crash");
        CHECK(is_trap == (last_status == ExitStatus::refused));
        if (is_trap) CHECK(contains(text, "core 0, instruction 1 ("));
        return last_status;
    };
    for (const char* trap : {R"({"op": "sldi", "rd": 32})", R"({"op": "mvmul", "mbiw": 0})", R"({"op": "sync", "core": 0, "event_register": 32})",
                             R"({"op": "send", "core": 2})", R"({"op": "send", "core": 1})", R"({"op": "ld", "rs1": 31})", R"({"op": "recv", "core": -1})"}) {
        CAPTURE(trap);
        CHECK(status_of(trap) == ExitStatus::refused);
    }
    for (const char* fault : {R"({"op": "jump"})", R"({"op": "vsoftmax"})", R"({"op": "mvmul", "mbiw": 8, "group": 1})", R"({"op": "vrelu", "len": -1})"}) {
        CAPTURE(fault);
        CHECK(status_of(fault) == ExitStatus::bad_input);
    }
    CHECK(contains(binary_failure(binary_core({record(29, 1, 1, 4, 0, 0, 8)})), "core 0, instruction 0 (send)"));
    CHECK(last_status == ExitStatus::refused);
}

TEST_CASE("compressed texts come piece by piece") {
    // Pretty-printed with much white space: several fills of the buffer, tokens across their borders.
    std::string list = "[";
    for (int at = 0; at < 60'000; ++at) list += fmt::format("{}\n\t\t{{\"op\" : \"sldi\",{}\"rd\" : {}, \"imm\" :\n {}}}", at == 0 ? "" : ",", std::string(at % 37, ' '), at % 32, at);
    list += std::string(1'000'000, ' ') + "]";
    const std::string text = combined(list);
    REQUIRE(text.size() > 3'000'000);
    const std::string packed = compressed(text, 15 + 16);
    const ProgramColumns whole = parse_combined_program(as_bytes(text), "p.json");
    const ProgramColumns pieces = parse_combined_program(as_bytes(packed), "p.json.gz");
    CHECK(whole.instructions.size() == 60'000);
    CHECK(pieces.instructions == whole.instructions);
    CHECK(pieces.runs == whole.runs);
    // A fault far behind is named by its line, wherever the text came from.
    std::string damaged = text;
    damaged.replace(damaged.find("\"rd\" : 31, \"imm\" :\n 59999"), 4, "\"rd");
    const std::string plain_fault = failure_of(damaged);
    const std::string packed_fault = failure_of(compressed(damaged, 15 + 16));
    CHECK(plain_fault != "");
    CHECK(plain_fault == packed_fault);
    // A text longer than what the buffer guarantees.
    const std::string long_key = combined(R"([{"op": "setbw"}])", R"("core0": [1])", ", \"" + std::string(500'000, 'k') + "\": 1");
    CHECK(failure_of(long_key).empty());
    CHECK(contains(failure_of(compressed(long_key, 15 + 16)), "64 KiB"));
}

TEST_CASE("malformed binary files") {
    CHECK(binary_failure(binary_core({})).empty());
    CHECK(contains(binary_failure("PIM"), "PIMB"));
    CHECK(contains(binary_failure("PIMC" + binary_core({}).substr(4)), "PIMB"));
    CHECK(contains(binary_failure(binary_core({}, 2)), "version 2"));
    CHECK(contains(binary_failure(binary_core({record(1, 1, 0, 0, 0, 0, 0)}, 1, 2)), "cut off"));
    CHECK(contains(binary_failure(binary_core({record(21, 0, 0, 0, 0, 0, 0)})), "vsoftmax"));
    CHECK(contains(binary_failure(binary_core({record(33, 0, 0, 0, 0, 0, 0)})), "opcode 33"));
    CHECK(contains(binary_failure(binary_core({record(1, 1, 0, 0, 0, 0, 0), record(1, 32, 0, 0, 0, 0, 0)})), "instruction 1 (sldi): register 32"));
    CHECK(contains(binary_failure(binary_core({record(10, 1, 0, -3, 0, 0, 8)})), "register"));
    CHECK(contains(binary_failure(binary_core({record(26, 31, 0, 0, 0, 0, 8)})), "register pair"));
    CHECK(contains(binary_failure(binary_core({record(29, 1, 1, 4, 0, 0, 8)})), "no core 4"));
    CHECK(contains(binary_failure(binary_core({record(9, 1, 1, 8, 0, 2, 0)})), "array group 2"));
    CHECK(contains(binary_failure(binary_core({record(31, 0, 0, 0, 32, 1, 0)})), "event register 32"));
    CHECK(contains(binary_failure(binary_core({record(25, 1, 1, 0, 0, 0, -8)})), "negative length"));
}

TEST_CASE("folders: missing, surplus and badly named files") {
    const ScratchFolder folder;
    CHECK(contains(folder_failure(folder.path), "config.json"));
    folder.write("config.json", R"({"core_cnt": 2, "array_group_map": {"core0": [], "core1": []}, "more": null})");
    folder.write("core_0.json", "[]");
    CHECK(contains(folder_failure(folder.path), "no file for core 1"));
    folder.write("core_001.pim", binary_core({record(1, 3, 0, 5, 0, 0, 0)}));
    CHECK(folder_failure(folder.path).empty());
    CHECK(read_simulator_program(folder.path).instructions.size() == 1);
    folder.write("core_1.json", "[]");   // the binary file wins
    CHECK(read_simulator_program(folder.path).instructions.size() == 1);
    folder.write("notes.txt", "x");
    CHECK(folder_failure(folder.path).empty());
    folder.write("core_2.json", "[]");
    CHECK(contains(folder_failure(folder.path), "there is no core 2"));
    std::filesystem::remove(folder.path / "core_2.json");
    folder.write("core_one.json", "[]");
    CHECK(contains(folder_failure(folder.path), "core_one.json"));
    std::filesystem::remove(folder.path / "core_one.json");
    folder.write("config.json", R"({"core_cnt": 2, "array_group_map": {"core0": []}})");
    CHECK(contains(folder_failure(folder.path), "no entry for core 1"));
    CHECK(contains(folder_failure(folder.path / "core_001.pim"), "no program"));
}

TEST_CASE("skipping passes over any value, however deep") {
    std::string deep;
    for (int at = 0; at < 200000; ++at) deep += at % 2 == 0 ? "[" : R"({"a":)";
    deep += "1";
    for (int at = 200000; at-- > 0;) deep += at % 2 == 0 ? "]" : "}";
    for (const std::string& text : {deep, std::string(R"({"a": [], "b": {}, "c": [1, -2.5e3, "x\"\\\u00e9y", true, false, null, [[]], {"d": {}}]})"), std::string(" 3 ")}) {
        JsonCursor json(text, "deep");
        json.skip();
        json.finish();
    }
    for (const char* text : {"[1, ]", "[1 2]", "{\"a\" 1}", "{\"a\": 1,}", "[", "{", "nul", "\"open", "[}", "]"}) {
        CAPTURE(text);
        JsonCursor json(text, "bad");
        CHECK_THROWS_AS(json.skip(), Failure);
    }
}

TEST_CASE("texts and numbers are read several characters at a time, and every character counts") {
    const auto text_of = [](const std::string& json) {
        JsonCursor cursor(json, "t");
        return std::string(cursor.string());
    };
    const auto failure = [](const std::string& json, auto&& read) -> std::string {
        JsonCursor cursor(json, "t");
        try {
            read(cursor);
        } catch (const Failure& problem) {
            return problem.what();
        }
        return {};
    };
    const auto as_text = [](JsonCursor& cursor) { (void)cursor.string(); };
    for (std::size_t size = 0; size < 24; ++size) {
        const std::string plain(size, '\xe4');   // a top bit, as in UTF-8
        CHECK(text_of('"' + plain + "\"   ") == plain);
        CHECK(text_of('"' + plain + '"') == plain);
        CHECK(contains(failure('"' + plain, as_text), "ends inside a text"));
        for (std::size_t at = 0; at < size; ++at) {
            std::string changed = plain;
            changed[at] = '\x1f';
            CHECK(contains(failure('"' + changed + '"', as_text), fmt::format("byte {}: a control character", at + 1)));
            changed[at] = '"';
            CHECK(text_of('"' + changed + '"') == plain.substr(0, at));
            changed.replace(at, 1, "\\t");
            std::string meant = plain;
            meant[at] = '\t';
            CHECK(text_of('"' + changed + '"') == meant);
        }
    }
    const auto number_of = [](const std::string& json) {
        JsonCursor cursor(json, "n");
        const std::int32_t value = cursor.integer();
        cursor.finish();
        return value;
    };
    for (const std::string space : {"", " ", "\n", "\t"}) {
        for (std::int64_t value = 1; value < 2147483648; value *= 7) {
            CHECK(number_of(fmt::format("{}{}{}", space, value, space)) == value);
            CHECK(number_of(fmt::format("{}{}{}", space, -value, space)) == -value);
        }
        CHECK(number_of("2147483647" + space) == 2147483647);
        CHECK(number_of("00000000012" + space) == 12);
        CHECK(number_of("12.0" + space) == 12);
        CHECK(number_of("3e2" + space) == 300);
        CHECK(contains(failure("2147483648" + space, [](JsonCursor& cursor) { (void)cursor.integer(); }), "does not fit"));
        CHECK(contains(failure("x1" + space, [](JsonCursor& cursor) { (void)cursor.integer(); }), "whole number"));
    }
}

TEST_CASE("damaged files are refused or read, never more") {
    std::mt19937 random(11);
    const std::string json = combined(every_kind, R"("core0": [3], "core1": [])", R"(, "core1": [])");
    const std::string gzip = compressed(json, 15 + 16);
    unsigned refused = 0;
    for (int attempt = 0; attempt < 3000; ++attempt) {
        std::string text = attempt % 3 == 0 ? gzip : json;
        for (unsigned change = 0; change <= random() % 3; ++change) text[random() % text.size()] = static_cast<char>(random());
        if (attempt % 5 == 0) text.resize(random() % text.size());
        try {
            validate(view(parse_combined_program(as_bytes(text), "damaged")), "damaged");
        } catch (const Failure& failure) {
            ++refused;
            note(failure);
        }
    }
    CHECK(refused > 1000);
}
