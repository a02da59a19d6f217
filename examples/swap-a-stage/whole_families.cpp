// Another candidate generator: every family as a whole on the core with least work that has room for its weights; one inference per
// round. Reads .tasks and .target, writes .cands and one .sched: weft-schedule's place in `make SCHEDULE=./whole-families`.
// docs/swap-a-stage.md says how to build it. Called as  whole-families TASKS --target TARGET -o CANDS [--report FILE].
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <tuple>
#include "candidates_generated.h"
#include "schedule_generated.h"
#include "target_generated.h"
#include "tasks_generated.h"
using namespace weft::fbs;

static std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}
// The field file_bytes of every artifact is its own size, known when all else is written.
template <class Table>
static void write(flatbuffers::FlatBufferBuilder& builder, const std::string& path) {
    flatbuffers::GetMutableRoot<Table>(builder.GetBufferPointer())->mutate_file_bytes(builder.GetSize());
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

int main(int argc, char** argv) {
    if (argc < 6) return std::cerr << "whole-families: error: TASKS --target TARGET -o CANDS is needed\n", 2;
    const std::string tasks_bytes = read(argv[1]), target_bytes = read(argv[3]), output = argv[5];
    flatbuffers::Verifier tasks_check(reinterpret_cast<const uint8_t*>(tasks_bytes.data()), tasks_bytes.size(), 64, 1U << 30U);
    flatbuffers::Verifier target_check(reinterpret_cast<const uint8_t*>(target_bytes.data()), target_bytes.size());
    if (!VerifyTasksBuffer(tasks_check) || !VerifyTargetBuffer(target_check)) return std::cerr << "whole-families: error: bad input file\n", 3;
    const Tasks& tasks = *GetTasks(tasks_bytes.data());
    const Target& target = *GetTarget(target_bytes.data());

    const uint32_t cores = target.core_count(), families = tasks.families()->size(), lanes = tasks.lanes()->size();
    std::vector<uint64_t> work(cores);
    std::vector<uint32_t> crossbars(cores), level(families), stage(families), core_first(cores + 1), core_lanes(lanes);
    std::vector<uint16_t> lane_core(lanes);
    for (uint32_t f = 0; f < families; ++f) {
        const Family& family = *tasks.families()->Get(f);
        uint32_t best = cores;
        for (uint32_t core = 0; core < cores; ++core) {
            if (crossbars[core] + family.crossbars() <= target.core()->crossbar_count() && (best == cores || work[core] < work[best])) best = core;
        }
        if (best == cores) return std::cerr << "whole-families: error: no core has room for a family\n", 1;
        crossbars[best] += family.crossbars();
        for (uint32_t lane = family.first_lane(); lane < family.first_lane() + family.lane_count(); ++lane) {
            lane_core[lane] = static_cast<uint16_t>(best);
            work[best] += tasks.lanes()->Get(lane)->work_ns();
            ++core_first[best + 1];
        }
        for (uint32_t i = 0; i < family.input_count(); ++i) {   // a family runs in a later slot than its producers
            const uint32_t producer = tasks.tensors()->Get(tasks.inputs()->Get(family.first_input() + i))->producer();
            if (producer != 0xffffffffU) level[f] = std::max(level[f], level[producer] + 1);
        }
    }
    std::partial_sum(core_first.begin(), core_first.end(), core_first.begin());
    std::iota(core_lanes.begin(), core_lanes.end(), 0U);
    const auto place = [&](uint32_t lane) { return std::tuple(lane_core[lane], level[tasks.lanes()->Get(lane)->family()], lane); };
    std::sort(core_lanes.begin(), core_lanes.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });

    flatbuffers::FlatBufferBuilder builder;
    const uint32_t slots = 1 + *std::max_element(level.begin(), level.end());
    FinishScheduleBuffer(builder, CreateScheduleDirect(builder, ScheduleMode::Throughput, "whole-families", &lane_core, &level, &stage, &core_first, &core_lanes, slots,
                                                       1, 0, &work, &crossbars, 0, 0, 0, 0, 0, 1));
    const std::string schedule = output.substr(0, output.rfind('.')) + "-0.sched";
    write<Schedule>(builder, schedule);
    builder.Clear();
    const std::vector<flatbuffers::Offset<flatbuffers::String>> names = {builder.CreateString(schedule.substr(schedule.rfind('/') + 1))};
    const std::vector<uint64_t> hash = {0}, bottleneck = {*std::max_element(work.begin(), work.end())};
    const std::vector<uint32_t> depth = {0}, stages = {1}, used = {cores - static_cast<uint32_t>(std::count(work.begin(), work.end(), 0U))};
    const std::vector<uint32_t> resident = {std::accumulate(crossbars.begin(), crossbars.end(), 0U)};
    FinishCandidatesBuffer(builder, CreateCandidatesDirect(builder, &names, &names, &hash, &hash, &bottleneck, &depth, &stages, &used, &resident, 1));
    write<Candidates>(builder, output);
}
