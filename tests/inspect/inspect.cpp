#include "inspect/inspect.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <limits>

#include "../artifact/samples.h"
#include "../artifact/scratch.h"

namespace {

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

/// The sample of a kind, changed and written to a scratch folder, then opened.
class Sample {
public:
    template <class Kind, class Change>
    Sample(std::type_identity<Kind> kind, Change&& change) {
        auto columns = sample(kind);
        change(columns);
        path_ = (scratch_.path / fmt::format("net.{}", ArtifactTraits<Kind>::extension)).string();
        write_artifact<Kind>(path_, view(columns));
        artifact_ = std::make_unique<AnyArtifact>(path_);
    }
    template <class Kind>
    explicit Sample(std::type_identity<Kind> kind) : Sample(kind, [](auto&) {}) {}

    const AnyArtifact& operator*() const { return *artifact_; }

private:
    ScratchFolder scratch_;
    std::string path_;
    std::unique_ptr<AnyArtifact> artifact_;
};

constexpr std::type_identity<Program> program_kind;
constexpr std::type_identity<Graph> graph_kind;

TEST_CASE("every kind has figures, a text dump and a JSON dump that parses") {
    for_each_sample([]<class Kind>(std::type_identity<Kind> kind, const auto&) {
        CAPTURE(ArtifactTraits<Kind>::kind);
        const Sample file(kind);
        CHECK((*file).kind() == ArtifactTraits<Kind>::kind);
        CHECK((*file).figures().size() >= 3);
        const auto stat = nlohmann::json::parse(stat_json(*file));
        CHECK(stat["kind"] == std::string(ArtifactTraits<Kind>::kind));
        CHECK(stat["hash"] == to_hex((*file).hash()));
        const auto dump = nlohmann::json::parse(dump_json(*file, {}));
        CHECK(dump.size() == (*file).columns().size());
        const std::string text = dump_text(*file, {});
        for (const auto& column : (*file).columns()) CHECK(text.find(fmt::format("# {}: ", column.name)) != std::string::npos);
    });
}

TEST_CASE("dump prints the chosen columns and rows") {
    const Sample file(program_kind);
    DumpOptions options;
    options.columns = {"depth", "runs"};
    options.first_row = 1;
    options.row_count = 1;
    CHECK(dump_text(*file, options) ==
          "# depth: 1 row\nrow\tvalue\n0\t1\n"
          "# runs: 3 rows\nrow\tfirst_instruction\tinstruction_count\ttrip_count\tlabel\n1\t3\t3\t2\t0\n");
    CHECK(nlohmann::json::parse(dump_json(*file, options)) ==
          nlohmann::json::parse(R"({"depth":1,"runs":[{"first_instruction":3,"instruction_count":3,"trip_count":2,"label":0}]})"));
    options.first_row = 99;
    CHECK(nlohmann::json::parse(dump_json(*file, options))["runs"].empty());
    options.columns = {"no_such_column"};
    CHECK_THROWS_AS(static_cast<void>(dump_text(*file, options)), Failure);
}

TEST_CASE("names replace offsets where asked, pools print as texts") {
    const Sample file(graph_kind);
    DumpOptions options;
    options.columns = {"nodes"};
    CHECK(nlohmann::json::parse(dump_json(*file, options))["nodes"][1]["name"] == 6);
    options.names = true;
    CHECK(nlohmann::json::parse(dump_json(*file, options))["nodes"][1]["name"] == "y");
    options.columns = {"name_pool"};
    CHECK(dump_text(*file, options) == "# name_pool: 8 bytes\noffset\ttext\n0\tx\n2\tw\n4\tt\n6\ty\n");
}

TEST_CASE("numbers print exactly, and what JSON cannot hold as texts") {
    CHECK(to_text(std::uint64_t{18446744073709551615U}) == "18446744073709551615");
    CHECK(to_text(0.1F) == "0.1");
    CHECK(to_json(std::numeric_limits<float>::infinity()) == "\"inf\"");
    CHECK(to_json(-std::numeric_limits<float>::infinity()) == "\"-inf\"");
    CHECK(to_json(std::numeric_limits<float>::quiet_NaN()) == "\"nan\"");
    CHECK(to_json(std::string_view("a\"b\n")) == "\"a\\\"b\\n\"");
    CHECK(to_json(true) == "true");
}

TEST_CASE("equal artifacts do not differ") {
    for_each_sample([]<class Kind>(std::type_identity<Kind> kind, const auto&) {
        const Sample left(kind);
        const Sample right(kind);
        const Difference result = difference(*left, *right, 10);
        CHECK(result.columns == 0);
        CHECK(result.text.empty());
    });
}

TEST_CASE("differences name column, row and field") {
    const Sample left(program_kind);
    const Sample right(program_kind, [](ProgramColumns& program) {
        program.instructions[4].rs1 = 3;
        program.instructions[8].rd = 9;
        program.stage_count = 5;
        program.constants.push_back(program.constants[0]);
    });
    const Difference all = difference(*left, *right, 10);
    CHECK(all.columns == 3);
    CHECK(all.text ==
          "instructions[4].rs1: 1 != 3\ninstructions[8].rd: 0 != 9\n"
          "constants: 1 rows != 2 rows\nstage_count: 1 != 5\n");
    CHECK(difference(*left, *right, 1).text.find("instructions: 1 more values differ\n") != std::string::npos);
}

TEST_CASE("texts differ by content") {
    constexpr std::type_identity<Candidates> kind;
    const Sample left(kind);
    const Sample right(kind, [](CandidatesColumns& candidates) { candidates.strategies[1] = "other"; });
    CHECK(difference(*left, *right, 10).text == "strategies[1]: single-stage != other\n");
}

TEST_CASE("artifacts of different kinds are not compared") {
    const Sample left(program_kind);
    const Sample right(graph_kind);
    CHECK_THROWS_AS(static_cast<void>(difference(*left, *right, 10)), Failure);
}

TEST_CASE("program figures count loops") {
    const Sample file(program_kind);
    const auto figures = nlohmann::json::parse(stat_json(*file))["figures"];
    CHECK(figures["executed_instructions"] == 3 + 2 * 3 + 3);
    CHECK(figures["executed_Mvmul"] == 2);
    CHECK(figures["executed_Send"] == 2);
    CHECK(figures["instruction_rows"] == 9);
    CHECK(figures["cores_used"] == 2);
}

TEST_CASE("the program carries the schemas") {
    CHECK(schema_text("program").find("table Program") != std::string::npos);
    CHECK(schema_text("sched") == schema_text("schedule"));
    CHECK_THROWS_AS(static_cast<void>(schema_text("nonsense")), Failure);
}

TEST_CASE("conditions choose rows exactly as a filter over all rows does") {
    const Sample artifact(program_kind, [](ProgramColumns&) {});
    const ColumnView* instructions = (*artifact).find("instructions");
    REQUIRE(instructions != nullptr);
    REQUIRE(instructions->rows > 0);
    for (std::size_t field = 0; field < instructions->fields.size(); ++field) {
        const std::string value = to_text(instructions->row(instructions->rows / 2)[field]);
        for (const std::string operation : {"=", "!=", "<", "<=", ">", ">="}) {
            DumpOptions options;
            options.columns = {"instructions"};
            options.where.emplace_back(fmt::format("{} {} {}", instructions->fields[field], operation, value));
            const std::string text = dump_text(*artifact, options);
            std::size_t expected = 0;
            for (std::size_t row = 0; row < instructions->rows; ++row) {
                const double a = std::stod(to_text(instructions->row(row)[field]));
                const double b = std::stod(value);
                expected += (operation == "=" && a == b) || (operation == "!=" && a != b) || (operation == "<" && a < b) || (operation == "<=" && a <= b) ||
                                    (operation == ">" && a > b) || (operation == ">=" && a >= b)
                                ? 1
                                : 0;
            }
            const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
            CHECK(lines == (expected == 0 ? 0 : expected + 2));
        }
    }
    const auto lines_where = [&](const std::string& column, const std::vector<std::string>& conditions) {
        DumpOptions options;
        options.columns = {column};
        options.names = true;
        for (const auto& condition : conditions) options.where.emplace_back(condition);
        const std::string text = dump_text(*artifact, options);
        return std::count(text.begin(), text.end(), '\n');
    };
    CHECK(lines_where("core_first_run", {"row=0"}) == 3);
    CHECK(lines_where("core_first_run", {"value>=0", "row<1"}) == 3);
    CHECK(lines_where("core_first_run", {"value<0"}) == 0);
    CHECK_THROWS_AS(lines_where("core_first_run", {"nonsense=1"}), Failure);
    CHECK_THROWS_AS(RowCondition("no operation"), Failure);
    CHECK_THROWS_AS(RowCondition("=5"), Failure);
    // 64 bits exactly, not as doubles.
    CHECK_FALSE(RowCondition("row=18446744073709551615").holds(*instructions, 0, instructions->row(0)));
}

TEST_CASE("weft-inspect: statuses and output") {
    const ScratchFolder scratch;
    auto program = sample(program_kind);
    write_artifact<Program>(scratch.path / "a.prog", view(program));
    program.depth = 4;
    write_artifact<Program>(scratch.path / "b.prog", view(program));
    publish_text(scratch.path / "damaged.prog", read_text(scratch.path / "a.prog") + "x");
    const auto run = [&](const std::string& arguments) {
        const int code = std::system(fmt::format("cd '{}' && '{}/weft-inspect' {} > stdout 2> stderr", scratch.path.string(), WEFT_BIN, arguments).c_str());
        return WEXITSTATUS(code);
    };
    const auto output = [&] { return read_text(scratch.path / "stdout"); };
    CHECK(run("stat a.prog b.prog") == 0);
    CHECK(run("hash a.prog") == 0);
    CHECK(output() == to_hex(AnyArtifact((scratch.path / "a.prog").string()).hash()) + "  a.prog\n");
    CHECK(run("diff a.prog a.prog") == 0);
    CHECK(output().empty());
    CHECK(run("diff a.prog b.prog") == 1);
    CHECK(output() == "depth: 1 != 4\n");
    CHECK(run("verify a.prog b.prog") == 0);
    CHECK(run("verify damaged.prog a.prog") == 3);
    CHECK(output().find("a.prog\tok") != std::string::npos);
    CHECK(run("stat missing.prog") == 3);
    CHECK(run("stat stderr") == 3);
    CHECK(run("dump a.prog --columns nonsense") == 1);
    CHECK(run("dump a.prog --where nonsense=1") == 1);
    CHECK(run("dump a.prog --where nonsense") == 2);
    CHECK(run("dump a.prog --where row=0 --where 'row < 1' --json") == 0);
    CHECK(run("schema graph") == 0);
    CHECK(run("schema nonsense") == 2);
    CHECK(run("") == 2);
    CHECK(run("frobnicate a.prog") == 2);
    CHECK(run("stat a.prog > /dev/full; exit $?") == 4);
    CHECK(run("--help") == 0);
    CHECK(output().find("Examples:") != std::string::npos);
}

}  // namespace
