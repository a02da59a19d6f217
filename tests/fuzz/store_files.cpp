#include "base/failure.h"
#include "cache/identity.h"
#include "cache/record.h"

/// The first byte chooses: a record, a file of Make dependencies, or an executable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::cache;
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    if (data[0] == 'r') {
        if (const auto record = parse_record(text)) {
            // What is read is written and read again as the same.
            const auto again = parse_record(record_json(*record));
            WEFT_CHECK(again.has_value() && record_json(*again) == record_json(*record));
            for (const auto& content : contents_of(*record)) WEFT_CHECK(content.hash.find('/') == std::string::npos);
        }
    } else if (data[0] == 'd') {
        for (const auto& path : parse_depfile(text)) WEFT_CHECK(!path.empty());
    } else {
        static_cast<void>(read_elf(std::as_bytes(std::span(text.data(), text.size())), "/origin"));
    }
    return 0;
}
