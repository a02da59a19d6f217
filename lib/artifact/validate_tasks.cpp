#include <algorithm>
#include <array>
#include <vector>

#include "artifact/tasks.h"
#include "artifact/validate.h"
#include "artifact/validate_tiles.h"
#include "base/checked.h"
#include "base/id.h"

namespace weft {
namespace {

/// Products of three 32-bit extents stay far below 64 bits if each tensor keeps below this; so do local addresses in 31 bits.
constexpr std::uint64_t largest_tensor_elems = 1U << 31U;

/// Tap counts and strides beyond this are no network's; they keep window arithmetic within 64 bits.
constexpr std::uint32_t largest_window = 1U << 20U;

class TasksValidator {
public:
    TasksValidator(const Tasks& tasks, std::string_view file) : tasks_(tasks), check_(file) {}

    void run() {
        check_.pool(tasks_.name_pool, "name_pool");
        for (std::size_t row = 0; row < tasks_.tensors.size(); ++row) check_tensor(row);
        for (std::size_t row = 0; row < tasks_.weights.size(); ++row) {
            check_.below(tasks_.weights[row].elem_count, largest_tensor_elems, "weights", row);
        }
        for (std::size_t row = 0; row < tasks_.inputs.size(); ++row) check_.below(tasks_.inputs[row], tasks_.tensors.size(), "inputs", row);
        check_ports();
        check_family_ranges();
        if (!tasks_.bands.empty()) check_.length(tasks_.bands.size(), tasks_.families.size(), "bands");
        if (!tasks_.biases.empty()) check_.length(tasks_.biases.size(), tasks_.families.size(), "biases");
        for (std::size_t row = 0; row < tasks_.families.size(); ++row) check_family(row);
        check_moves();
        for (std::size_t row = 0; row < tasks_.families.size(); ++row) check_lanes(row);
    }

private:
    [[nodiscard]] FamilyKind kind_of(const Family& family) const { return static_cast<FamilyKind>(family.kind); }
    [[nodiscard]] const TaskTensor& input(const Family& family, std::uint32_t slot) const {
        return tasks_.tensors[tasks_.inputs[family.first_input + slot]];
    }
    [[nodiscard]] static std::uint64_t positions(const TaskTensor& tensor) { return std::uint64_t{tensor.rows} * tensor.columns; }

    void check_tensor(std::size_t row) const {
        const TaskTensor& tensor = tasks_.tensors[row];
        if (tensor.rows == 0 || tensor.columns == 0 || tensor.channels == 0) check_.reject("tensors", row, "an extent is zero");
        check_.below(tensor.gap, largest_window, "tensors", row);
        check_.below(tensor.rows, largest_tensor_elems, "tensors", row);
        check_.below(std::uint64_t{tensor.rows} * tensor.channels, largest_tensor_elems, "tensors", row);
        const std::uint64_t pitch = std::uint64_t{tensor.columns} + tensor.gap;
        if (pitch >= largest_tensor_elems / (std::uint64_t{tensor.rows} * tensor.channels)) check_.reject("tensors", row, "the tensor has 2^31 elements or more");
        check_.below_or_none(tensor.producer, tasks_.families.size(), "tensors", row);
        if (tensor.producer != no_id && tasks_.families[tensor.producer].output != row) {
            check_.reject("tensors", row, "its producer {} writes another tensor", tensor.producer);
        }
        check_.below_or_none(tensor.output_port, tasks_.graph_outputs.size(), "tensors", row);
        if (tensor.output_port != no_id && tasks_.graph_outputs[tensor.output_port] != row) {
            check_.reject("tensors", row, "output port {} is another tensor", tensor.output_port);
        }
        if (tensor.output_port != no_id && tensor.producer == no_id) check_.reject("tensors", row, "an output without producer");
    }

    void check_ports() const {
        for (std::size_t row = 0; row < tasks_.graph_inputs.size(); ++row) {
            check_.below(tasks_.graph_inputs[row], tasks_.tensors.size(), "graph_inputs", row);
            if (tasks_.tensors[tasks_.graph_inputs[row]].producer != no_id) check_.reject("graph_inputs", row, "the tensor has a producer");
            check_bijection(tasks_.tensors[tasks_.graph_inputs[row]], "graph_inputs", row);
        }
        for (std::size_t row = 0; row < tasks_.graph_outputs.size(); ++row) {
            check_.below(tasks_.graph_outputs[row], tasks_.tensors.size(), "graph_outputs", row);
            if (tasks_.tensors[tasks_.graph_outputs[row]].output_port != row) check_.reject("graph_outputs", row, "the tensor names another port");
            check_bijection(tasks_.tensors[tasks_.graph_outputs[row]], "graph_outputs", row);
        }
        // A tensor without producer is an input of the chip.
        std::vector<char> is_input(tasks_.tensors.size(), 0);
        for (const std::uint32_t tensor : tasks_.graph_inputs) is_input[tensor] = 1;
        for (std::size_t row = 0; row < tasks_.tensors.size(); ++row) {
            if (tasks_.tensors[row].producer == no_id && is_input[row] == 0) check_.reject("tensors", row, "neither produced nor an input");
        }
    }

    /// Every element of a port's logical tensor stands at exactly one place: strides are nested.
    void check_bijection(const TaskTensor& tensor, std::string_view column, std::size_t row) const {
        std::array<std::pair<std::uint64_t, std::uint64_t>, 3> axes{
            {{tensor.row_stride, tensor.rows}, {tensor.column_stride, tensor.columns}, {tensor.channel_stride, tensor.channels}}};
        std::sort(axes.begin(), axes.end());
        std::uint64_t expected = 1;
        for (const auto& [stride, extent] : axes) {
            if (extent == 1) continue;
            if (stride != expected) check_.reject(column, row, "the strides of tensor are no ordering of its elements");
            expected *= extent;
        }
    }

    /// Families' ranges of the other tables: within them, and lanes and moves in family order.
    void check_family_ranges() const {
        std::uint64_t next_lane = 0;
        for (std::size_t row = 0; row < tasks_.families.size(); ++row) {
            const Family& family = tasks_.families[row];
            check_.text(family.name, tasks_.name_pool, "families", row);
            check_.below(family.kind, 5, "families", row);
            check_.below(family.output, tasks_.tensors.size(), "families", row);
            if (tasks_.tensors[family.output].producer != row) check_.reject("families", row, "its output has another producer");
            check_.range(family.first_input, family.input_count, tasks_.inputs.size(), "families", row);
            check_.range(family.first_step, family.step_count, tasks_.steps.size(), "families", row);
            check_.range(family.first_strip, family.strip_count, tasks_.strips.size(), "families", row);
            if (family.first_lane != next_lane) check_.reject("families", row, "its lanes do not follow those of the family before");
            check_.range(family.first_lane, family.lane_count, tasks_.lanes.size(), "families", row);
            next_lane += family.lane_count;
        }
        if (next_lane != tasks_.lanes.size()) check_.reject("lanes", next_lane, "a lane of no family");
    }

    void check_family(std::size_t row) const {
        const Family& family = tasks_.families[row];
        if (family.input_count == 0) check_.reject("families", row, "no inputs");
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            const TaskTensor& tensor = input(family, slot);
            if (tensor.producer != no_id && tensor.producer >= row) check_.reject("families", row, "input {} is not produced before it", slot);
        }
        const TaskTensor& output = tasks_.tensors[family.output];
        if (family.tile_rows == 0 || family.tile_columns == 0 || family.tile_rows > output.rows || family.tile_columns > output.columns) {
            check_.reject("families", row, "tiles of {} x {} do not fit its output", family.tile_rows, family.tile_columns);
        }
        if (kind_of(family) != FamilyKind::Matrix && (family.tile_rows != 1 || family.tile_columns != 1)) {
            check_.reject("families", row, "only matrix families have windows");
        }
        if (kind_of(family) != FamilyKind::Matrix && family.strip_count != 0) check_.reject("families", row, "only matrix families have strips");
        check_.below(family.pool_mode, 3, "families", row);
        if (kind_of(family) == FamilyKind::Matrix || kind_of(family) == FamilyKind::Pool) check_window(family, row);
        if (kind_of(family) == FamilyKind::Matrix) check_strips(family, row);
        check_band(family, row);
        check_bias(family, row);
        if (kind_of(family) == FamilyKind::Pointwise) check_same_pixels(input(family, 0), output, row, 0);
        for (std::uint32_t step = family.first_step; step < family.first_step + family.step_count; ++step) check_step(family, row, step);
    }

    void check_window(const Family& family, std::size_t row) const {
        for (const std::uint32_t value : {family.kernel_rows, family.kernel_columns, family.stride_rows, family.stride_columns, family.dilation_rows,
                                          family.dilation_columns}) {
            if (value == 0) check_.reject("families", row, "a kernel, stride or dilation is zero");
            check_.below(value, largest_window, "families", row);
        }
        check_.below(family.pad_top, largest_window, "families", row);
        check_.below(family.pad_left, largest_window, "families", row);
        if (kind_of(family) == FamilyKind::Pool && input(family, 0).channels != tasks_.tensors[family.output].channels) {
            check_.reject("families", row, "a pool keeps its channels");
        }
    }

    void check_band(const Family& family, std::size_t row) const {
        const TaskTensor& output = tasks_.tensors[family.output];
        const FamilyBand band = band_of(row);
        if (kind_of(family) == FamilyKind::BandSum) return check_band_sum(family, row);
        if (band.period == 0 && band.first_row == 0) return;
        if (kind_of(family) != FamilyKind::Matrix) check_.reject("bands", row, "only matrix families are bands");
        check_.below(band.period, largest_window, "bands", row);
        check_.range(band.first_row, family.tile_rows, band.period, "bands", row);
        if (output.rows % family.tile_rows != 0) check_.reject("families", row, "a band has whole tiles");
    }

    [[nodiscard]] FamilyBand band_of(std::size_t family) const { return tasks_.bands.empty() ? FamilyBand{} : tasks_.bands[family]; }

    /// Every row of a tile is in some band, and every band has the tiles of the whole.
    void check_band_sum(const Family& family, std::size_t row) const {
        const TaskTensor& output = tasks_.tensors[family.output];
        const std::uint32_t period = band_of(row).period;
        if (period == 0 || period > output.rows) check_.reject("bands", row, "a period of {} rows", period);
        std::vector<char> named(family.input_count, 0);
        for (const Step& step : tasks_.steps.subspan(family.first_step, family.step_count)) {
            const auto operand = static_cast<OperandKind>(step.operand_kind);
            if ((operand == OperandKind::Input || operand == OperandKind::InputBroadcast) && step.operand < family.input_count) named[step.operand] = 1;
        }
        std::vector<char> made(period, 0);
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            if (named[slot] != 0) continue;
            const TaskTensor& part = input(family, slot);
            if (part.producer == no_id) check_.reject("families", row, "input {} is no band", slot);
            const Family& maker = tasks_.families[part.producer];
            const FamilyBand band = band_of(part.producer);
            const bool fits = kind_of(maker) == FamilyKind::Matrix && band.period == period && part.columns == output.columns &&
                              part.channels == output.channels && maker.tile_rows <= period && band.first_row <= period - maker.tile_rows &&
                              part.rows == std::uint64_t{ceil_divide(output.rows, period)} * maker.tile_rows;
            if (!fits) check_.reject("families", row, "input {} is no band of the output", slot);
            std::fill_n(made.begin() + band.first_row, maker.tile_rows, 1);
        }
        if (std::find(made.begin(), made.end(), 0) != made.end()) check_.reject("families", row, "a row of the tile is in no band");
    }

    void check_strips(const Family& family, std::size_t row) const {
        if (family.strip_count == 0) check_.reject("families", row, "a matrix family without strips");
        std::uint64_t crossbars = 0;
        for (std::uint32_t s = family.first_strip; s < family.first_strip + family.strip_count; ++s) {
            check_strip(family, s);
            crossbars += tasks_.strips[s].crossbars;
        }
        if (crossbars != family.crossbars) check_.reject("families", row, "its strips have {} crossbars, not {}", crossbars, family.crossbars);
    }

    void check_bias(const Family& family, std::size_t row) const {
        const FamilyBias bias = tasks_.biases.empty() ? FamilyBias{no_id, 0, 0, 0} : tasks_.biases[row];
        const auto strips = tasks_.strips.subspan(family.first_strip, family.strip_count);
        const bool in_matrix = std::any_of(strips.begin(), strips.end(), [](const Strip& strip) { return strip.bias_row != 0; });
        if (in_matrix && bias.constant == no_id) check_.reject("biases", row, "strips have bias rows, but there is no bias");
        if (bias.constant == no_id && bias.first_row == 0 && bias.row_count == 0 && bias.clamp == 0) return;
        if (kind_of(family) != FamilyKind::Matrix) check_.reject("biases", row, "only matrix families have a bias");
        check_.below(bias.clamp, 2, "biases", row);
        check_.range(bias.first_row, bias.row_count, family.tile_rows, "biases", row);
        if (bias.constant != no_id) check_bias_values(family, bias, row);
        if (bias.clamp == 0) return;
        std::uint64_t results = 0;
        for (const Strip& strip : strips) {
            for (const StripTarget& target : tasks_.targets.subspan(strip.first_target, strip.target_count)) {
                const bool biased = target.row >= bias.first_row && target.row - bias.first_row < bias.row_count;
                if (bias.constant != no_id && biased && strip.bias_row == 0) check_.reject("biases", row, "clamps before its bias is added");
                results += target.length;
            }
        }
        if (results != std::uint64_t{family.tile_rows} * family.tile_columns * tasks_.tensors[family.output].channels) {
            check_.reject("biases", row, "clamps results that are parts of a sum");
        }
    }

    void check_bias_values(const Family& family, const FamilyBias& bias, std::size_t row) const {
        check_.below(bias.constant, tasks_.constants.size(), "biases", row);
        const TaskConstant& constant = tasks_.constants[bias.constant];
        const std::uint64_t channels = tasks_.tensors[family.output].channels;
        if (constant.row_stride != 0 || constant.column_stride != 0) check_.reject("biases", row, "the constant differs from position to position");
        if (constant.weight == no_id) return;
        check_.below(constant.weight, tasks_.weights.size(), "biases", row);
        check_.below(constant.offset + (channels - 1) * constant.channel_stride, tasks_.weights[constant.weight].elem_count, "biases", row);
    }

    void check_strip(const Family& family, std::size_t row) const {
        const Strip& strip = tasks_.strips[row];
        check_.range(strip.first_piece, strip.piece_count, tasks_.pieces.size(), "strips", row);
        check_.range(strip.first_target, strip.target_count, tasks_.targets.size(), "strips", row);
        check_.range(strip.first_block, strip.block_count, tasks_.blocks.size(), "strips", row);
        check_.below(strip.bias_row, 2, "strips", row);
        if (strip.rows == 0 || strip.columns == 0 || strip.crossbars == 0 || strip.piece_count == 0) check_.reject("strips", row, "an empty strip");
        std::uint64_t length = strip.bias_row;
        for (std::size_t piece = strip.first_piece; piece < strip.first_piece + strip.piece_count; ++piece) {
            check_piece(family, piece);
            length += tasks_.pieces[piece].length;
        }
        if (length != strip.rows) check_.reject("strips", row, "its pieces have {} rows, not {}", length, strip.rows);
        for (std::size_t target = strip.first_target; target < strip.first_target + strip.target_count; ++target) check_target(family, strip, target);
        for (std::size_t block = strip.first_block; block < strip.first_block + strip.block_count; ++block) check_block(strip, block);
    }

    /// Inside the input with its padding, for every tile: the columns left and right of a row are its gaps.
    void check_piece(const Family& family, std::size_t row) const {
        const Piece& piece = tasks_.pieces[row];
        check_.below(piece.input, family.input_count, "pieces", row);
        if (piece.length == 0) check_.reject("pieces", row, "no elements");
        check_.below(piece.row, largest_window, "pieces", row);
        const TaskTensor& source = input(family, piece.input);
        const TaskTensor& output = tasks_.tensors[family.output];
        const std::uint64_t end = std::uint64_t{piece.column_elems} + piece.length;
        check_.below(end, largest_tensor_elems, "pieces", row);
        const std::uint64_t last_tile_column = std::uint64_t{output.columns - family.tile_columns} * family.stride_columns;
        const std::uint64_t last = last_tile_column * source.channels + end;
        const std::uint64_t limit = (std::uint64_t{family.pad_left} + source.columns + source.gap) * source.channels;
        if (last > limit) check_.reject("pieces", row, "reads past the gap behind its input's rows");
        if (family.pad_left > source.gap && piece.column_elems < std::uint64_t{family.pad_left - source.gap} * source.channels) {
            check_.reject("pieces", row, "reads before the gap in front of its input's rows");
        }
    }

    void check_target(const Family& family, const Strip& strip, std::size_t row) const {
        const StripTarget& target = tasks_.targets[row];
        if (target.length == 0) check_.reject("targets", row, "no results");
        check_.range(target.first_column, target.length, strip.columns, "targets", row);
        check_.below(target.row, family.tile_rows, "targets", row);
        check_.below(target.column, family.tile_columns, "targets", row);
        const std::uint64_t channels = tasks_.tensors[family.output].channels;
        check_.below(target.channel, channels, "targets", row);
        check_.range(target.channel, target.length, (family.tile_columns - target.column) * channels, "targets", row);
    }

    void check_block(const Strip& strip, std::size_t row) const {
        const MatrixBlock& block = tasks_.blocks[row];
        check_.below(block.weight, tasks_.weights.size(), "blocks", row);
        if (block.rows == 0 || block.columns == 0) check_.reject("blocks", row, "an empty block");
        check_.range(block.row, block.rows, strip.rows, "blocks", row);
        check_.range(block.column, block.columns, strip.columns, "blocks", row);
        const std::uint64_t last =
            block.offset + std::uint64_t{block.rows - 1} * block.row_stride + std::uint64_t{block.columns - 1} * block.column_stride;
        check_.below(last, tasks_.weights[block.weight].elem_count, "blocks", row);
    }

    void check_same_pixels(const TaskTensor& a, const TaskTensor& b, std::size_t row, std::uint32_t slot) const {
        if (a.rows != b.rows || a.columns != b.columns || a.channels != b.channels) {
            check_.reject("families", row, "input {} has other pixels than the output", slot);
        }
    }

    void check_step(const Family& family, std::size_t family_row, std::size_t row) const {
        const Step& step = tasks_.steps[row];
        check_.below(step.kind, static_cast<std::uint64_t>(StepKind::PRelu) + 1, "steps", row);
        check_.below(step.operand_kind, static_cast<std::uint64_t>(OperandKind::FullConstant) + 1, "steps", row);
        const TaskTensor& output = tasks_.tensors[family.output];
        const auto operand = static_cast<OperandKind>(step.operand_kind);
        const bool wants_operand = step.kind >= static_cast<std::uint32_t>(StepKind::AddOperand);
        if (wants_operand != (operand != OperandKind::None)) check_.reject("steps", row, "its operand does not fit its kind");
        if (operand == OperandKind::Input || operand == OperandKind::InputBroadcast) {
            check_.below(step.operand, family.input_count, "steps", row);
            const TaskTensor& other = input(family, step.operand);
            if (operand == OperandKind::Input) check_same_pixels(other, output, family_row, step.operand);
            if (operand == OperandKind::InputBroadcast && (positions(other) != 1 || other.channels != output.channels)) {
                check_.reject("steps", row, "a broadcast operand has one position with the output's channels");
            }
        }
        if (operand == OperandKind::ChannelConstant || operand == OperandKind::FullConstant) {
            check_.below(step.operand, tasks_.constants.size(), "steps", row);
            check_constant(tasks_.constants[step.operand], output, operand, step.operand);
        }
    }

    void check_constant(const TaskConstant& constant, const TaskTensor& output, OperandKind kind, std::size_t row) const {
        if (kind == OperandKind::ChannelConstant && (constant.row_stride != 0 || constant.column_stride != 0)) {
            check_.reject("constants", row, "a constant per channel has no row or column strides");
        }
        if (constant.weight == no_id) return;
        check_.below(constant.weight, tasks_.weights.size(), "constants", row);
        const std::uint64_t last = constant.offset + std::uint64_t{output.rows - 1} * constant.row_stride +
                                   std::uint64_t{output.columns - 1} * constant.column_stride + std::uint64_t{output.channels - 1} * constant.channel_stride;
        check_.below(last, tasks_.weights[constant.weight].elem_count, "constants", row);
    }

    void check_moves() const {
        std::size_t next_move = 0;
        std::uint64_t next_copy = 0;
        for (std::size_t row = 0; row < tasks_.families.size(); ++row) {
            if (kind_of(tasks_.families[row]) != FamilyKind::Move) continue;
            if (next_move >= tasks_.moves.size()) check_.reject("families", row, "a move family without a row of 'moves'");
            const MoveRange& range = tasks_.moves[next_move];
            if (range.family != row || range.first_copy != next_copy) check_.reject("moves", next_move, "not the next move family and its copies");
            check_.range(range.first_copy, range.copy_count, tasks_.copies.size(), "moves", next_move);
            check_copies(tasks_.families[row], range);
            next_copy += range.copy_count;
            ++next_move;
        }
        check_.length(tasks_.moves.size(), next_move, "moves");
        check_.length(tasks_.copies.size(), next_copy, "copies");
    }

    void check_copies(const Family& family, const MoveRange& range) const {
        const TaskTensor& output = tasks_.tensors[family.output];
        std::uint64_t written = 0;      // first output element that may still be written
        for (std::size_t row = range.first_copy; row < range.first_copy + range.copy_count; ++row) {
            const MoveCopy& copy = tasks_.copies[row];
            check_.below(copy.output_position, positions(output), "copies", row);
            check_.below(copy.input, family.input_count, "copies", row);
            if (copy.length == 0) check_.reject("copies", row, "no elements");
            if (copy.source_stride < 0) check_.reject("copies", row, "a negative source stride");
            check_.range(copy.output_channel, copy.length, output.channels, "copies", row);
            const std::uint64_t first = std::uint64_t{copy.output_position} * output.channels + copy.output_channel;
            if (first < written) check_.reject("copies", row, "out of order, or an element written twice");
            written = first + copy.length;
            const TaskTensor& source = input(family, copy.input);
            check_.below(copy.source_position, positions(source), "copies", row);
            check_.below(copy.source_channel, source.channels, "copies", row);
            const std::uint64_t pitch = (std::uint64_t{source.columns} + source.gap) * source.channels;
            const std::uint64_t from = copy.source_position / source.columns * pitch + std::uint64_t{copy.source_position % source.columns} * source.channels + copy.source_channel;
            const std::uint64_t last = from + std::uint64_t{copy.length - 1} * static_cast<std::uint64_t>(copy.source_stride);
            check_.below(last, pitch * source.rows, "copies", row);
        }
    }

    /// Lanes take each tile exactly once, in order, and publish the run of positions of their tiles.
    void check_lanes(std::size_t row) const {
        const Family& family = tasks_.families[row];
        const TaskTensor& output = tasks_.tensors[family.output];
        const std::uint64_t tiles_per_row = (std::uint64_t{output.columns} + family.tile_columns - 1) / family.tile_columns;
        const std::uint64_t tiles = tiles_per_row * ((std::uint64_t{output.rows} + family.tile_rows - 1) / family.tile_rows);
        std::uint64_t next_tile = 0;
        for (std::size_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            const Lane& lane = tasks_.lanes[l];
            if (lane.family != row) check_.reject("lanes", l, "belongs to family {}, not {}", lane.family, row);
            if (lane.first_tile != next_tile || lane.tile_count == 0) check_.reject("lanes", l, "its tiles do not follow those of the lane before");
            next_tile += lane.tile_count;
            if (next_tile > tiles) check_.reject("lanes", l, "passes the family's {} tiles", tiles);
            check_fragment(family, output, tiles_per_row, lane, l);
            check_.range(lane.first_demand, lane.demand_count, tasks_.demands.size(), "lanes", l);
            check_demands(family, lane);
        }
        if (next_tile != tiles) check_.reject("families", row, "its lanes take {} of {} tiles", next_tile, tiles);
    }

    void check_fragment(const Family& family, const TaskTensor& output, std::uint64_t tiles_per_row, const Lane& lane, std::size_t row) const {
        check_.range(lane.first_position, lane.position_count, positions(output), "lanes", row);
        if (family.tile_rows == 1 && family.tile_columns == 1) {
            if (lane.first_position != lane.first_tile || lane.position_count != lane.tile_count) check_.reject("lanes", row, "its fragment is not its tiles");
            return;
        }
        // Windowed tiles: the fragment holds the lane's tiles. The last tile of a row or column may reach back over the one
        // before, which publishes those positions.
        const auto origin = [](std::uint64_t tile, std::uint32_t size, std::uint32_t extent) { return std::min<std::uint64_t>(tile * size, extent - size); };
        const std::uint64_t first_tile = lane.first_tile;
        const std::uint64_t last_tile = first_tile + lane.tile_count - 1;
        const std::uint64_t first = first_tile / tiles_per_row * family.tile_rows * output.columns + first_tile % tiles_per_row * family.tile_columns;
        const std::uint64_t last_row = origin(last_tile / tiles_per_row, family.tile_rows, output.rows) + family.tile_rows - 1;
        const std::uint64_t last = last_row * output.columns + origin(last_tile % tiles_per_row, family.tile_columns, output.columns) + family.tile_columns - 1;
        if (lane.first_position > first || std::uint64_t{lane.first_position} + lane.position_count <= last) {
            check_.reject("lanes", row, "its fragment does not cover its tiles");
        }
    }

    void check_demands(const Family& family, const Lane& lane) const {
        for (std::size_t d = lane.first_demand; d < lane.first_demand + lane.demand_count; ++d) {
            const Demand& demand = tasks_.demands[d];
            check_.below(demand.input, family.input_count, "demands", d);
            if (demand.position_count == 0) check_.reject("demands", d, "no positions");
            check_.range(demand.first_position, demand.position_count, positions(input(family, demand.input)), "demands", d);
        }
    }

    const Tasks& tasks_;
    Validator check_;
};

}  // namespace

template <>
void validate<Tasks>(const Tasks& tasks, std::string_view file) {
    TasksValidator(tasks, file).run();
    validate_tile_tasks(tasks, file);
}

}  // namespace weft
