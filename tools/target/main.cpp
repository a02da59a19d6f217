#include "artifact/file.h"
#include "base/tool.h"
#include "target.h"

namespace {

constexpr const char* examples = R"(Examples:
  weft-target targets/isaac-168x96.json -o isaac.target
  weft-target chip.json -o chip.target --report chip-report.json
  weft-target targets/puma-138x128.json -o puma.target --write-network puma-mesh.json --write-chip puma-sim.json
)";

struct Options {
    std::string chip;
    std::string output;
    std::string name;
    std::string network;
    std::string simulator_chip;
};

void print_notes(weft::Tool& tool, const weft::ResolvedTarget& resolved) {
    for (const auto& key : resolved.unknown_keys) tool.warn(key + ": unknown key, ignored");
    for (const auto& note : resolved.notes) tool.warn(note);
    if (!resolved.ignored_keys.empty()) {
        fmt::print(stderr, "weft-target: note: {} keys have no influence on time (powers and the like; --report lists them)\n",
                   resolved.ignored_keys.size());
    }
}

void run(weft::Tool& tool, const Options& options) {
    const std::filesystem::path chip_file = options.chip;
    const std::string name = options.name.empty() ? chip_file.stem().string() : options.name;
    const weft::ResolvedTarget resolved = weft::resolve_target(chip_file, name);
    tool.note_input(options.chip);
    if (!resolved.network_file.empty()) tool.note_input(resolved.network_file.string());
    print_notes(tool, resolved);
    const weft::Target target = weft::view(resolved.columns);
    const weft::Hash128 hash = weft::write_artifact(options.output, target);
    tool.note_output(options.output);
    if (!options.network.empty()) {
        weft::publish_text(options.network, weft::network_json(target, 46).dump() + "\n");
        tool.note_output(options.network);
    }
    if (!options.simulator_chip.empty()) {
        weft::publish_text(options.simulator_chip, weft::simulator_chip_json(chip_file, options.network).dump(1) + "\n");
        tool.note_output(options.simulator_chip);
    }
    auto& report = tool.report();
    report["target"] = weft::describe_target(target);
    report["hash"] = weft::to_hex(hash);
    report["unknown_keys"] = resolved.unknown_keys;
    report["ignored_keys"] = resolved.ignored_keys;
    report["notes"] = resolved.notes;
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("target", "Resolves a chip description in the simulator's JSON form into a .target", examples);
    Options options;
    tool.app().add_option("CHIP", options.chip, "Chip description (JSON)")->required();
    tool.add_output(options.output, "The .target to write");
    tool.app().add_option("--name", options.name, "Name of the target; default: the file's");
    auto* network = tool.app().add_option("--write-network", options.network, "Also write the link table in the simulator's form")->type_name("FILE");
    tool.app().add_option("--write-chip", options.simulator_chip, "Also write the chip file in the simulator's form, naming that table")
        ->type_name("FILE")
        ->needs(network);
    return tool.run(argc, argv, [&] { run(tool, options); });
}
