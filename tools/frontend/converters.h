#pragma once

#include "frontend/node_context.h"

namespace weft::frontend {

/// One function per ONNX operator or family of operators: reads the node's operands and attributes through the context, appends
/// canonical operators and sets the outputs. Throws Failure(bad_input) where the node breaks ONNX's rules and Unsupported where
/// weft cannot take it. What changes only shapes, or has constant operands, folds (Builder).
void convert_activation(NodeContext& context);
void convert_average_pool(NodeContext& context);
void convert_batch_normalization(NodeContext& context);
void convert_binary(NodeContext& context);
void convert_cast(NodeContext& context);
void convert_clip(NodeContext& context);
void convert_compare(NodeContext& context);
void convert_concat(NodeContext& context);
void convert_constant(NodeContext& context);
void convert_constant_of_shape(NodeContext& context);
void convert_computed_matmul(NodeContext& context);
void convert_conv(NodeContext& context);
void convert_conv_transpose(NodeContext& context);
void convert_depth_to_space(NodeContext& context);
void convert_dropout(NodeContext& context);
void convert_erf(NodeContext& context);
void convert_exp(NodeContext& context);
void convert_expand(NodeContext& context);
void convert_flatten(NodeContext& context);
void convert_gather(NodeContext& context);
void convert_gelu(NodeContext& context);
void convert_gemm(NodeContext& context);
void convert_global_pool(NodeContext& context);
void convert_hard_sigmoid(NodeContext& context);
void convert_hard_swish(NodeContext& context);
void convert_identity(NodeContext& context);
void convert_layer_normalization(NodeContext& context);
void convert_leaky_relu(NodeContext& context);
void convert_matmul(NodeContext& context);
void convert_max_pool(NodeContext& context);
void convert_modulo(NodeContext& context);
void convert_negate(NodeContext& context);
void convert_pad(NodeContext& context);
void convert_power(NodeContext& context);
void convert_prelu(NodeContext& context);
void convert_range(NodeContext& context);
void convert_reduce(NodeContext& context);
void convert_reshape(NodeContext& context);
void convert_resize(NodeContext& context);
void convert_shape(NodeContext& context);
void convert_size(NodeContext& context);
void convert_slice(NodeContext& context);
void convert_softmax(NodeContext& context);
void convert_space_to_depth(NodeContext& context);
void convert_split(NodeContext& context);
void convert_sqrt(NodeContext& context);
void convert_squeeze(NodeContext& context);
void convert_tile(NodeContext& context);
void convert_transpose(NodeContext& context);
void convert_unary_constant(NodeContext& context);
void convert_unsqueeze(NodeContext& context);
void convert_variadic(NodeContext& context);
void convert_where(NodeContext& context);

}  // namespace weft::frontend
