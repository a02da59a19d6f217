#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace weft::test {

/// Why `value` does not follow `schema`, or nothing. The part of JSON Schema that weft's schemas use: type, enum, required, properties,
/// additionalProperties: false, items, and $ref within the document.
inline std::string schema_problem(const nlohmann::json& value, const nlohmann::json& schema, const nlohmann::json& root, const std::string& where = "") {
    if (schema.contains("$ref")) {
        const std::string reference = schema["$ref"];
        return schema_problem(value, root.at(nlohmann::json::json_pointer(reference.substr(1))), root, where);
    }
    if (schema.contains("enum")) {
        for (const auto& one : schema["enum"]) {
            if (one == value) return {};
        }
        return where + ": not one of the values";
    }
    const std::string type = schema.value("type", "");
    const bool fits = type.empty() || (type == "object" && value.is_object()) || (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
                      (type == "boolean" && value.is_boolean()) || (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
    if (!fits) return fmt::format("{}: no {}", where, type);
    if (value.is_array() && schema.contains("items")) {
        for (std::size_t at = 0; at < value.size(); ++at) {
            if (auto problem = schema_problem(value[at], schema["items"], root, fmt::format("{}[{}]", where, at)); !problem.empty()) return problem;
        }
    }
    if (!value.is_object()) return {};
    for (const auto& name : schema.value("required", nlohmann::json::array())) {
        if (!value.contains(name.get<std::string>())) return fmt::format("{}: {} is missing", where, name.get<std::string>());
    }
    const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
    for (const auto& [name, member] : value.items()) {
        if (!properties.contains(name)) {
            if (!schema.value("additionalProperties", true)) return fmt::format("{}: {} is unknown", where, name);
            continue;
        }
        if (auto problem = schema_problem(member, properties[name], root, where + "/" + name); !problem.empty()) return problem;
    }
    return {};
}

}  // namespace weft::test
