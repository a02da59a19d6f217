#include "calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/checked.h"
#include "ipu21/kernel_costs.h"
#include "pim/timing.h"

namespace weft {
namespace {

constexpr std::uint64_t cycle_limit = std::uint64_t{1} << 40U;

constexpr std::size_t most_levels = 64;

/// Nested so deeply that writing it would take a stack to match.
bool is_deep(const nlohmann::json& value) {
    std::vector<std::pair<const nlohmann::json*, std::size_t>> open{{&value, 1}};
    while (!open.empty()) {
        const auto [at, level] = open.back();
        open.pop_back();
        if (level > most_levels) return true;
        if (!at->is_structured()) continue;
        for (const nlohmann::json& inner : *at) open.emplace_back(&inner, level + 1);
    }
    return false;
}

std::string shown(const nlohmann::json& value) { return value.is_structured() ? "a list or an object" : value.dump(); }

/// An object that was kept as text; null where nothing was.
nlohmann::json kept_fields(const std::string& text) {
    if (text.empty()) return nlohmann::json::object();
    nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object() || is_deep(object)) bad_input("what was kept of a measurement table is no JSON object: {}", text.substr(0, 80));
    return object;
}

/// Adds what was kept to `entry`, whose own fields stay.
void add_fields(nlohmann::ordered_json& entry, const nlohmann::json& fields) {
    for (const auto& [name, value] : fields.items()) {
        if (!entry.contains(name)) entry[name] = value;
    }
}

/// Look-ups in one JSON object that name their place where they fail.
class Fields {
public:
    Fields(const nlohmann::json& object, std::string place, const std::string& file, std::vector<std::string>& unknown)
        : object_(object), place_(std::move(place)), file_(file), unknown_(unknown) {
        if (!object_.is_object()) bad_input("{}: {} must be an object", file_, place_.empty() ? "the file" : place_);
    }

    [[nodiscard]] const nlohmann::json* find(const char* name) {
        known_.emplace_back(name);
        const auto at = object_.find(name);
        return at == object_.end() ? nullptr : &*at;
    }
    [[nodiscard]] std::uint64_t number(const char* name, std::uint64_t least) {
        const auto* value = find(name);
        if (value == nullptr) bad_input("{}: {}/{} is missing", file_, place_, name);
        return checked_number(*value, name, least);
    }
    [[nodiscard]] std::uint64_t number_or(const char* name, std::uint64_t standard, std::uint64_t least) {
        const auto* value = find(name);
        return value == nullptr ? standard : checked_number(*value, name, least);
    }
    [[nodiscard]] std::string text_or(const char* name, const std::string& standard) {
        const auto* value = find(name);
        if (value == nullptr) return standard;
        if (!value->is_string()) bad_input("{}: {}/{} must be a text", file_, place_, name);
        return value->get<std::string>();
    }
    /// All other fields as an object's text; empty where there are none.
    std::string rest() {
        nlohmann::json others = nlohmann::json::object();
        for (const auto& [name, value] : object_.items()) {
            if (std::ranges::find(known_, name) != known_.end()) continue;
            if (is_deep(value)) bad_input("{}: {}/{} is nested deeper than {} levels", file_, place_, name, most_levels);
            unknown_.push_back(fmt::format("{}/{}", place_, name));
            others[name] = value;
        }
        return others.empty() ? "" : others.dump();
    }

private:
    [[nodiscard]] std::uint64_t checked_number(const nlohmann::json& value, const char* name, std::uint64_t least) const {
        const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
        if (!whole || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() >= cycle_limit) {
            bad_input("{}: {}/{} is {}, must be a whole number of at least {}", file_, place_, name, shown(value), least);
        }
        return value.get<std::uint64_t>();
    }

    const nlohmann::json& object_;
    std::string place_;
    const std::string& file_;
    std::vector<std::string>& unknown_;
    std::vector<std::string> known_;
};

KernelKey key_of(const nlohmann::json& json, const std::string& place, const std::string& file, std::vector<std::string>& unknown, std::string& rest) {
    Fields fields(json, place, file, unknown);
    KernelKey key;
    key.kind = fields.text_or("kernel", "");
    if (key.kind.empty()) bad_input("{}: {}/kernel is missing", file, place);
    const auto* dimensions = fields.find("dimensions");
    rest = fields.rest();
    if (dimensions == nullptr) return key;
    if (!dimensions->is_object()) bad_input("{}: {}/dimensions must be an object", file, place);
    for (const auto& [name, value] : dimensions->items()) {   // sorted by name
        // Conditions of access are told apart, not interpolated between, also where they are written as numbers.
        const bool condition = name == "align" || name == "tail";
        if (!condition && value.is_number_unsigned() && value.get<std::uint64_t>() < cycle_limit) {
            key.dims.emplace_back(name, value.get<std::uint64_t>());
        } else if (value.is_string() || value.is_boolean() || (condition && value.is_number_unsigned())) {
            const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
            if (text.find_first_of(",=") != std::string::npos || name.find_first_of(",=") != std::string::npos) {
                bad_input("{}: {}/dimensions/{}: ',' and '=' separate categories", file, place, name);
            }
            key.category += fmt::format("{}{}={}", key.category.empty() ? "" : ",", name, text);
        } else {
            bad_input("{}: {}/dimensions/{} is {}, must be a whole number or a text", file, place, name, shown(value));
        }
    }
    return key;
}

bool is_communication(const std::string& kind) { return kind == "exchange" || kind == "sync" || kind == "synchronisation"; }

KernelRecord record_of(const nlohmann::json& json, const std::string& place, const std::string& file, std::vector<std::string>& unknown) {
    Fields fields(json, place, file, unknown);
    KernelRecord record;
    const auto* key = fields.find("key");
    if (key == nullptr) bad_input("{}: {}/key is missing", file, place);
    record.key = key_of(*key, place + "/key", file, unknown, record.key_fields);
    record.samples = fields.number("samples", 1);
    const std::uint64_t merged = fields.number_or("mergedInvocations", 1, 1);
    record.tool = fields.text_or("toolVersion", "");
    record.date = fields.text_or("date", "");
    record.minimum = fields.number("minimumCycles", 0) / merged;
    record.median = fields.number("medianCycles", 0) / merged;
    record.p95 = fields.number("p95Cycles", 0) / merged;
    record.maximum = fields.number("maximumCycles", 0) / merged;
    record.merged = merged;
    record.profile = fields.text_or("profile", "");
    if (const auto* quarantined = fields.find("quarantined"); quarantined != nullptr && *quarantined == true) record.status = RecordStatus::quarantined;
    record.fields = fields.rest();
    if (record.minimum > record.median || record.median > record.p95 || record.p95 > record.maximum) {
        bad_input("{}: {}: minimum, median, 95th percentile and maximum must not fall", file, place);
    }
    return record;
}

}  // namespace

Measurements import_measurements(const nlohmann::json& json, const std::string& file) {
    Measurements result;
    Fields root(json, "", file, result.unknown_fields);
    const std::uint64_t version = root.number("schemaVersion", 1);
    if (version != 1) bad_input("{}: schemaVersion {} is not known (1 is)", file, version);
    const std::string target = root.text_or("target", "");
    const std::string build = root.text_or("buildId", "");
    const std::string tool = root.text_or("toolVersion", "");
    const std::string date = root.text_or("date", "");
    result.clock_hz = root.number_or("clockHz", 0, 1);
    const auto* measurements = root.find("measurements");
    if (measurements == nullptr || !measurements->is_array()) bad_input("{}: /measurements must be a list", file);
    const std::string table_fields = root.rest();
    for (std::size_t i = 0; i < measurements->size(); ++i) {
        KernelRecord record = record_of((*measurements)[i], fmt::format("/measurements/{}", i), file, result.unknown_fields);
        if (is_communication(record.key.kind)) continue;
        record.target = target;
        record.build = build;
        record.table_fields = table_fields;
        // Of a single record where it differs, as in an export of several tables.
        if (record.tool.empty()) record.tool = tool;
        if (record.date.empty()) record.date = date;
        result.records.push_back(std::move(record));
    }
    return result;
}

namespace {

/// Fields of the whole table on which all records agree.
nlohmann::json common_fields(const std::vector<KernelRecord>& records) {
    if (records.empty()) return nlohmann::json::object();
    nlohmann::json common = kept_fields(records.front().table_fields);
    for (const KernelRecord& record : records) {
        if (record.table_fields == records.front().table_fields) continue;
        const nlohmann::json other = kept_fields(record.table_fields);
        for (auto at = common.begin(); at != common.end();) at = other.contains(at.key()) && other[at.key()] == *at ? std::next(at) : common.erase(at);
    }
    return common;
}

nlohmann::ordered_json exported_key(const KernelRecord& record) {
    nlohmann::json dimensions = nlohmann::json::object();
    for (const auto& [name, value] : record.key.dims) dimensions[name] = value;
    for (std::size_t at = 0; at < record.key.category.size();) {
        const std::size_t end = std::min(record.key.category.find(',', at), record.key.category.size());
        const std::string pair = record.key.category.substr(at, end - at);
        dimensions[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
        at = end + 1;
    }
    nlohmann::ordered_json key = {{"kernel", record.key.kind}, {"dimensions", dimensions}};
    add_fields(key, kept_fields(record.key_fields));
    return key;
}

/// `common`: what the table says of all of them already.
nlohmann::ordered_json exported(const KernelRecord& record, const nlohmann::ordered_json& common) {
    nlohmann::ordered_json entry;
    entry["key"] = exported_key(record);
    entry["samples"] = record.samples;
    entry["minimumCycles"] = checked_multiply(record.minimum, record.merged);
    entry["medianCycles"] = checked_multiply(record.median, record.merged);
    entry["p95Cycles"] = checked_multiply(record.p95, record.merged);
    entry["maximumCycles"] = checked_multiply(record.maximum, record.merged);
    if (record.merged != 1) entry["mergedInvocations"] = record.merged;
    if (!record.profile.empty()) entry["profile"] = record.profile;
    if (!record.tool.empty()) entry["toolVersion"] = record.tool;
    if (!record.date.empty()) entry["date"] = record.date;
    if (record.status == RecordStatus::quarantined) entry["quarantined"] = true;
    add_fields(entry, kept_fields(record.fields));
    const nlohmann::json of_table = kept_fields(record.table_fields);
    for (const auto& [name, value] : of_table.items()) {
        if (!common.contains(name) && !entry.contains(name)) entry[name] = value;
    }
    return entry;
}

}  // namespace

nlohmann::ordered_json export_measurements(const std::vector<KernelRecord>& records, std::uint64_t clock_hz) {
    nlohmann::ordered_json json;
    json["schemaVersion"] = 1;
    json["target"] = records.empty() ? "" : records.front().target;
    json["buildId"] = records.empty() ? "" : records.front().build;
    if (clock_hz != 0) json["clockHz"] = clock_hz;
    json["measurements"] = nlohmann::ordered_json::array();
    add_fields(json, common_fields(records));
    for (const KernelRecord& record : records) {
        if (record.target != records.front().target || record.build != records.front().build) {
            refuse("records of several builds or targets do not go into one export; select one with --only-build");
        }
        json["measurements"].push_back(exported(record, json));
    }
    return json;
}

std::size_t set_errors(const Target& target, std::vector<KernelRecord>& records) {
    std::size_t known = 0;
    const bool tiles = target.family == TargetFamily::Ipu21;
    std::optional<PimTiming> core;
    if (!tiles) core.emplace(target);
    const ipu21::KernelCosts tile(target, nullptr);
    const auto modelled = [&](const KernelKey& key) -> std::optional<std::uint64_t> {
        if (tiles) return tile.analytical(key);
        const auto ns = core->analytical_ns(key);
        return ns ? std::optional(static_cast<std::uint64_t>(*ns)) : std::nullopt;
    };
    for (KernelRecord& record : records) {
        const auto analytical = modelled(record.key);
        if (!analytical || record.median == 0) continue;
        const auto difference = static_cast<std::int64_t>(std::min(*analytical, cycle_limit)) - static_cast<std::int64_t>(record.median);
        record.error_ppm = multiply_divide(difference, 1'000'000, static_cast<std::int64_t>(record.median));
        ++known;
    }
    return known;
}

std::vector<FamilyError> family_errors(const std::vector<KernelRecord>& records) {
    struct Sums {
        std::size_t count = 0;
        double sum = 0;
        double squares = 0;
    };
    std::map<std::pair<std::string, std::string>, Sums> families;
    for (const KernelRecord& record : records) {
        Sums& sums = families[{record.key.kind, record.key.category}];
        const auto error = static_cast<double>(record.error_ppm);
        ++sums.count;
        sums.sum += error;
        sums.squares += error * error;
    }
    std::vector<FamilyError> result;
    for (const auto& [family, sums] : families) {
        const auto count = static_cast<double>(sums.count);
        result.push_back({family.first, family.second, sums.count, std::llround(sums.sum / count),
                          static_cast<std::uint64_t>(std::llround(std::sqrt(sums.squares / count)))});
    }
    return result;
}

}  // namespace weft
