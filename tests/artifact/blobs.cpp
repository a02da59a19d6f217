#include "artifact/blob_store.h"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <limits>
#include <thread>

#include "artifact/file.h"
#include "base/failure.h"
#include "scratch.h"

namespace {

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }

std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t index = 0; index < count; ++index) values[index] = 0.25F * static_cast<float>(index) - 3.0F;
    return values;
}

std::string refusal(const BlobStore& store, Hash128 hash, std::size_t count) {
    try {
        static_cast<void>(store.get_f32(hash, count));
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::bad_input);
        return failure.what();
    }
    return {};
}

TEST_CASE("blobs come back bit by bit and are stored once") {
    const ScratchFolder scratch;
    BlobStore store(scratch.path / "blobs");
    std::vector<float> values = ramp(1000);
    values[3] = std::numeric_limits<float>::infinity();
    values[4] = -0.0F;
    values[5] = std::numeric_limits<float>::denorm_min();
    values[6] = std::bit_cast<float>(0x7fc12345U);   // a NaN with a payload
    const Hash128 hash = store.put(bytes_of(values));
    CHECK(hash == hash_bytes(bytes_of(values)));
    CHECK(store.put(bytes_of(values)) == hash);
    const std::vector<float> back = store.get_f32(hash, values.size());
    REQUIRE(back.size() == values.size());
    CHECK(std::memcmp(back.data(), values.data(), values.size() * sizeof(float)) == 0);
    CHECK(std::distance(fs::directory_iterator(scratch.path / "blobs"), fs::directory_iterator{}) == 1);
}

TEST_CASE("empty and large blobs") {
    const ScratchFolder scratch;
    BlobStore store(scratch.path / "blobs");
    const Hash128 empty = store.put({});
    CHECK(store.get_f32(empty, 0).empty());
    const std::vector<float> large = ramp(3'000'000);
    CHECK(store.get_f32(store.put(bytes_of(large)), large.size()) == large);
}

TEST_CASE("missing and damaged blobs are named") {
    const ScratchFolder scratch;
    BlobStore store(scratch.path / "blobs");
    const std::vector<float> values = ramp(500);
    const Hash128 hash = store.put(bytes_of(values));
    CHECK(refusal(store, {1, 2}, 3).find(to_hex({1, 2})) != std::string::npos);
    CHECK(refusal(store, hash, 501).find(to_hex(hash)) != std::string::npos);
    CHECK(refusal(store, hash, 0).find(to_hex(hash)) != std::string::npos);

    const fs::path path = store.path_of(hash);
    const std::string good = read_text(path);
    const auto with = [&](const std::string& content) {
        publish_text(path, content);
        return refusal(store, hash, values.size());
    };
    CHECK_FALSE(with("").empty());
    CHECK_FALSE(with("not a blob at all").empty());
    for (std::size_t size = 0; size < good.size(); size += 1 + size / 8) CHECK_FALSE(with(good.substr(0, size)).empty());
    // Another blob's content under this name: decodes well, but is not what its name says.
    std::vector<float> other = values;
    other[7] += 1;
    const Hash128 other_hash = store.put(bytes_of(other));
    CHECK_FALSE(with(read_text(store.path_of(other_hash))).empty());
    CHECK(with(good).empty());
}

TEST_CASE("every single-byte mutation of a blob is refused or harmless") {
    const ScratchFolder scratch;
    BlobStore store(scratch.path / "blobs");
    const std::vector<float> values = ramp(64);
    const Hash128 hash = store.put(bytes_of(values));
    const fs::path path = store.path_of(hash);
    const std::string good = read_text(path);
    for (std::size_t index = 0; index < good.size(); ++index) {
        std::string mutant = good;
        mutant[index] = static_cast<char>(mutant[index] ^ 0x10);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << mutant;
        // A mutated byte that does not matter (a frame flag) may be taken, but only with the right values.
        if (refusal(store, hash, values.size()).empty()) CHECK(store.get_f32(hash, values.size()) == values);
    }
}

TEST_CASE("many writers of one blob") {
    const ScratchFolder scratch;
    const std::vector<float> values = ramp(100'000);
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 6; ++writer) {
        writers.emplace_back([&] {
            BlobStore store(scratch.path / "blobs");
            store.put(bytes_of(values));
        });
    }
    for (auto& writer : writers) writer.join();
    const BlobStore store(scratch.path / "blobs");
    CHECK(store.get_f32(hash_bytes(bytes_of(values)), values.size()) == values);
    CHECK(std::distance(fs::directory_iterator(scratch.path / "blobs"), fs::directory_iterator{}) == 1);
}

}  // namespace
