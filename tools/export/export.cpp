#include "export/export.h"

#include <fmt/ranges.h>

#include "export/directory.h"
#include "export/projection.h"

namespace weft {

void refuse_traps(const Program& program, const Target& target, ExportFormat format, std::string_view file) {
    const auto traps = find_traps(program, target, format);
    if (!traps.empty()) refuse("{}: the simulator cannot run this program as it is meant:\n  {}", file, fmt::join(traps, "\n  "));
}

void export_program(const Program& program, const Target& target, const ExportOptions& options, std::string_view file,
                    const std::filesystem::path& directory) {
    if (target.family != TargetFamily::Pim) refuse("{}: a program of family '{}'; only 'pim' programs have a simulator form", file, fbs::EnumNameTargetFamily(target.family));
    refuse_traps(program, target, options.format, file);
    const bool native = options.format == ExportFormat::native_json;
    if (native && program.value_kind != ValueKind::F32) refuse("{}: only its times are known, not its values; there is no native form", file);
    std::vector<Instruction> scaled;
    if (native) scaled = native_instructions(program, file);
    const std::span<const Instruction> rows = native ? std::span<const Instruction>(scaled) : program.instructions;

    DirectoryPublisher publisher(directory);
    publisher.add("config.json", program_config_json(program));
    for (std::size_t core = 0; core + 1 < program.core_first_run.size(); ++core) {
        if (options.format == ExportFormat::pimsim_binary) {
            publisher.add(fmt::format("core_{}.pim", core), core_binary(program, rows, core, options.repeats));
        } else {
            publisher.add(fmt::format("core_{}.json", core), core_json(program, rows, core, options.repeats));
        }
    }
    if (native) {
        publisher.add("image.json", native_image_json(program));
    } else {
        publisher.add("chip.json", chip_json(target, options.simulation));
        publisher.add("network.json", network_json(target));
    }
    publisher.publish();
}

}  // namespace weft
