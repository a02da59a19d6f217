// Writes random legal programs with their chips, a quarter of which have reorder buffers of 2 to 8: DIR/rNNN.prog and DIR/rNNN.target. What scripts/check-timing gives to the simulator.
//
//   random_programs DIR COUNT [SEED]
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "artifact/program.h"
#include "artifact/target.h"
#include "base/failure.h"
#include "pim/random_program.h"

int main(int argc, char** argv) {
    using namespace weft;
    if (argc < 3) {
        fmt::print(stderr, "random_programs DIR COUNT [SEED]\n");
        return 2;
    }
    try {
        const std::filesystem::path folder = argv[1];
        const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
        const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
        std::filesystem::create_directories(folder);
        for (std::uint64_t number = 0; number < count; ++number) {
            test::RandomProgram random(seed * 1'000'003 + number);
            const std::uint32_t cores = 1 + random.below(number % 10 == 9 ? 64 : 16);
            const ProgramColumns program = test::columns_of(random.make(cores, 10 + random.below(cores * 20)));
            TargetColumns target = random.target(cores);
            if (number % 4 == 3) target.core.rob_entries = 2 + random.below(7);
            const std::string name = fmt::format("r{:03}", number);
            write_artifact((folder / (name + ".prog")).string(), view(program));
            write_artifact((folder / (name + ".target")).string(), view(target));
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "random_programs: error: {}\n", error.what());
        return 1;
    }
}
