#include <cstdio>
#include <iostream>

#include "base/tool.h"
#include "inspect/inspect.h"

namespace {

using weft::AnyArtifact;

struct Options {
    std::vector<std::string> files;
    bool json = false;
    weft::DumpOptions dump;
    std::vector<std::string> where;
    std::size_t limit = 10;
    std::string schema_of;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void add_files(CLI::App* command, Options& options) {
    command->add_option("FILE", options.files, "Artifacts")->required()->type_name("");
}

void stat(const Options& options) {
    bool first = true;
    for (const auto& file : options.files) {
        const AnyArtifact artifact(file);
        if (!first && !options.json) print("\n");
        print(options.json ? stat_json(artifact) : stat_text(artifact));
        first = false;
    }
}

/// Every file is looked at before the first failure decides the status.
void verify(const Options& options) {
    std::size_t bad = 0;
    for (const auto& file : options.files) {
        try {
            const AnyArtifact artifact(file);
            print(fmt::format("{}\tok\t{}\t{}\t{}\n", file, artifact.kind(), artifact.byte_count(), to_hex(artifact.hash())));
        } catch (const weft::Failure& failure) {
            if (failure.status() != weft::ExitStatus::bad_input) throw;
            ++bad;
            std::fflush(stdout);
            fmt::print(stderr, "weft-inspect: error: {}\n", failure.what());
        }
    }
    if (bad != 0) weft::bad_input("{} of {} files are no good artifacts", bad, options.files.size());
}

void dump(const Options& options) {
    for (const auto& file : options.files) {
        const AnyArtifact artifact(file);
        print(options.json ? dump_json(artifact, options.dump) : dump_text(artifact, options.dump));
    }
}

void diff(const Options& options) {
    if (options.files.size() != 2) throw weft::Failure(weft::ExitStatus::usage, "diff needs two files");
    const AnyArtifact left(options.files[0]);
    const AnyArtifact right(options.files[1]);
    const weft::Difference result = difference(left, right, options.limit);
    print(result.text);
    if (result.columns != 0) {
        weft::refuse("{} and {} differ in {} of {} columns", left.name(), right.name(), result.columns, left.columns().size());
    }
}

void hash(const Options& options) {
    for (const auto& file : options.files) {
        const weft::MappedFile mapped(file);
        print(fmt::format("{}  {}\n", to_hex(weft::hash_bytes(mapped.bytes())), file));
    }
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("inspect", "Look into any artifact: figures, columns, differences, hashes, schemas.",
                    "Examples:\n"
                    "  weft-inspect stat net-0.prog                        kind, hash, key figures, columns\n"
                    "  weft-inspect verify *.graph *.tasks                 check files; status 3 where one is damaged\n"
                    "  weft-inspect dump net-0.prog --columns runs --head 20\n"
                    "  weft-inspect dump net.timing --columns cores --where 'wait_ns > 1000000' --where messages!=0\n"
                    "  weft-inspect dump net.graph --json --names | jq .nodes\n"
                    "  weft-inspect diff old.sched new.sched               rows and columns that differ; status 1 if any\n"
                    "  weft-inspect hash net-0.prog                        XXH3-128, as xxhsum -H2 prints it\n"
                    "  weft-inspect schema program > program.fbs           for flatc and other readers");
    auto& app = tool.app();
    app.require_subcommand(1);
    Options options;

    auto* stat_command = app.add_subcommand("stat", "Kind, size, hash, key figures, rows and bytes per column");
    add_files(stat_command, options);
    stat_command->add_flag("--json", options.json, "One JSON object per file");

    auto* verify_command = app.add_subcommand("verify", "Check structure and rules of every file");
    add_files(verify_command, options);

    auto* dump_command = app.add_subcommand("dump", "Print columns as tab-separated tables or JSON");
    add_files(dump_command, options);
    dump_command->add_option("--columns", options.dump.columns, "Only these columns, comma-separated")->delimiter(',')->type_name("NAMES");
    dump_command->add_option("--where", options.where, "Only rows for which this holds: FIELD OP VALUE, OP = != < <= > >= or ~ (contains); may be repeated")
        ->type_name("CONDITION")
        ->expected(1)
        ->take_all();
    dump_command->add_option("--first", options.dump.first_row, "First row to print")->type_name("ROW");
    dump_command->add_option("--head", options.dump.row_count, "At most this many rows per column")->type_name("N");
    dump_command->add_flag("--json", options.json, "JSON instead of tables");
    dump_command->add_flag("--names", options.dump.names, "Print names instead of their offsets");

    auto* diff_command = app.add_subcommand("diff", "Name the rows and columns in which two artifacts differ");
    add_files(diff_command, options);
    diff_command->add_option("--limit", options.limit, "Differences to print per column")->capture_default_str();

    auto* hash_command = app.add_subcommand("hash", "XXH3-128 of any file");
    add_files(hash_command, options);

    auto* schema_command = app.add_subcommand("schema", "Print the schema of a kind");
    schema_command->add_option("KIND", options.schema_of, "graph, target, tasks, schedule, candidates, program, timing, selection")
        ->required()
        ->type_name("");

    return tool.run(argc, argv, [&] {
        for (const auto& file : options.files) tool.note_input(file);
        if (stat_command->parsed()) stat(options);
        if (verify_command->parsed()) verify(options);
        for (const auto& condition : options.where) options.dump.where.emplace_back(condition);
        if (dump_command->parsed()) dump(options);
        if (diff_command->parsed()) diff(options);
        if (hash_command->parsed()) hash(options);
        if (schema_command->parsed()) print(weft::schema_text(options.schema_of));
    });
}
