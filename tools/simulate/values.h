#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/blob_store.h"
#include "artifact/program.h"
#include "simulate/core_state.h"

namespace weft {

/// The data of a running F32 program: local memories, array groups, global memory. The machine calls it in the order in which
/// the chip would do things; it knows nothing of time. Addresses and lengths are elements.
class ValueMachine {
public:
    /// Builds every array group's matrix and every core's constants from the weight blobs.
    /// `input_images[inference][port]`: what stands in global memory at that input port, in the port's own layout. Inference r
    /// of the run shows image r modulo their number.
    ValueMachine(const Program& program, const BlobStore& store, std::vector<std::vector<std::vector<float>>> input_images);

    /// mvmul, vector instructions, lmv, lldi.
    void execute_local(std::uint32_t core, const DecodedInstruction& decoded);
    /// instruction.length elements at `address`.
    [[nodiscard]] std::vector<float> read_local(std::uint32_t core, const DecodedInstruction& decoded, std::int32_t address);
    void write_local(std::uint32_t core, const DecodedInstruction& decoded, std::int32_t address, std::span<const float> values);
    /// Global memory as the core sees it in its present round.
    [[nodiscard]] std::vector<float> load(std::uint32_t core, const DecodedInstruction& decoded);
    void store(std::uint32_t core, const DecodedInstruction& decoded, std::span<const float> values);

    /// What was stored at output port `port` for `inference`, in the port's layout; elements that nobody stored are
    /// `never_stored()`. Empty where nothing was.
    [[nodiscard]] std::span<const float> output_image(std::size_t port, std::uint64_t inference) const;
    /// A NaN of its own bit pattern.
    [[nodiscard]] static float never_stored();
    [[nodiscard]] static bool is_never_stored(float value);

private:
    struct GroupMatrix {
        std::uint32_t rows = 0;
        std::uint32_t columns = 0;
        std::vector<float> cells;   // row-major
    };

    [[nodiscard]] std::span<float> local(std::uint32_t core, const DecodedInstruction& decoded, std::int64_t address, std::int64_t count);
    void execute_matrix(std::uint32_t core, const DecodedInstruction& decoded);
    void execute_vector(std::uint32_t core, const DecodedInstruction& decoded);
    void execute_strided(std::uint32_t core, const DecodedInstruction& decoded);
    void build_group(const ArrayGroup& group, std::span<const std::vector<float>> weights);
    void place_constant(const LocalConstant& constant, std::span<const std::vector<float>> weights);

    const Program& program_;
    std::vector<std::vector<std::vector<float>>> input_images_;
    std::vector<std::vector<float>> local_;
    std::vector<GroupMatrix> groups_;
    std::vector<float> scratch_;
    std::vector<float> global_;
    std::vector<std::vector<std::vector<float>>> output_images_;   // [port][inference]
};

/// Elements of a port's image in global memory, gaps included.
[[nodiscard]] std::uint64_t port_image_elems(const Port& port);

}  // namespace weft
