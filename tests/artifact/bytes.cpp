// What the bytes of an artifact file may and may not be.
#include <doctest/doctest.h>

#include "inspect/column_view.h"
#include "inspect/figures.h"
#include "samples.h"
#include "walk.h"

namespace {

using namespace weft;
using namespace weft::test;

/// FlatBuffers wants its buffers aligned, as a mapped file is.
class AlignedBytes {
public:
    explicit AlignedBytes(std::span<const std::uint8_t> bytes) : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
        std::memcpy(words_.data(), bytes.data(), bytes.size());
    }
    [[nodiscard]] std::uint8_t& operator[](std::size_t index) { return reinterpret_cast<std::uint8_t*>(words_.data())[index]; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(words_.data()), size_}; }
    [[nodiscard]] std::span<const std::byte> first(std::size_t count) const { return bytes().first(count); }

private:
    std::vector<std::uint64_t> words_;
    std::size_t size_;
};

AlignedBytes bytes_of(const flatbuffers::DetachedBuffer& buffer) { return AlignedBytes({buffer.data(), buffer.size()}); }

/// True: taken. False: refused as bad input. Anything else that is thrown fails the test.
template <class Kind>
bool reads(std::span<const std::byte> bytes) {
    try {
        const Kind columns = read_artifact<Kind>(bytes, "test");
        CHECK(Walk::sum(columns) + figures_of(columns).size() != 0);
        return true;
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::bad_input);
        CHECK(std::string_view(failure.what()).starts_with("test: "));
        return false;
    }
}

TEST_CASE("every kind reads back what was written, and writes the same bytes again") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        CAPTURE(ArtifactTraits<Kind>::kind);
        const auto first = serialize(view(columns));
        const AlignedBytes bytes = bytes_of(first);
        const Kind back = read_artifact<Kind>(bytes.bytes(), "test");
        CHECK(Walk::sum(back) == Walk::sum(view(columns)));
        const auto second = serialize(back);
        REQUIRE(second.size() == first.size());
        CHECK(std::memcmp(second.data(), first.data(), first.size()) == 0);
    });
}

TEST_CASE("only the own identifier is taken") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        AlignedBytes bytes = bytes_of(serialize(view(columns)));
        CHECK(identifier_of(bytes.bytes()) == ArtifactTraits<Kind>::identifier);
        std::size_t takers = 0;
        [&]<class... Other>(std::type_identity<std::tuple<Other...>>) { ((takers += reads<Other>(bytes.bytes()) ? 1U : 0U), ...); }(std::type_identity<ArtifactKinds>{});
        CHECK(takers == 1);
        bytes[4] = 'X';
        CHECK_FALSE(reads<Kind>(bytes.bytes()));
    });
}

TEST_CASE("no shorter and no longer file is taken") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        CAPTURE(ArtifactTraits<Kind>::kind);
        const auto buffer = serialize(view(columns));
        const AlignedBytes bytes = bytes_of(buffer);
        for (std::size_t size = 0; size < buffer.size(); ++size) CHECK_FALSE(reads<Kind>(bytes.first(size)));
        std::vector<std::uint8_t> longer(buffer.data(), buffer.data() + buffer.size());
        for (int extra = 0; extra < 9; ++extra) {
            longer.push_back(0);
            CHECK_FALSE(reads<Kind>(AlignedBytes(longer).bytes()));
        }
    });
}

TEST_CASE("every mutation of a single byte is refused or read without harm") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        CAPTURE(ArtifactTraits<Kind>::kind);
        AlignedBytes bytes = bytes_of(serialize(view(columns)));
        std::size_t refused = 0;
        for (std::size_t index = 0; index < bytes.bytes().size(); ++index) {
            const std::uint8_t original = bytes[index];
            for (const int value : {original ^ 0x01, original ^ 0x80, original + 1, original - 1, 0x00, 0x7f, 0xff}) {
                bytes[index] = static_cast<std::uint8_t>(value);
                refused += reads<Kind>(bytes.bytes()) ? 0 : 1;
            }
            bytes[index] = original;
        }
        CHECK(refused > bytes.bytes().size());   // offsets, sizes and ids are most of a small file
        CHECK(reads<Kind>(bytes.bytes()));
    });
}

TEST_CASE("mutations of four bytes, as wrong ids and offsets are") {
    for_each_sample([]<class Kind>(std::type_identity<Kind>, const auto& columns) {
        CAPTURE(ArtifactTraits<Kind>::kind);
        const auto buffer = serialize(view(columns));
        AlignedBytes bytes = bytes_of(buffer);
        for (std::size_t index = 0; index + 4 <= buffer.size(); ++index) {
            for (const std::uint32_t value : {0xffffffffU, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0x00010000U}) {
                std::memcpy(&bytes[index], &value, 4);
                reads<Kind>(bytes.bytes());
            }
            std::memcpy(&bytes[index], buffer.data() + index, 4);
        }
        CHECK(reads<Kind>(bytes.bytes()));
    });
}

TEST_CASE("a column that another writer left out is named") {
    // A table with the exact size but no columns at all, as a program with its own idea of the schema might write.
    flatbuffers::FlatBufferBuilder builder;
    const auto start = builder.StartTable();
    builder.AddElement<std::uint32_t>(fbs::Program::VT_FILE_BYTES, 1, 0);
    const flatbuffers::Offset<flatbuffers::Table> root(builder.EndTable(start));
    builder.Finish(root, "WPRG");
    flatbuffers::GetMutableRoot<flatbuffers::Table>(builder.GetBufferPointer())
        ->SetField<std::uint32_t>(fbs::Program::VT_FILE_BYTES, builder.GetSize(), 0);
    const AlignedBytes bytes({builder.GetBufferPointer(), builder.GetSize()});
    CHECK_FALSE(reads<Program>(bytes.bytes()));
}

}  // namespace
