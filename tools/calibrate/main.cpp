#include "artifact/file.h"
#include "base/tool.h"
#include "calibrate/calibrate.h"

namespace {

using namespace weft;

constexpr const char* examples = R"(Examples:
  weft-calibrate profile.json --target c600.target -o c600.kernels
  weft-calibrate monday.json tuesday.json --merge -o both.kernels
  weft-calibrate c600.kernels --export profile.json
  weft-prepare net.graph --target c600.target --kernels c600.kernels -o net.tasks
  scripts/calibrate-pim --chip chip.json -o chip.kernels      # the same for a chip with crossbars, from simulator runs

Inputs are measurement tables in the profile exporter's JSON, or .kernels files. Two records of one kernel are an error unless
--merge is given. With --target every record gets the analytical model's error, which breaks ties between plans.)";

struct Options {
    std::vector<std::string> inputs;
    std::string output;
    std::string export_path;
    std::string target;
    std::string build;
    bool merge = false;
};

bool is_kernels(const MappedFile& file) {
    const auto bytes = file.bytes();
    const std::string_view identifier = ArtifactTraits<Kernels>::identifier;
    return bytes.size() >= 8 && std::equal(identifier.begin(), identifier.end(), reinterpret_cast<const char*>(bytes.data()) + 4);
}

Measurements read(Tool& tool, const std::string& path) {
    tool.note_input(path);
    Measurements result;
    if (is_kernels(MappedFile(path))) {
        const Artifact<Kernels> kernels(path);
        result.records = records_of(*kernels);
        result.clock_hz = kernels->clock_hz;
        return result;
    }
    try {
        result = import_measurements(nlohmann::json::parse(read_text(path)), path);
    } catch (const nlohmann::json::exception& error) {
        bad_input("{}: neither a .kernels artifact nor JSON: {}", path, error.what());
    }
    for (const std::string& field : result.unknown_fields) tool.warn(fmt::format("{}: {}: unknown field, kept as it is", path, field));
    return result;
}

Measurements read_all(Tool& tool, const Options& options) {
    Measurements all;
    for (const std::string& path : options.inputs) {
        Measurements one = read(tool, path);
        if (&path != &options.inputs.front() && one.clock_hz != all.clock_hz) {
            bad_input("{}: its clock of {} Hz is not the first file's {} Hz; cycles of different clocks do not mix", path, one.clock_hz, all.clock_hz);
        }
        all.clock_hz = one.clock_hz;
        all.records.insert(all.records.end(), one.records.begin(), one.records.end());
    }
    if (!options.build.empty()) std::erase_if(all.records, [&](const KernelRecord& record) { return record.build != options.build; });
    return all;
}

void run(Tool& tool, const Options& options) {
    if (options.output.empty() && options.export_path.empty()) throw Failure(ExitStatus::usage, "-o FILE or --export FILE is needed");
    Measurements all = read_all(tool, options);
    if (options.merge) all.records = merge_records(std::move(all.records), options.inputs.front());
    const KernelTable checked(all.records, "", "", options.inputs.front());   // refuses duplicates
    tool.report()["records"] = all.records.size();
    if (!options.target.empty()) {
        const Artifact<Target> target(options.target);
        tool.note_input(options.target);
        tool.report()["records_with_model"] = set_errors(*target, all.records);
    }
    for (const FamilyError& family : family_errors(all.records)) {
        tool.report()["families"].push_back({{"kind", family.kind}, {"category", family.category}, {"records", family.records},
                                             {"bias_ppm", family.bias_ppm}, {"spread_ppm", family.spread_ppm}});
    }
    const KernelsColumns kernels = kernels_of(all.records, all.clock_hz == 0 ? KernelUnit::Nanoseconds : KernelUnit::Cycles, all.clock_hz);
    if (!options.output.empty()) {
        write_artifact(options.output, view(kernels));
        tool.note_output(options.output);
    }
    if (!options.export_path.empty()) {
        publish_text(options.export_path, export_measurements(records_of(view(kernels)), all.clock_hz).dump(1) + "\n");
        tool.note_output(options.export_path);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Tool tool("calibrate", "Builds the database of measured kernels (.kernels) from measurement tables.", examples);
    Options options;
    tool.app().add_option("INPUT", options.inputs, "Measurement tables (JSON) or .kernels files")->required();
    tool.app().add_flag("--merge", options.merge, "Merge records of the same kernel");
    tool.app().add_option("--target", options.target, "Target whose analytical model the records are compared with")->type_name("FILE");
    tool.app().add_option("--only-build", options.build, "Keep records of this kernel build only");
    tool.app().add_option("--export", options.export_path, "Also write the records as JSON")->type_name("FILE");
    tool.add_output(options.output, "The .kernels to write", false);
    return tool.run(argc, argv, [&] { run(tool, options); });
}
