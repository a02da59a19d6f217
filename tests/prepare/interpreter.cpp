#include "interpreter.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/id.h"
#include "reference/executor.h"

namespace weft::testing {
namespace {

std::size_t origin_of(std::size_t tile, std::uint32_t size, std::uint32_t extent) { return std::min<std::size_t>(tile * size, extent - size); }

class Interpreter {
public:
    Interpreter(const Tasks& tasks, const BlobStore& store) : tasks_(tasks), values_(tasks.tensors.size()) {
        for (const Weight& weight : tasks.weights) weights_.push_back(store.get_f32({weight.hash_high, weight.hash_low}, weight.elem_count));
        for (std::size_t t = 0; t < tasks.tensors.size(); ++t) {
            const TaskTensor& tensor = tasks.tensors[t];
            values_[t].assign(std::size_t{tensor.rows} * tensor.columns * tensor.channels, std::nanf(""));
        }
    }

    /// Calls body(logical index, value&) for every element of a tensor.
    template <class Body>
    void for_each_element(std::uint32_t id, Body body) {
        const TaskTensor& tensor = tasks_.tensors[id];
        std::size_t element = 0;
        for (std::size_t row = 0; row < tensor.rows; ++row)
            for (std::size_t column = 0; column < tensor.columns; ++column)
                for (std::size_t channel = 0; channel < tensor.channels; ++channel)
                    body(row * tensor.row_stride + column * tensor.column_stride + channel * tensor.channel_stride, values_[id][element++]);
    }

    void run() {
        for (std::size_t f = 0; f < tasks_.families.size(); ++f) {
            family_ = &tasks_.families[f];
            family_index_ = f;
            output_ = &tasks_.tensors[family_->output];
            if (kind() == FamilyKind::Move) fill(f);
            for (const Lane& lane : tasks_.lanes.subspan(family_->first_lane, family_->lane_count)) run_lane(lane);
        }
    }

private:
    [[nodiscard]] FamilyKind kind() const { return static_cast<FamilyKind>(family_->kind); }
    [[nodiscard]] std::uint32_t input_id(std::uint32_t slot) const { return tasks_.inputs[family_->first_input + slot]; }
    [[nodiscard]] const TaskTensor& input(std::uint32_t slot) const { return tasks_.tensors[input_id(slot)]; }
    float* output_at(std::size_t position) { return values_[family_->output].data() + position * output_->channels; }

    float read(std::uint32_t slot, std::size_t position, std::size_t channel) const {
        const auto demands = tasks_.demands.subspan(lane_->first_demand, lane_->demand_count);
        const bool demanded = std::any_of(demands.begin(), demands.end(), [&](const Demand& demand) {
            return demand.input == slot && position >= demand.first_position && position < std::size_t{demand.first_position} + demand.position_count;
        });
        if (!demanded) throw std::logic_error("a lane reads a position that it does not demand");
        const float value = values_[input_id(slot)][position * input(slot).channels + channel];
        if (std::isnan(value)) throw std::logic_error("a lane reads a value that nobody computed");
        return value;
    }

    void fill(std::size_t family) {
        for (const MoveRange& range : tasks_.moves) {
            if (range.family != family) continue;
            move_ = &range;
            std::fill(values_[family_->output].begin(), values_[family_->output].end(), range.fill);
        }
    }

    void run_lane(const Lane& lane) {
        lane_ = &lane;
        if (kind() == FamilyKind::Matrix) {
            run_tiles(lane);
            return;
        }
        for (std::size_t position = lane.first_position; position < std::size_t{lane.first_position} + lane.position_count; ++position) {
            if (kind() == FamilyKind::Pool) pool(position);
            if (kind() == FamilyKind::Move) move(position);
            if (kind() == FamilyKind::BandSum) sum_bands(position);
            if (kind() == FamilyKind::Pointwise) {
                for (std::size_t channel = 0; channel < output_->channels; ++channel) output_at(position)[channel] = read(0, position, channel);
            }
            steps(position);
        }
    }

    void run_tiles(const Lane& lane) {
        const std::size_t tiles_per_row = (output_->columns + family_->tile_columns - 1) / family_->tile_columns;
        std::vector<std::size_t> done;
        for (std::size_t tile = lane.first_tile; tile < std::size_t{lane.first_tile} + lane.tile_count; ++tile) {
            const std::size_t row = origin_of(tile / tiles_per_row, family_->tile_rows, output_->rows);
            const std::size_t column = origin_of(tile % tiles_per_row, family_->tile_columns, output_->columns);
            for (std::size_t r = 0; r < family_->tile_rows; ++r)
                for (std::size_t c = 0; c < family_->tile_columns; ++c) {
                    const std::size_t position = (row + r) * output_->columns + column + c;
                    // The last tile of a row or column may reach back over the ones before, to the same values.
                    const bool reaches_back = row + r < tile / tiles_per_row * family_->tile_rows || column + c < tile % tiles_per_row * family_->tile_columns;
                    const bool inside = position >= lane.first_position && position < std::size_t{lane.first_position} + lane.position_count;
                    if (!reaches_back && !inside) {
                        throw std::logic_error("a tile outside its lane's fragment");
                    }
                    std::fill_n(output_at(position), output_->channels, 0.0F);
                    done.push_back(position);
                }
            reached_.assign(std::size_t{family_->tile_rows} * family_->tile_columns * output_->channels, 0);
            for (const Strip& strip : tasks_.strips.subspan(family_->first_strip, family_->strip_count)) run_strip(strip, row, column);
        }
        std::sort(done.begin(), done.end());
        done.erase(std::unique(done.begin(), done.end()), done.end());
        for (const std::size_t position : done) steps(position);
    }

    void run_strip(const Strip& strip, std::size_t row, std::size_t column) {
        std::vector<float> vector;
        for (const Piece& piece : tasks_.pieces.subspan(strip.first_piece, strip.piece_count)) gather(piece, row, column, vector);
        if (strip.bias_row != 0) vector.push_back(1.0F);
        if (vector.size() != strip.rows) throw std::logic_error("pieces and rows of a strip differ");
        std::vector<double> results(strip.columns, 0.0);
        for (const MatrixBlock& block : tasks_.blocks.subspan(strip.first_block, strip.block_count))
            for (std::size_t i = 0; i < block.rows; ++i)
                for (std::size_t j = 0; j < block.columns; ++j) {
                    results[block.column + j] += double{vector[block.row + i]} * weights_[block.weight].at(block.offset + i * block.row_stride + j * block.column_stride);
                }
        for (const StripTarget& target : tasks_.targets.subspan(strip.first_target, strip.target_count)) {
            float* output = output_at((row + target.row) * output_->columns + column + target.column) + target.channel;
            const std::size_t first = (std::size_t{target.row} * family_->tile_columns + target.column) * output_->channels + target.channel;
            const FamilyBias bias = tasks_.biases.empty() ? FamilyBias{no_id, 0, 0, 0} : tasks_.biases[family_index_];
            for (std::size_t i = 0; i < target.length; ++i) {
                auto value = static_cast<float>(results[target.first_column + i]);
                const bool in_rows = target.row >= bias.first_row && target.row < bias.first_row + bias.row_count;
                if (bias.constant != no_id && in_rows && reached_[first + i] == 0 && !has_bias_row(target.row, first + i)) {
                    const TaskConstant& constant = tasks_.constants[bias.constant];
                    value += weights_[constant.weight].at(constant.offset + (target.channel + i) % output_->channels * constant.channel_stride);
                }
                if (bias.clamp != 0 && reached_[first + i] != 0) throw std::logic_error("a sum is clamped part by part");
                reached_[first + i] = 1;
                output[i] += bias.clamp != 0 ? std::max(value, 0.0F) : value;
            }
        }
    }

    /// True where the output of the tile gets its bias in a matrix.
    [[nodiscard]] bool has_bias_row(std::size_t tile_row, std::size_t output) const {
        for (const Strip& strip : tasks_.strips.subspan(family_->first_strip, family_->strip_count)) {
            if (strip.bias_row == 0) continue;
            for (const StripTarget& target : tasks_.targets.subspan(strip.first_target, strip.target_count)) {
                const std::size_t first = (std::size_t{target.row} * family_->tile_columns + target.column) * output_->channels + target.channel;
                if (target.row == tile_row && output >= first && output < first + target.length) return true;
            }
        }
        return false;
    }

    void gather(const Piece& piece, std::size_t row, std::size_t column, std::vector<float>& vector) const {
        const TaskTensor& source = input(piece.input);
        const std::int64_t channels = source.channels;
        // Tiles of a band are where the whole tiles are.
        const std::uint32_t period = tasks_.bands.empty() ? 0 : tasks_.bands[family_index_].period;
        const std::size_t whole_row = period == 0 ? row : row / family_->tile_rows * period;
        const std::int64_t input_row = static_cast<std::int64_t>(whole_row * family_->stride_rows) - family_->pad_top + piece.row;
        const std::int64_t first = (static_cast<std::int64_t>(column * family_->stride_columns) - family_->pad_left) * channels + piece.column_elems;
        for (std::int64_t element = first; element < first + piece.length; ++element) {
            const std::int64_t input_column = element >= 0 ? element / channels : -((-element + channels - 1) / channels);
            if (input_column < -std::int64_t{source.gap} || input_column >= std::int64_t{source.columns} + source.gap) {
                throw std::logic_error("a piece reads beyond the gap");
            }
            const bool inside = input_row >= 0 && input_row < source.rows && input_column >= 0 && input_column < source.columns;
            vector.push_back(inside ? read(piece.input, static_cast<std::size_t>(input_row * source.columns + input_column),
                                           static_cast<std::size_t>(element - input_column * channels))
                                    : 0.0F);
        }
    }

    void pool(std::size_t position) {
        const TaskTensor& source = input(0);
        for (std::size_t channel = 0; channel < output_->channels; ++channel) {
            double sum = 0;
            float most = -std::numeric_limits<float>::infinity();
            std::size_t count = 0;
            for (std::size_t i = 0; i < family_->kernel_rows; ++i)
                for (std::size_t j = 0; j < family_->kernel_columns; ++j) {
                    const auto row = static_cast<std::int64_t>(position / output_->columns * family_->stride_rows + i * family_->dilation_rows) - family_->pad_top;
                    const auto column = static_cast<std::int64_t>(position % output_->columns * family_->stride_columns + j * family_->dilation_columns) - family_->pad_left;
                    if (row < 0 || column < 0 || row >= source.rows || column >= source.columns) continue;
                    const float value = read(0, static_cast<std::size_t>(row * source.columns + column), channel);
                    sum += value;
                    most = std::max(most, value);
                    ++count;
                }
            const auto mode = static_cast<PoolMode>(family_->pool_mode);
            if (mode == PoolMode::AverageCountPads) count = std::size_t{family_->kernel_rows} * family_->kernel_columns;
            output_at(position)[channel] = mode == PoolMode::Maximum ? most : static_cast<float>(sum / static_cast<double>(count));
        }
    }

    void sum_bands(std::size_t position) {
        const auto steps = tasks_.steps.subspan(family_->first_step, family_->step_count);
        const std::uint32_t period = tasks_.bands[family_index_].period;
        const std::size_t tile = position / output_->columns / period;
        const std::size_t row = position / output_->columns % period;
        std::fill_n(output_at(position), output_->channels, 0.0F);
        for (std::uint32_t slot = 0; slot < family_->input_count; ++slot) {
            const bool is_operand = std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
                return (step.operand_kind == static_cast<std::uint32_t>(OperandKind::Input) || step.operand_kind == static_cast<std::uint32_t>(OperandKind::InputBroadcast)) && step.operand == slot;
            });
            if (is_operand) continue;
            const std::uint32_t rows = tasks_.families[input(slot).producer].tile_rows;
            const std::uint32_t first = tasks_.bands[input(slot).producer].first_row;
            if (row < first || row - first >= rows) continue;
            const std::size_t from = (tile * rows + row - first) * output_->columns + position % output_->columns;
            for (std::size_t channel = 0; channel < output_->channels; ++channel) output_at(position)[channel] += read(slot, from, channel);
        }
    }

    void move(std::size_t position) {
        const auto copies = tasks_.copies.subspan(move_->first_copy, move_->copy_count);
        const auto before = [](const MoveCopy& copy, std::size_t at) { return copy.output_position < at; };
        for (auto here = std::lower_bound(copies.begin(), copies.end(), position, before); here != copies.end() && here->output_position == position; ++here) {
            const MoveCopy& copy = *here;
            const TaskTensor& source = input(copy.input);
            const std::size_t pitch = (std::size_t{source.columns} + source.gap) * source.channels;
            std::size_t address = copy.source_position / source.columns * pitch + copy.source_position % source.columns * source.channels + copy.source_channel;
            for (std::size_t i = 0; i < copy.length; ++i, address += static_cast<std::size_t>(copy.source_stride)) {
                const std::size_t column = address % pitch / source.channels;
                if (column >= source.columns) throw std::logic_error("a copy reads a gap");
                output_at(position)[copy.output_channel + i] = read(copy.input, address / pitch * source.columns + column, address % source.channels);
            }
        }
    }

    [[nodiscard]] float operand(const Step& step, std::size_t position, std::size_t channel) const {
        switch (static_cast<OperandKind>(step.operand_kind)) {
            case OperandKind::Input: return read(step.operand, position, channel);
            case OperandKind::InputBroadcast: return read(step.operand, 0, channel);
            case OperandKind::None: return 0;
            default: break;
        }
        const TaskConstant& constant = tasks_.constants[step.operand];
        if (constant.weight == no_id) return constant.shift;
        const std::size_t at = constant.offset + position / output_->columns * constant.row_stride + position % output_->columns * constant.column_stride + channel * constant.channel_stride;
        return weights_[constant.weight].at(at) * constant.scale + constant.shift;
    }

    void steps(std::size_t position) {
        for (const Step& step : tasks_.steps.subspan(family_->first_step, family_->step_count))
            for (std::size_t channel = 0; channel < output_->channels; ++channel) {
                float& v = output_at(position)[channel];
                v = apply(step, v, operand(step, position, channel));
            }
    }

    static float apply(const Step& step, float v, float o) {
        const auto bounded = [](float x) { return std::max(0.0F, std::min(1.0F, x)); };
        const auto sigmoid = [](float x) { return 1.0F / (1.0F + std::exp(-x)); };
        switch (static_cast<StepKind>(step.kind)) {
            case StepKind::Relu: return std::max(v, 0.0F);
            case StepKind::Sigmoid: return sigmoid(v);
            case StepKind::Tanh: return std::tanh(v);
            case StepKind::Clip: return std::min(std::max(v, step.alpha), step.beta);
            case StepKind::LeakyRelu: return v < 0 ? v * step.alpha : v;
            case StepKind::HardSigmoid: return bounded(step.alpha * v + step.beta);
            case StepKind::HardSwish: return v * bounded(v / 6.0F + 0.5F);
            case StepKind::Silu: return v * sigmoid(v);
            case StepKind::AddOperand: return v + o;
            case StepKind::SubOperand: return v - o;
            case StepKind::OperandSub: return o - v;
            case StepKind::MulOperand: return v * o;
            case StepKind::MaxOperand: return std::max(v, o);
            case StepKind::MinOperand: return std::min(v, o);
            case StepKind::PRelu: return v < 0 ? v * o : v;
        }
        throw std::logic_error("unknown step");
    }

    const Tasks& tasks_;
    std::vector<std::vector<float>> values_;
    std::vector<std::vector<float>> weights_;
    const Family* family_ = nullptr;
    std::size_t family_index_ = 0;
    std::vector<char> reached_;     // outputs of the present tile
    const TaskTensor* output_ = nullptr;
    const Lane* lane_ = nullptr;
    const MoveRange* move_ = nullptr;
};

}  // namespace

std::vector<HostTensor> run_tasks(const Graph& graph, const BlobStore& store, const Tasks& tasks, const std::vector<HostTensor>& inputs) {
    std::vector<HostTensor> values(graph.tensors.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
    run_nodes(graph, store, tasks.host_head, values);
    Interpreter interpreter(tasks, store);
    for (const std::uint32_t id : tasks.graph_inputs) {
        const HostTensor& source = values[tasks.tensors[id].graph_tensor];
        interpreter.for_each_element(id, [&](std::size_t index, float& value) { value = source.values.at(index); });
    }
    interpreter.run();
    for (const std::uint32_t id : tasks.graph_outputs) {
        const TensorId tensor(tasks.tensors[id].graph_tensor);
        const auto dims = tensor_dims(graph, tensor);
        HostTensor& result = values[tensor.index()];
        result.dims.assign(dims.begin(), dims.end());
        result.values.assign(elem_count(dims), std::nanf(""));
        interpreter.for_each_element(id, [&](std::size_t index, float& value) { result.values.at(index) = value; });
    }
    run_nodes(graph, store, tasks.host_tail, values);
    std::vector<HostTensor> outputs;
    for (const std::uint32_t tensor : graph.outputs) outputs.push_back(values[tensor]);
    return outputs;
}

TargetColumns small_target(std::uint32_t cores, std::uint32_t crossbars) {
    TargetColumns target;
    target.name = "small";
    target.core_count = cores;
    target.weight_bits = 8;
    target.activation_bits = 8;
    target.memory_switch_id = -10;
    target.core.period_fs = 1'000'000;
    target.core.rob_entries = 1;
    target.core.vector_width_elems = 32;
    target.core.vector_step_ns = 4;
    target.core.local_data_width_bytes = 64;
    target.core.local_period_fs = 1'000'000;
    target.core.local_read_cycles = 20;
    target.core.local_write_cycles = 30;
    target.core.local_memory_bytes = 1U << 20U;
    target.core.crossbar_count = crossbars;
    target.core.crossbar_rows = 128;
    target.core.crossbar_columns = 128;
    target.core.cell_bits = 2;
    target.core.matrix_period_fs = 1'000'000;
    target.core.matrix_pipelined = true;
    target.core.dac_resolution_bits = 1;
    target.core.dac_count = 128;
    target.core.dac_cycles = 1;
    target.core.adc_count = 16;
    target.core.adc_cycles = 20;
    target.core.crossbar_read_fs = 7'000'000;
    target.core.sample_hold_cycles = 1;
    target.core.shift_adder_cycles = 1;
    target.core.output_buffer_cycles = 1;
    target.memory = {32, 1'000'000, 40, 50, 1U << 30U};
    target.network = {32, 1, cores};
    target.link_latency_ps.assign(std::size_t{cores + 1} * (cores + 1), 6000);
    return target;
}

}  // namespace weft::testing
