#include "json_section.h"

#include <algorithm>

namespace weft {

JsonSection::JsonSection(const nlohmann::json* object, std::string path, std::string_view file, KeyLists& lists)
    : object_(object), path_(std::move(path)), file_(file), lists_(&lists) {
    if (object_ != nullptr && !object_->is_object()) bad_input("{}: {} must be an object", file_, path_.empty() ? "the file" : path_);
}

std::string JsonSection::path_of(std::string_view key) const { return fmt::format("{}/{}", path_, key); }

void JsonSection::impossible(std::string_view key, std::string_view why) const {
    bad_input("{}: {}: {}", file_, path_of(key), why);
}

const nlohmann::json* JsonSection::find(std::string_view key) {
    asked_.emplace_back(key);
    if (object_ == nullptr) return nullptr;
    const auto found = object_->find(std::string(key));
    return found == object_->end() ? nullptr : &*found;
}

bool JsonSection::has(std::string_view key) const { return object_ != nullptr && object_->contains(std::string(key)); }

namespace {

/// A whole number of `value`; false where it is none at all. `cut` tells that a fraction was dropped.
bool whole(const nlohmann::json& value, std::int64_t& result, bool& cut) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return false;
    if (value.is_number_integer()) {
        result = value.get<std::int64_t>();
        return true;
    }
    if (!value.is_number_float() || std::abs(value.get<double>()) > 9e15) return false;
    result = static_cast<std::int64_t>(value.get<double>());
    cut = static_cast<double>(result) != value.get<double>();
    return true;
}

}  // namespace

std::int64_t JsonSection::integer(std::string_view key, std::int64_t standard, std::int64_t low, std::int64_t high) {
    const auto* value = find(key);
    if (value == nullptr) return standard;
    std::int64_t result = 0;
    bool cut = false;
    if (!whole(*value, result, cut)) impossible(key, fmt::format("{} is not a whole number", value->dump()));
    if (cut) lists_->notes.push_back(fmt::format("{}: the fraction of {} is cut off, as the simulator does", path_of(key), value->dump()));
    if (result < low || result > high) impossible(key, fmt::format("{} is impossible, must lie in {}..{}", result, low, high));
    return result;
}

std::uint64_t JsonSection::femtoseconds(std::string_view key, double standard_ns) {
    const auto* value = find(key);
    if (value != nullptr && !value->is_number()) impossible(key, fmt::format("{} is not a number", value->dump()));
    const double ns = value == nullptr ? standard_ns : value->get<double>();
    if (!(ns >= 0) || ns > 1e6) impossible(key, fmt::format("{} ns is impossible, must lie in 0..1000000", ns));
    return static_cast<std::uint64_t>(std::llround(ns * 1e6));
}

bool JsonSection::boolean(std::string_view key, bool standard) {
    const auto* value = find(key);
    if (value == nullptr) return standard;
    if (!value->is_boolean()) impossible(key, fmt::format("{} is neither true nor false", value->dump()));
    return value->get<bool>();
}

std::string JsonSection::text(std::string_view key, const std::string& standard) {
    const auto* value = find(key);
    if (value == nullptr) return standard;
    if (!value->is_string()) impossible(key, fmt::format("{} is not a text", value->dump()));
    return value->get<std::string>();
}

std::pair<std::int64_t, std::int64_t> JsonSection::pair(std::string_view key, std::pair<std::int64_t, std::int64_t> standard,
                                                        std::int64_t low, std::int64_t high) {
    const auto* value = find(key);
    if (value == nullptr) return standard;
    if (!value->is_array() || value->size() != 2) impossible(key, fmt::format("{} is not a pair of numbers", value->dump()));
    std::pair<std::int64_t, std::int64_t> result;
    for (std::size_t at = 0; at < 2; ++at) {
        bool cut = false;
        auto& number = at == 0 ? result.first : result.second;
        if (!whole((*value)[at], number, cut) || cut) impossible(key, fmt::format("{} is not a pair of whole numbers", value->dump()));
        if (number < low || number > high) impossible(key, fmt::format("{} is impossible, must lie in {}..{}", number, low, high));
    }
    return result;
}

JsonSection JsonSection::section(std::string_view key) {
    const auto* value = find(key);
    return {value, path_of(key), file_, *lists_};
}

void JsonSection::ignore(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (find(key) != nullptr) lists_->ignored.push_back(path_of(key));
    }
}

void JsonSection::finish() {
    if (object_ == nullptr) return;
    for (const auto& [key, value] : object_->items()) {
        if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) lists_->unknown.push_back(path_of(key));
    }
}

}  // namespace weft
