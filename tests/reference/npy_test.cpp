#include "reference/npy.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "artifact/file.h"
#include "base/failure.h"

using namespace weft;

namespace {

/// A version 1.0 file with this header dictionary and these bytes of data.
std::string npy_file(const std::string& dictionary, const std::string& data) {
    std::string text("\x93NUMPY\x01\0", 8);
    text += static_cast<char>(dictionary.size() & 0xffU);
    text += static_cast<char>(dictionary.size() >> 8U);
    return text + dictionary + data;
}

HostTensor parse(const std::string& text) { return parse_npy(std::as_bytes(std::span(text)), "test.npy"); }

std::string dictionary(const std::string& type, const std::string& shape) {
    return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("written files are numpy's own bytes and read back") {
    const auto path = std::filesystem::temp_directory_path() / ("weft-npy-test-" + std::to_string(::getpid()) + ".npy");
    for (const std::vector<std::uint32_t>& dims : std::vector<std::vector<std::uint32_t>>{{}, {3}, {2, 3, 5}, {1, 0, 4}}) {
        HostTensor tensor{dims, {}};
        for (std::size_t i = 0; i < elem_count(dims); ++i) tensor.values.push_back(static_cast<float>(i) * 0.1F - 1);
        write_npy(path, tensor);
        CHECK(read_npy(path) == tensor);
    }
    write_npy(path, {{3}, {1, 2, 3}});
    const std::string text = read_text(path);
    std::filesystem::remove(path);
    CHECK(text.size() == 128 + 12);
    CHECK(text.substr(10, 60) == "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   ");
    CHECK(text[127] == '\n');
}

TEST_CASE("every element type is converted") {
    using namespace std::string_literals;
    CHECK(parse(npy_file(dictionary("<f2", "(2,)"), "\x00\x3c\x00\xc0"s)).values == std::vector<float>{1, -2});
    CHECK(parse(npy_file(dictionary("<f8", "(1,)"), "\0\0\0\0\0\0\xe0\x3f"s)).values == std::vector<float>{0.5F});
    CHECK(parse(npy_file(dictionary("<i8", "(1, 1)"), "\xfe\xff\xff\xff\xff\xff\xff\xff"s)).values == std::vector<float>{-2});
    CHECK(parse(npy_file(dictionary("|u1", "(2,)"), "\x01\xff"s)).values == std::vector<float>{1, 255});
    CHECK(parse(npy_file(dictionary("|b1", "()"), "\x01"s)).values == std::vector<float>{1});
}

TEST_CASE("damaged files are refused by name, never read past their end") {
    const std::string good = npy_file(dictionary("<f4", "(2,)"), std::string(8, '\0'));
    REQUIRE(parse(good).values.size() == 2);
    for (std::size_t size = 0; size < good.size(); ++size) CHECK_THROWS_AS(parse(good.substr(0, size)), Failure);
    CHECK_THROWS_AS(parse(npy_file(dictionary("<c8", "(1,)"), std::string(8, '\0'))), Failure);
    CHECK_THROWS_AS(parse(npy_file(dictionary(">f4", "(1,)"), std::string(4, '\0'))), Failure);
    CHECK_THROWS_AS(parse(npy_file(dictionary("<f4", "(4294967295, 4294967295, 4294967295)"), "")), Failure);
    CHECK_THROWS_AS(parse(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n", std::string(4, '\0'))), Failure);
    CHECK_THROWS_AS(parse(npy_file("{'descr': '<f4', 'fortran_order': False}\n", std::string(4, '\0'))), Failure);
}

TEST_CASE("random damage never crashes the reader") {
    const std::string good = npy_file(dictionary("<f4", "(2, 3)"), std::string(24, 'x'));
    std::mt19937 random(1);
    std::size_t refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = good;
        for (int edit = 0; edit < 3; ++edit) text[random() % text.size()] = static_cast<char>(random());
        try {
            const HostTensor tensor = parse(text);
            CHECK(tensor.values.size() == elem_count(tensor.dims));
        } catch (const Failure&) {
            ++refused;
        }
    }
    CHECK(refused > 1000);
}

TEST_CASE("half precision: all 65,536 values come back, and rounding is to nearest even") {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = half_to_float(half);
        if (std::isnan(value)) {
            CHECK(std::isnan(half_to_float(float_to_half(value))));
            continue;
        }
        if (float_to_half(value) != half) FAIL_CHECK("half ", bits);
        if ((bits & 0x7fffU) >= 0x7bffU) continue;
        // The middle to the next larger magnitude goes to the even one; a hair beyond it, to the next.
        const float next = half_to_float(static_cast<std::uint16_t>(bits + 1));
        const float middle = (value + next) / 2;
        if (float_to_half(middle) != (bits % 2 == 0 ? bits : bits + 1)) FAIL_CHECK("middle above half ", bits);
        if (float_to_half(std::nextafter(middle, next)) != bits + 1) FAIL_CHECK("above the middle of half ", bits);
    }
    CHECK(float_to_half(65519.0F) == 0x7bff);
    CHECK(float_to_half(65520.0F) == 0x7c00);
}

TEST_CASE("relative error is measured against the expected scale") {
    const float expected[] = {10, -5, 0};
    const float actual[] = {10, -5.1F, 0};
    CHECK(relative_error(actual, expected) == doctest::Approx(0.01));
    CHECK(relative_error(expected, expected) == 0);
    const float broken[] = {10, -5, std::nanf("")};
    CHECK(std::isinf(relative_error(broken, expected)));
    CHECK(relative_error(broken, broken) == 0);
    CHECK(std::isinf(relative_error(std::span(expected).first(2), expected)));
}
