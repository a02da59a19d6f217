#pragma once

#include <array>

namespace weft {

struct SchemaText {
    const char* kind;
    const char* extension;
    const char* text;
};

/// The schemas that this program was built with.
extern const std::array<SchemaText, 10> schema_texts;

}  // namespace weft
