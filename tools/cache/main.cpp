#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/tool.h"
#include "cache/maintain.h"
#include "cache/run.h"

namespace {

using namespace weft::cache;

constexpr const char* examples = R"(Examples:
  weft-cache --store S --in net.tasks --in net-0.sched --in chip.target --out net-0.prog -- \
             weft-lower net.tasks net-0.sched --target chip.target -o net-0.prog
  weft-cache --store S stats                      objects, bytes, what was made and reused
  weft-cache --store S fsck                       reads everything; damaged objects go into quarantine
  weft-cache --store S gc --keep-days 30          says what would go; --really does it
  weft-cache --store S explain-miss --in ... --out ... -- weft-lower ...    why this would run

Runs COMMAND, or puts the stored results of the same program with the same arguments and the same input contents in place: links into
the store. Status: the command's, or 3 (bad input), 4 (system), 1 (--check found other results; fsck found damage).)";

struct Options {
    std::string store;
    std::string hash;
    bool read_only = false;
    bool copy = false;
    std::string launcher;
    std::string check_arguments;
    std::string root;
    Action action;
    RunOptions run;
    GcOptions gc;
};

void add_action_options(CLI::App& app, Options& options) {
    Action& action = options.action;
    const auto many = [&](const char* name, std::vector<std::string>& values, const char* text, const char* type) {
        app.add_option(name, values, text)->type_name(type)->expected(1)->take_all();
    };
    many("--in", action.inputs, "Input file: its contents decide, its path does not", "FILE");
    many("--out", action.outputs, "File that the command writes", "FILE");
    many("--out-optional", action.optional_outputs, "File that it may write", "FILE");
    many("--out-pattern", action.patterns, "Files that it writes beside the first --out, e.g. 'net-*.sched'", "NAMES");
    many("--out-folder", action.folders, "Folder that it writes as a whole", "DIR");
    many("--out-blobs", action.blobs, "Folder that it adds weight tensors to", "DIR");
    many("--log", action.logs, "File that it writes and that may differ between runs (a report)", "FILE");
    app.add_option("--deps", action.depfile, "Make dependencies that it writes: further inputs")->type_name("FILE");
    app.add_option("--refusal", action.refusal, "Status 1 is a result: its messages go here, other outputs are removed")->type_name("FILE");
    many("--env", action.environment, "Environment variable that it depends on", "NAME");
    many("--key", action.salt, "Anything else that it depends on", "TEXT");
    many("--ignore-option", action.ignored_options, "Option (with its value) that does not change results, e.g. -j", "OPTION");
}

void add_options(CLI::App& app, Options& options) {
    app.add_option("--store", options.store, "The store; made where it does not exist")->required()->type_name("DIR");
    app.add_option("--hash", options.hash, "Names of objects in a new store: xxh3-128 (default), or sha256 for stores that others write too")->type_name("NAME");
    app.add_flag("--read-only", options.read_only, "Use what is stored, store nothing");
    add_action_options(app, options);
    app.add_flag("--copy", options.copy, "Files of their own instead of links into the store");
    app.add_option("--launcher", options.launcher, "Words before the command where it must run, e.g. 'srun -n1 -c4'")->type_name("WORDS");
    app.add_option("--stamp", options.run.stamp, "File to touch when all is in place (for Make)")->type_name("FILE");
    app.add_option("--say", options.run.label, "Print this name and the first output when the command runs, with '(stored)' when it need not")->type_name("NAME");
    app.add_option("--root", options.root, "Register this folder: gc keeps what its links point at")->type_name("DIR");
    app.add_flag("--discard-output", options.run.discard_output, "Throw away what the command prints on standard output");
    app.add_flag("--check", options.run.check, "Run (again) in other surroundings and compare; status 1 where a byte differs");
    app.add_option("--check-arguments", options.check_arguments, "Arguments added in that run, e.g. '-j 8'")->type_name("WORDS");
    app.add_option("--wait", options.run.wait_seconds, "Seconds to wait for another process with the same action")->type_name("N")->capture_default_str();
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

void print_gc(const GcReport& report, bool really) {
    fmt::print("{}\t{} objects, {} bytes, {} records\n", really ? "to trash" : "would go to trash", report.objects, report.bytes, report.actions);
    fmt::print("{}\t{} old files of trash, tmp, inputs, locks\n", really ? "removed" : "would be removed", report.emptied);
    fmt::print("kept\t{} objects\n", report.kept_objects);
    for (const auto& root : report.lost_roots) fmt::print("registered folder is gone\t{}\n", root);
    if (!really) fmt::print("nothing was changed; add --really\n");
}

void fsck(const Store& store) {
    const FsckReport report = check_store(store);
    for (const auto& problem : report.problems) fmt::print("{}\n", problem);
    fmt::print("{} objects, {} records, {} problems\n", report.objects, report.actions, report.problems.size());
    if (!report.problems.empty()) {
        weft::refuse("{}: {} damaged or missing files{}", store.root().string(), report.problems.size(),
                     store.read_only() ? "" : "; they are in quarantine and will be made again when needed");
    }
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("cache", "Run a command, or reuse its stored results: content-hash reuse, local or on a shared file system.", examples);
    Options options;
    CLI::App& app = tool.app();
    add_options(app, options);
    app.require_subcommand(0, 1);
    auto* stats_command = app.add_subcommand("stats", "What is in the store, and how often it helped");
    auto* gc_command = app.add_subcommand("gc", "Remove what no root and no lately used record names; says only what it would do");
    gc_command->add_option("--keep-days", options.gc.keep_days, "Records used within this time keep their results")->type_name("DAYS")->capture_default_str();
    gc_command->add_option("--grace-days", options.gc.grace_days, "Nothing younger goes; longer than the longest job")->type_name("DAYS")->capture_default_str();
    gc_command->add_flag("--really", options.gc.really, "Do it");
    auto* fsck_command = app.add_subcommand("fsck", "Read everything; status 1 where something is damaged");
    auto* explain_command = app.add_subcommand("explain-miss", "Which part of the key differs from the nearest stored result");
    explain_command->fallthrough();
    for (auto* command : {stats_command, gc_command, fsck_command}) command->fallthrough();

    char** const separator = std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
    for (char** word = separator; word < argv + argc; ++word) {
        if (word != separator) options.action.command.emplace_back(*word);
    }
    int status = 0;
    const int failed = tool.run(static_cast<int>(separator - argv), argv, [&] {
        std::optional<Algorithm> algorithm;
        if (!options.hash.empty()) algorithm = parse_algorithm(options.hash);
        Store store(options.store, algorithm, options.read_only || explain_command->parsed());
        if (!options.root.empty()) add_root(store, options.root);
        const bool has_command = !options.action.command.empty();
        if (app.get_subcommands().empty() || explain_command->parsed()) {
            if (!has_command) throw weft::Failure(weft::ExitStatus::usage, "no command; write it behind --");
        }
        if (stats_command->parsed()) fmt::print("{}", figures_text(store, store_figures(store)));
        else if (gc_command->parsed()) print_gc(collect_garbage(store, options.gc), options.gc.really);
        else if (fsck_command->parsed()) fsck(store);
        else if (explain_command->parsed()) fmt::print("{}", explain_miss(store, options.action));
        else {
            options.run.placement = options.copy ? Placement::copy : Placement::link;
            options.run.launcher = words_of(options.launcher);
            options.run.check_arguments = words_of(options.check_arguments);
            options.run.warn = [&](const std::string& text) { tool.warn(text); };
            status = run_action(store, options.action, options.run);
        }
    });
    return failed != 0 ? failed : status;
}
