#pragma once

#include <string_view>

namespace weft {

inline constexpr std::string_view version_text = "0.1.0";

}  // namespace weft
