// Linked with quick_start_fmt.cpp to see whether that works here.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <string>

int main() {
    fmt::print("{} {:02x} {:.3f} {:>10} {:%Y}\n", std::string("text"), 255, 1.5, 2.5F, fmt::gmtime(std::time(nullptr)));
    return fmt::format("{}", 12ULL) == "12" ? 0 : 1;
}
