// The ONNX reader on arbitrary bytes: it takes the model or throws Failure, and what it takes is a valid graph.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "artifact/graph.h"
#include "frontend/frontend.h"

namespace {

weft::frontend::FrontendOptions fuzz_options() {
    weft::frontend::FrontendOptions options;
    options.max_elems = 1 << 16;
    options.folding_budget_bytes = 1 << 22;
    return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto options = fuzz_options();
    weft::frontend::ImportedModel imported;
    try {
        imported = weft::frontend::import_model(std::as_bytes(std::span(data, size)), options,
                                                [](auto bytes) { return weft::hash_bytes(bytes); });
    } catch (const weft::Failure& failure) {
        if (failure.status() == weft::ExitStatus::bug) std::abort();
        return 0;
    }
    try {
        weft::validate<weft::Graph>(view(imported.graph), "imported");
    } catch (const weft::Failure&) {
        std::abort();
    }
    return 0;
}
