#include "network.h"

#include <algorithm>
#include <charconv>

#include "base/checked.h"

namespace weft {
namespace {

constexpr std::uint64_t latency_limit_ps = 4'000'000'000;   // the column has 32 bits

/// Row or column of a switch in the link table; none where the chip has no such switch.
std::optional<std::size_t> switch_index(const std::string& key, const TargetColumns& target, const std::string& where) {
    int id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) bad_input("{}: '{}' is not a switch number", where, key);
    if (id == target.memory_switch_id) return target.core_count;
    if (id < 0 || static_cast<std::uint32_t>(id) >= target.core_count) return std::nullopt;
    return static_cast<std::size_t>(id);
}

std::uint32_t latency_ps(const nlohmann::json& value, const std::string& where, std::vector<std::string>& notes) {
    if (!value.is_number()) bad_input("{}: {} is not a number", where, value.dump());
    const double ns = value.get<double>();
    if (!(ns >= 0) || ns * 1000 > static_cast<double>(latency_limit_ps)) bad_input("{}: {} ns is impossible, must lie in 0..4000000", where, ns);
    const double ps = ns * 1000;
    const auto rounded = std::llround(ps);
    if (std::abs(ps - static_cast<double>(rounded)) > 1e-6) notes.push_back(fmt::format("{}: {} ns is rounded to whole picoseconds", where, ns));
    return static_cast<std::uint32_t>(rounded);
}

void read_table(const std::filesystem::path& file, ResolvedTarget& result) {
    const nlohmann::json json = parse_json_file(file);
    const std::string name = file.string();
    if (!json.is_object() || !json.contains("latency") || !json.contains("energy")) {
        bad_input("{}: a network table needs the keys 'latency' and 'energy' (energy may be empty)", name);
    }
    for (const auto& [key, value] : json.items()) {
        if (key != "latency" && key != "energy") result.unknown_keys.push_back(fmt::format("{}: /{}", name, key));
    }
    result.ignored_keys.push_back(fmt::format("{}: /energy", name));
    TargetColumns& target = result.columns;
    const std::size_t switches = std::size_t{target.core_count} + 1;
    std::size_t outside = 0;
    if (!json["latency"].is_object()) bad_input("{}: /latency must be an object", name);
    for (const auto& [source_key, row] : json["latency"].items()) {
        const std::string where = fmt::format("{}: /latency/{}", name, source_key);
        const auto source = switch_index(source_key, target, where);
        if (!row.is_object()) bad_input("{} must be an object", where);
        for (const auto& [destination_key, value] : row.items()) {
            const auto destination = switch_index(destination_key, target, where);
            const std::uint32_t ps = latency_ps(value, fmt::format("{}/{}", where, destination_key), result.notes);
            if (!source.has_value() || !destination.has_value()) {
                ++outside;
            } else {
                target.link_latency_ps[*source * switches + *destination] = ps;
            }
        }
    }
    if (outside != 0) result.notes.push_back(fmt::format("{}: {} links belong to switches that the chip does not have", name, outside));
}

void apply_mesh_rule(JsonSection rule, TargetColumns& target) {
    const auto nanoseconds = [&](std::string_view key, double standard) {
        const std::uint64_t ps = rule.femtoseconds(key, standard) / 1000;
        if (ps > latency_limit_ps / 4096) rule.impossible(key, "too long for a link");
        return static_cast<std::uint32_t>(ps);
    };
    const std::uint32_t base = nanoseconds("base_ns", 2);
    const std::uint32_t hop = nanoseconds("hop_ns", 2);
    const std::uint32_t memory = nanoseconds("memory_ns", 15);
    rule.finish();
    const std::uint32_t cores = target.core_count;
    const std::uint32_t columns = target.network.layout_columns;
    const std::size_t switches = std::size_t{cores} + 1;
    const auto distance = [](std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; };
    for (std::uint32_t source = 0; source < cores; ++source) {
        for (std::uint32_t destination = 0; destination < cores; ++destination) {
            if (source == destination) continue;   // the simulator takes 0 for pairs that its table does not list
            const std::uint32_t hops = distance(source / columns, destination / columns) + distance(source % columns, destination % columns);
            target.link_latency_ps[source * switches + destination] = narrow<std::uint32_t>(base + std::uint64_t{hops} * hop);
        }
        target.link_latency_ps[source * switches + cores] = memory;
        target.link_latency_ps[cores * switches + source] = memory;
    }
}

}  // namespace

void read_network(JsonSection section, const std::filesystem::path& chip_file, ResolvedTarget& result) {
    TargetColumns& target = result.columns;
    target.network.bus_width_bytes = static_cast<std::uint32_t>(section.integer("bus_width", 16, 1, 1 << 24));
    if (!section.has("layout")) section.impossible("layout", "must be given, [rows, columns]; the simulator has no usable default");
    const auto [rows, columns] = section.pair("layout", {0, 0}, 1, 1 << 15);
    target.network.layout_rows = static_cast<std::uint32_t>(rows);
    target.network.layout_columns = static_cast<std::uint32_t>(columns);
    section.ignore({"bus_topology"});
    const std::size_t switches = std::size_t{target.core_count} + 1;
    target.link_latency_ps.assign(switches * switches, 0);
    const bool by_rule = section.has("weft_mesh");
    const std::string table = section.text("net_config_file_path", "");
    if (by_rule) {
        if (rows * columns < target.core_count) {
            section.impossible("layout", fmt::format("{} x {} places are too few for {} cores", rows, columns, target.core_count));
        }
        apply_mesh_rule(section.section("weft_mesh"), target);
        if (!table.empty()) result.notes.push_back(section.path_of("net_config_file_path") + ": not read, the rule in weft_mesh decides");
    } else if (table.empty()) {
        section.impossible("net_config_file_path", "there is neither a network table nor the rule weft_mesh");
    } else {
        result.network_file = chip_file.parent_path() / table;
        read_table(result.network_file, result);
    }
    section.finish();
}

nlohmann::ordered_json network_json(const Target& target, double energy_pj) {
    const std::size_t switches = std::size_t{target.core_count} + 1;
    const std::string memory = std::to_string(target.memory_switch_id);
    const auto key = [&](std::size_t at) { return at == target.core_count ? memory : std::to_string(at); };
    nlohmann::ordered_json latency = nlohmann::ordered_json::object();
    nlohmann::ordered_json energy = nlohmann::ordered_json::object();
    for (std::size_t source = 0; source < switches; ++source) {
        auto& latency_row = latency[key(source)] = nlohmann::ordered_json::object();
        auto& energy_row = energy[key(source)] = nlohmann::ordered_json::object();
        for (std::size_t destination = 0; destination < switches; ++destination) {
            if (source == destination) continue;
            const std::uint32_t ps = target.link_latency_ps[source * switches + destination];
            if (ps % 1000 == 0) {
                latency_row[key(destination)] = ps / 1000;
            } else {
                latency_row[key(destination)] = ps / 1000.0;
            }
            energy_row[key(destination)] = energy_pj;
        }
    }
    return {{"latency", std::move(latency)}, {"energy", std::move(energy)}};
}

nlohmann::ordered_json simulator_chip_json(const std::filesystem::path& chip_file, const std::string& network_path) {
    auto json = nlohmann::ordered_json::parse(parse_json_file(chip_file).dump());
    auto& network = json["chip_config"]["network_config"];
    network.erase("weft_mesh");
    network["net_config_file_path"] = network_path;
    return json;
}

}  // namespace weft
