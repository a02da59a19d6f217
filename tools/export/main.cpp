#include <map>

#include "base/tool.h"
#include "export/export.h"

int main(int argc, char** argv) {
    weft::Tool tool("export", "Write a program for the public simulator or for a native loader, as a folder.",
                    "Examples:\n"
                    "  weft-export net-0.prog --target chip.target -o net.pimsim\n"
                    "      then: ChipTest net.pimsim net.pimsim/chip.json\n"
                    "  weft-export net-0.prog --target chip.target -o net.latency --sim-mode 1\n"
                    "  weft-export net-0.prog --target chip.target -o net.native --format native-json");
    std::string program_path;
    std::string target_path;
    std::string directory;
    weft::ExportOptions options;
    const std::map<std::string, weft::ExportFormat> formats = {{"pimsim-binary", weft::ExportFormat::pimsim_binary},
                                                               {"pimsim-json", weft::ExportFormat::pimsim_json},
                                                               {"native-json", weft::ExportFormat::native_json}};
    auto& app = tool.app();
    app.add_option("PROGRAM", program_path, "The program (.prog)")->required()->type_name("");
    app.add_option("--target", target_path, "The chip (.target)")->required()->type_name("FILE");
    tool.add_output(directory, "Folder to write; an earlier export there is replaced");
    app.add_option("--format", options.format, "pimsim-binary (default), pimsim-json, or native-json (32-bit floats)")
        ->transform(CLI::CheckedTransformer(formats, CLI::ignore_case).description(""))
        ->type_name("FORMAT");
    app.add_option("--sim-mode", options.simulation.mode, "0: rounds without end, for --sim-time-ms (default); 1: every list once")
        ->check(CLI::IsMember({0, 1}).description(""))
        ->type_name("MODE");
    app.add_option("--sim-time-ms", options.simulation.time_ms, "Simulated milliseconds in mode 0")
        ->check(CLI::PositiveNumber.description(""))
        ->capture_default_str()
        ->type_name("MS");
    app.add_option("--latency-timeout-ms", options.simulation.latency_timeout_ms, "Simulated milliseconds after which mode 1 gives up")
        ->check(CLI::PositiveNumber.description(""))
        ->capture_default_str()
        ->type_name("MS");
    app.add_option("--repeat", options.repeats, "Write every core's list this many times in a row (to measure intervals in mode 1)")
        ->check(CLI::Range(1U, 1000000U).description(""))
        ->capture_default_str()
        ->type_name("N");

    return tool.run(argc, argv, [&] {
        const weft::Artifact<weft::Program> program(program_path);
        const weft::Artifact<weft::Target> target(target_path);
        tool.note_input(program_path);
        tool.note_input(target_path);
        export_program(*program, *target, options, program.name(), directory);
        tool.note_output(directory);
        std::uint64_t instructions = 0;
        for (std::size_t core = 0; core + 1 < program->core_first_run.size(); ++core) instructions += executed_count(*program, core);
        tool.report()["instructions"] = instructions;
        tool.report()["cores"] = program->core_first_run.size() - 1;
        tool.report()["depth"] = program->depth;
    });
}
