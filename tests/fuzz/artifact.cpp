// The readers of all kinds of artifacts: verification, validation, a walk over every column, and the figures, which follow ids and
// ranges. Bad bytes may only be refused as bad input.
#include "../artifact/walk.h"
#include "inspect/column_view.h"
#include "inspect/figures.h"

namespace {

/// Where the root table of `Kind` holds the exact size of its file.
template <class Kind>
constexpr flatbuffers::voffset_t size_field = 0;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Graph> = weft::fbs::Graph::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Target> = weft::fbs::Target::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Tasks> = weft::fbs::Tasks::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Schedule> = weft::fbs::Schedule::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Candidates> = weft::fbs::Candidates::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Program> = weft::fbs::Program::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Timing> = weft::fbs::Timing::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Selection> = weft::fbs::Selection::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Constraint> = weft::fbs::Constraint::VT_FILE_BYTES;
template <>
constexpr flatbuffers::voffset_t size_field<weft::Kernels> = weft::fbs::Kernels::VT_FILE_BYTES;

/// Mutations seldom keep the stored size right, so the fuzzer sets it where there is one to set: what lies behind is of interest.
void repair_size(std::span<std::byte> bytes, flatbuffers::voffset_t field) {
    auto* data = reinterpret_cast<std::uint8_t*>(bytes.data());
    flatbuffers::Verifier verifier(data, bytes.size());
    const std::size_t root = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(data);
    if (root >= bytes.size() || !verifier.VerifyTableStart(data + root)) return;
    const auto* table = reinterpret_cast<const flatbuffers::Table*>(data + root);
    if (!table->VerifyField<std::uint32_t>(verifier, field, sizeof(std::uint32_t))) return;
    reinterpret_cast<flatbuffers::Table*>(data + root)->SetField<std::uint32_t>(field, static_cast<std::uint32_t>(bytes.size()), 0);
}

template <class Kind>
void read(std::span<std::byte> bytes) {
    repair_size(bytes, size_field<Kind>);
    try {
        const Kind columns = weft::read_artifact<Kind>(bytes, "fuzz");
        volatile std::uint64_t keep = weft::test::Walk::sum(columns) + weft::figures_of(columns).size();
        static_cast<void>(keep);
        // What was read can be written again.
        const auto again = weft::serialize(columns);
        if (!weft::ArtifactTraits<Kind>::verify(std::as_bytes(std::span(again.data(), again.size())))) __builtin_trap();
    } catch (const weft::Failure& failure) {
        if (failure.status() != weft::ExitStatus::bad_input) throw;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy in whole words: mapped files are aligned as well.
    std::vector<std::uint64_t> words((size + 7) / 8);
    if (size != 0) std::memcpy(words.data(), data, size);
    const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(words.data()), size);
    weft::dispatch_kind(weft::identifier_of(bytes), [&]<class Kind>(std::type_identity<Kind>) { read<Kind>(bytes); });
    return 0;
}
