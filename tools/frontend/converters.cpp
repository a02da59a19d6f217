#include "frontend/converters.h"

#include <algorithm>
#include <array>

namespace weft::frontend {
namespace {

struct Entry {
    std::string_view name;
    Conversion conversion;
};

// Sorted by name.
constexpr std::array entries = {
    Entry{"Abs", convert_unary_constant},
    Entry{"Add", convert_binary},
    Entry{"And", convert_compare},
    Entry{"AveragePool", convert_average_pool},
    Entry{"BatchNormalization", convert_batch_normalization},
    Entry{"Cast", convert_cast},
    Entry{"CastLike", convert_cast},
    Entry{"Ceil", convert_unary_constant},
    Entry{"Clip", convert_clip},
    Entry{"Concat", convert_concat},
    Entry{"Constant", convert_constant},
    Entry{"ConstantOfShape", convert_constant_of_shape},
    Entry{"Conv", convert_conv},
    Entry{"ConvTranspose", convert_conv_transpose},
    Entry{"DepthToSpace", convert_depth_to_space},
    Entry{"Div", convert_binary},
    Entry{"Dropout", convert_dropout},
    Entry{"Equal", convert_compare},
    Entry{"Erf", convert_erf},
    Entry{"Exp", convert_exp},
    Entry{"Expand", convert_expand},
    Entry{"Flatten", convert_flatten},
    Entry{"Floor", convert_unary_constant},
    Entry{"Gather", convert_gather},
    Entry{"Gelu", convert_gelu},
    Entry{"Gemm", convert_gemm},
    Entry{"GlobalAveragePool", convert_global_pool},
    Entry{"GlobalMaxPool", convert_global_pool},
    Entry{"Greater", convert_compare},
    Entry{"GreaterOrEqual", convert_compare},
    Entry{"HardSigmoid", convert_hard_sigmoid},
    Entry{"HardSwish", convert_hard_swish},
    Entry{"Identity", convert_identity},
    Entry{"LayerNormalization", convert_layer_normalization},
    Entry{"LeakyRelu", convert_leaky_relu},
    Entry{"Less", convert_compare},
    Entry{"LessOrEqual", convert_compare},
    Entry{"Log", convert_unary_constant},
    Entry{"LogSoftmax", convert_softmax},
    Entry{"MatMul", convert_matmul},
    Entry{"Max", convert_variadic},
    Entry{"MaxPool", convert_max_pool},
    Entry{"Mean", convert_variadic},
    Entry{"Min", convert_variadic},
    Entry{"Mod", convert_modulo},
    Entry{"Mul", convert_binary},
    Entry{"Neg", convert_negate},
    Entry{"Not", convert_unary_constant},
    Entry{"Or", convert_compare},
    Entry{"PRelu", convert_prelu},
    Entry{"Pad", convert_pad},
    Entry{"Pow", convert_power},
    Entry{"Range", convert_range},
    Entry{"Reciprocal", convert_unary_constant},
    Entry{"ReduceMax", convert_reduce},
    Entry{"ReduceMean", convert_reduce},
    Entry{"ReduceMin", convert_reduce},
    Entry{"ReduceProd", convert_reduce},
    Entry{"ReduceSum", convert_reduce},
    Entry{"Relu", convert_activation},
    Entry{"Reshape", convert_reshape},
    Entry{"Resize", convert_resize},
    Entry{"Round", convert_unary_constant},
    Entry{"Shape", convert_shape},
    Entry{"Sigmoid", convert_activation},
    Entry{"Sign", convert_unary_constant},
    Entry{"Size", convert_size},
    Entry{"Slice", convert_slice},
    Entry{"Softmax", convert_softmax},
    Entry{"SpaceToDepth", convert_space_to_depth},
    Entry{"Split", convert_split},
    Entry{"Sqrt", convert_sqrt},
    Entry{"Squeeze", convert_squeeze},
    Entry{"Sub", convert_binary},
    Entry{"Sum", convert_variadic},
    Entry{"Tanh", convert_activation},
    Entry{"Tile", convert_tile},
    Entry{"Transpose", convert_transpose},
    Entry{"Unsqueeze", convert_unsqueeze},
    Entry{"Upsample", convert_resize},
    Entry{"Where", convert_where},
    Entry{"Xor", convert_compare},
};

constexpr bool by_name(const Entry& a, const Entry& b) { return a.name < b.name; }
static_assert(std::is_sorted(entries.begin(), entries.end(), by_name));

}  // namespace

Conversion find_conversion(std::string_view operator_name) {
    const auto found = std::lower_bound(entries.begin(), entries.end(), Entry{operator_name, nullptr}, by_name);
    return found != entries.end() && found->name == operator_name ? found->conversion : nullptr;
}

}  // namespace weft::frontend
