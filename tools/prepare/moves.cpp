#include "prepare/moves.h"

namespace weft::preparation {
namespace {

constexpr std::int64_t nothing = -1;

/// One output element's source: slot and address in the source's local layout, gaps included.
struct SourceElement {
    std::uint32_t input = 0;
    std::int64_t address = nothing;
    Place place;
};

std::int64_t local_address(const TaskTensor& tensor, Place place) {
    return (std::int64_t{place.row} * (tensor.columns + tensor.gap) + place.column) * tensor.channels + place.channel;
}

class ElementFinder {
public:
    ElementFinder(const MoveSpec& spec, std::span<const TaskTensor> tensors)
        : spec_(spec), tensors_(tensors), strides_(row_major_strides(spec.dims)), coordinates_(spec.dims.size()) {}

    /// The source of the output element of flattened index `index`; address `nothing` where it holds the fill value.
    SourceElement operator()(std::uint64_t index) {
        for (std::size_t axis = 0; axis < coordinates_.size(); ++axis) {
            coordinates_[axis] = static_cast<std::uint32_t>(index / strides_[axis]);
            index %= strides_[axis];
        }
        for (const MoveSource& source : spec_.sources) {
            const std::int64_t element = source_index(source);
            if (element == nothing) continue;
            const Place place = source.layout.place(static_cast<std::uint64_t>(element));
            return {source.input, local_address(tensors_[source.input], place), place};
        }
        return {};
    }

private:
    [[nodiscard]] std::int64_t source_index(const MoveSource& source) const {
        std::int64_t element = 0;
        for (std::size_t axis = 0; axis < coordinates_.size(); ++axis) {
            const auto& map = source.maps[axis];
            const std::int64_t coordinate = map.empty() ? std::int64_t{coordinates_[axis]} : map[coordinates_[axis]];
            if (coordinate < 0) return nothing;
            element += coordinate * static_cast<std::int64_t>(source.strides[axis]);
        }
        return element;
    }

    const MoveSpec& spec_;
    std::span<const TaskTensor> tensors_;
    std::vector<std::uint64_t> strides_;
    std::vector<std::uint32_t> coordinates_;
};

/// Length and stride of the evenly spaced run that starts at `elements[first]`.
std::pair<std::uint32_t, std::int32_t> run_at(std::span<const SourceElement> elements, std::size_t first) {
    const auto step = [&](std::size_t i) -> std::int64_t {
        const bool joined = i + 1 < elements.size() && elements[i + 1].address != nothing && elements[i + 1].input == elements[i].input;
        return joined ? elements[i + 1].address - elements[i].address : nothing;
    };
    const std::int64_t stride = step(first);
    // An odd first step, with a better run right behind it, is no run.
    if (stride < 0 || (stride != 1 && first + 2 < elements.size() && step(first + 1) != stride)) return {1, 1};
    std::size_t end = first + 1;
    while (step(end - 1) == stride) ++end;
    return {static_cast<std::uint32_t>(end - first), static_cast<std::int32_t>(stride)};
}

}  // namespace

std::vector<MoveCopy> build_copies(const MoveSpec& spec, std::span<const TaskTensor> sources) {
    std::vector<MoveCopy> copies;
    ElementFinder find(spec, sources);
    std::vector<SourceElement> elements(spec.layout.channels);
    std::uint32_t position = 0;
    for (std::uint32_t row = 0; row < spec.layout.rows; ++row) {
        for (std::uint32_t column = 0; column < spec.layout.columns; ++column, ++position) {
            for (std::uint32_t channel = 0; channel < spec.layout.channels; ++channel) {
                elements[channel] = find(spec.layout.logical({row, column, channel}));
            }
            for (std::size_t channel = 0; channel < elements.size();) {
                if (elements[channel].address == nothing) {
                    ++channel;
                    continue;
                }
                const auto [length, stride] = run_at(elements, channel);
                const SourceElement& first = elements[channel];
                const TaskTensor& source = sources[first.input];
                copies.push_back({position, static_cast<std::uint32_t>(channel), first.input, first.place.row * source.columns + first.place.column,
                                  first.place.channel, length, stride});
                channel += length;
            }
        }
    }
    return copies;
}

}  // namespace weft::preparation
