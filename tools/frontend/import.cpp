#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "base/failure.h"
#include "frontend/emit.h"
#include "frontend/external.h"
#include "frontend/inputs.h"
#include "frontend/node_context.h"
#include "frontend/normalization.h"
#include "frontend/passes.h"
#include "frontend/wire.h"

namespace weft::frontend {
namespace {

constexpr std::int64_t oldest_opset = 7;
constexpr std::int64_t newest_opset = 21;

onnx::ModelProto parse(std::span<const std::byte> model) {
    const std::string structure = strip_weights(model);
    if (structure.size() > 0x7fffffff) refuse("the model's structure without weights is larger than 2 GiB");
    onnx::ModelProto proto;
    google::protobuf::io::ArrayInputStream stream(structure.data(), static_cast<int>(structure.size()));
    google::protobuf::io::CodedInputStream coded(&stream);
    if (!proto.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
        bad_input("not an ONNX model, or damaged (protobuf cannot parse it)");
    if (!proto.has_graph()) bad_input("not an ONNX model: it has no graph");
    return proto;
}

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::int64_t default_opset(const onnx::ModelProto& model) {
    std::int64_t opset = 0;
    for (const auto& entry : model.opset_import()) {
        if (is_default_domain(entry.domain())) opset = std::max(opset, entry.version());
    }
    if (opset == 0) bad_input("the model imports no operator set of the default domain");
    if (opset < oldest_opset || opset > newest_opset) {
        refuse("operator set {} is not supported ({} to {} are); convert the model with onnx.version_converter", opset,
               oldest_opset, newest_opset);
    }
    return opset;
}

std::string node_title(const onnx::NodeProto& node) {
    const std::string name = !node.name().empty()     ? node.name()
                             : node.output_size() > 0 ? node.output(0)
                                                      : std::string("(unnamed)");
    return fmt::format("node '{}' ({})", name, node.op_type());
}

/// Which node writes each name; bad input where two do, or where a node writes an input or initializer.
std::map<std::string, int> find_producers(const onnx::GraphProto& graph, const std::vector<GraphInput>& inputs) {
    std::map<std::string, int> producers;
    for (const auto& tensor : graph.initializer()) producers[tensor.name()] = -1;
    for (const auto& tensor : graph.sparse_initializer()) producers[tensor.values().name()] = -1;
    for (const GraphInput& input : inputs) {
        if (!producers.try_emplace(input.name, -1).second) bad_input("two inputs are named '{}'", input.name);
    }
    for (int i = 0; i < graph.node_size(); ++i) {
        for (const std::string& output : graph.node(i).output()) {
            if (output.empty()) continue;
            const auto [entry, is_new] = producers.try_emplace(output, i);
            if (is_new) continue;
            const int other = entry->second;
            bad_input("{} writes '{}', which {} already {}; rename one of the two", node_title(graph.node(i)), output,
                      other >= 0 ? node_title(graph.node(other)) : std::string("an input or initializer"),
                      other >= 0 ? "writes" : "holds");
        }
    }
    return producers;
}

/// Node numbers in an order in which producers come first; of several the model's order. Bad input for cycles and missing
/// names.
std::vector<int> sort_nodes(const onnx::GraphProto& graph, const std::map<std::string, int>& producers) {
    const auto count = static_cast<std::size_t>(graph.node_size());
    std::vector<std::vector<int>> readers(count);
    std::vector<int> waiting(count, 0);
    for (int i = 0; i < graph.node_size(); ++i) {
        for (const std::string& input : graph.node(i).input()) {
            if (input.empty()) continue;
            const auto producer = producers.find(input);
            if (producer == producers.end()) bad_input("{} reads '{}', which nothing writes", node_title(graph.node(i)), input);
            if (producer->second < 0) continue;
            readers[static_cast<std::size_t>(producer->second)].push_back(i);
            ++waiting[static_cast<std::size_t>(i)];
        }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < graph.node_size(); ++i) {
        if (waiting[static_cast<std::size_t>(i)] == 0) ready.push(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
        const int node = ready.top();
        ready.pop();
        order.push_back(node);
        for (const int reader : readers[static_cast<std::size_t>(node)]) {
            if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
        }
    }
    if (order.size() != count) {
        const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](int left) { return left > 0; });
        bad_input("{} lies on or behind a cycle", node_title(graph.node(static_cast<int>(stuck - waiting.begin()))));
    }
    return order;
}

/// Nodes that some output needs; the rest is neither read nor complained about.
std::vector<bool> find_needed(const onnx::GraphProto& graph, const std::map<std::string, int>& producers,
                              const std::vector<int>& order) {
    std::vector<bool> needed(static_cast<std::size_t>(graph.node_size()), false);
    const auto need = [&](const std::string& name) {
        const auto producer = producers.find(name);
        if (producer != producers.end() && producer->second >= 0) needed[static_cast<std::size_t>(producer->second)] = true;
    };
    for (const auto& output : graph.output()) need(output.name());
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        if (!needed[static_cast<std::size_t>(*node)]) continue;
        for (const std::string& input : graph.node(*node).input()) need(input);
    }
    return needed;
}

class Importer {
public:
    Importer(std::span<const std::byte> bytes, const FrontendOptions& options)
        : options_(options),
          proto_(parse(bytes)),
          opset_(default_opset(proto_)),
          tensors_(bytes, options),
          builder_(network_, options) {}

    ImportedModel run(const BlobSink& sink) {
        const auto inputs = bind_inputs(graph(), options_, notes_);
        producers_ = find_producers(graph(), inputs);
        const auto order = sort_nodes(graph(), producers_);
        const auto needed = find_needed(graph(), producers_, order);
        add_sources(inputs);
        find_read_names(needed);
        for (const int node : order) {
            if (needed[static_cast<std::size_t>(node)]) convert(graph().node(node));
        }
        if (!unsupported_.empty()) report_unsupported();
        set_outputs();
        simplify(network_);
        return {emit_graph(network_, options_.threads, sink), std::move(notes_), tensors_.external_files()};
    }

private:
    [[nodiscard]] const onnx::GraphProto& graph() const { return proto_.graph(); }

    void add_sources(const std::vector<GraphInput>& inputs) {
        for (const GraphInput& input : inputs) {
            try {
                const ValueId id = builder_.input(input.name, input.shape, input.type);
                network_.inputs.push_back(id);
                operands_[input.name] = {id, input.type};
            } catch (const Unsupported& reason) {
                refuse("input '{}': {}", input.name, reason.why);
            }
        }
        for (const auto& tensor : graph().initializer()) initializers_[tensor.name()] = &tensor;
    }

    void find_read_names(const std::vector<bool>& needed) {
        for (int i = 0; i < graph().node_size(); ++i) {
            if (!needed[static_cast<std::size_t>(i)]) continue;
            for (const std::string& input : graph().node(i).input()) read_names_.insert(input);
        }
        for (const auto& output : graph().output()) read_names_.insert(output.name());
        read_names_.erase(std::string());
    }

    /// The operand of a name; initializers are read when they are first needed.
    Operand operand(const std::string& name) {
        if (name.empty()) return {};
        if (const auto found = operands_.find(name); found != operands_.end()) return found->second;
        const auto initializer = initializers_.find(name);
        if (initializer == initializers_.end()) return {};
        try {
            Constant constant = tensors_.read(*initializer->second);
            const std::int32_t type = constant.type;
            return operands_[name] = {builder_.constant(std::move(constant), name), type};
        } catch (const Failure& failure) {
            throw Failure(failure.status(), fmt::format("initializer '{}': {}", name, failure.what()));
        }
    }

    /// A normalisation that ends here becomes one step; the steps it was written out in then lead nowhere.
    bool convert_layer_norm(const onnx::NodeProto& node) {
        if (node.output_size() != 1 || (node.op_type() != "Add" && node.op_type() != "Mul")) return false;
        const PatternNames names{graph(), producers_,
                                 [&](const std::string& name) -> const Constant* {
                                     const ValueId id = operand(name).value;
                                     return !id.is_none() && builder_.is_constant(id) ? &network_[id].constant : nullptr;
                                 },
                                 [&](const std::string& name) {
                                     const ValueId id = operand(name).value;
                                     return id.is_none() ? 0 : builder_.shape(id).size();
                                 }};
        const auto pattern = match_layer_norm(names, node);
        if (!pattern) return false;
        const Operand x = operand(pattern->x);
        if (builder_.is_constant(x.value) || !is_floating(x.type)) return false;
        const Shape shape = builder_.shape(x.value);
        const ValueId scale = operand(pattern->scale).value;
        if (shape.empty() || shape.back() != builder_.shape(scale)[0]) return false;
        std::vector<ValueId> inputs{x.value, builder_.permuted_weight(scale, {0})};
        if (!pattern->offset.empty()) inputs.push_back(builder_.permuted_weight(operand(pattern->offset).value, {0}));
        const ValueId result =
            builder_.step(OperatorKind::LayerNorm, std::move(inputs), shape, {float_attribute(AttributeKey::Alpha, static_cast<float>(pattern->epsilon))});
        operands_[node.output(0)] = {result, x.type};
        network_[result].name = node.output(0);
        return true;
    }

    void convert(const onnx::NodeProto& node) {
        const std::string title = node_title(node);
        builder_.begin_node(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name(),
                            node.output_size() > 0 ? node.output(0) : "");
        const std::size_t first_value = network_.values.size();
        try {
            const Conversion conversion = find_conversion(node.op_type());
            if (is_default_domain(node.domain()) && convert_layer_norm(node)) return;
            if (!is_default_domain(node.domain())) unsupported("the operator belongs to the domain '{}'", node.domain());
            if (conversion == nullptr) unsupported("the operator is not supported");
            std::vector<Operand> inputs;
            bool complete = true;
            for (const std::string& name : node.input()) {
                inputs.push_back(operand(name));
                complete = complete && (name.empty() || !inputs.back().value.is_none());
            }
            if (!complete) {
                judge_without_shapes(node, inputs);
                return stand_in(node);
            }
            std::vector<bool> read_outputs;
            for (const std::string& name : node.output()) read_outputs.push_back(read_names_.count(name) != 0);
            NodeContext context(node, opset_, builder_, tensors_, std::move(inputs), std::move(read_outputs));
            conversion(context);
            name_outputs(node, context, first_value);
        } catch (const Unsupported& reason) {
            unsupported_.push_back(fmt::format("{}: {}", title, reason.why));
            stand_in(node);
        } catch (const Failure& failure) {
            throw Failure(failure.status(), fmt::format("{}: {}", title, failure.what()));
        }
    }

    /// Outputs of an unsupported node take the shape that the model declares for them, where it does, so that the nodes behind
    /// it are judged in the same run.
    void stand_in(const onnx::NodeProto& node) {
        for (const auto* list : {&graph().value_info(), &graph().output()}) {
            for (const auto& info : *list) {
                const bool own = std::find(node.output().begin(), node.output().end(), info.name()) != node.output().end();
                if (!own || operands_.count(info.name()) != 0 || !info.type().tensor_type().has_shape()) continue;
                Shape shape;
                for (const auto& dim : info.type().tensor_type().shape().dim()) shape.push_back(declared_size(dim));
                const bool known = std::all_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim > 0; });
                const std::int32_t type = info.type().tensor_type().elem_type();
                if (!known || element_size(type) == 0) continue;
                try {
                    operands_[info.name()] = {builder_.input(info.name(), std::move(shape), type), type};
                } catch (const Unsupported&) {
                    continue;  // too large to stand in for anything
                }
            }
        }
    }

    /// The size of a declared dimension, by --dim where it is symbolic; 0 where it is unknown.
    [[nodiscard]] std::int64_t declared_size(const onnx::TensorShapeProto::Dimension& dim) const {
        const auto bound = std::find_if(options_.dims.begin(), options_.dims.end(),
                                        [&](const auto& entry) { return entry.first == dim.dim_param(); });
        return bound != options_.dims.end() ? bound->second : dim.dim_value();
    }

    /// What can be said of a node behind an unsupported one whose shapes are unknown: an operand without a value is computed.
    void judge_without_shapes(const onnx::NodeProto& node, const std::vector<Operand>& inputs) const {
        const auto computed = [&](std::size_t index) {
            return index < inputs.size() && !node.input(static_cast<int>(index)).empty() &&
                   (inputs[index].value.is_none() || !builder_.is_constant(inputs[index].value));
        };
        const std::string& name = node.op_type();
        if (name == "Gemm" && computed(0) && computed(1))
            unsupported("both sides are computed by the network; one must be constant");
        if ((name == "Conv" || name == "ConvTranspose") && computed(1))
            unsupported("its weight '{}' is computed by the network; it must be constant", node.input(1));
    }

    void name_outputs(const onnx::NodeProto& node, const NodeContext& context, std::size_t first_value) {
        for (int i = 0; i < node.output_size(); ++i) {
            const Operand& output = context.outputs()[static_cast<std::size_t>(i)];
            if (node.output(i).empty() || output.value.is_none()) continue;
            operands_[node.output(i)] = output;
            if (output.value.index() < first_value) continue;
            Value& value = network_[output.value];
            value.name = node.output(i);
            if (!value.producer.is_none()) network_[value.producer].name = node.name().empty() ? node.output(0) : node.name();
        }
    }

    [[noreturn]] void report_unsupported() const {
        refuse("{} of the model's nodes {} not supported:\n  {}", unsupported_.size(), unsupported_.size() == 1 ? "is" : "are",
               fmt::join(unsupported_, "\n  "));
    }

    void set_outputs() {
        std::set<ValueId> taken(network_.inputs.begin(), network_.inputs.end());
        std::set<std::string> names;
        for (const auto& output : graph().output()) {
            const Operand found = operand(output.name());
            if (found.value.is_none()) bad_input("output '{}' is written by no node", output.name());
            if (!names.insert(output.name()).second) bad_input("two outputs are named '{}'", output.name());
            if (builder_.is_constant(found.value))
                refuse("output '{}' is constant: it does not depend on any input", output.name());
            ValueId value = found.value;
            // An output is a tensor of its own, even where the model only renames another.
            if (!taken.insert(value).second) {
                builder_.begin_node(output.name(), output.name());
                value = builder_.step(OperatorKind::Reshape, {value}, builder_.shape(value));
                taken.insert(value);
            }
            network_[value].name = output.name();
            network_.outputs.push_back(value);
            network_.output_types.push_back(found.type);
        }
        if (network_.outputs.empty()) bad_input("the graph has no outputs");
    }

    const FrontendOptions& options_;
    onnx::ModelProto proto_;
    std::int64_t opset_;
    TensorReader tensors_;
    Network network_;
    Builder builder_;
    std::vector<std::string> notes_;
    std::vector<std::string> unsupported_;
    std::set<std::string> read_names_;
    std::map<std::string, int> producers_;
    std::map<std::string, Operand> operands_;
    std::map<std::string, const onnx::TensorProto*> initializers_;
};

}  // namespace

ImportedModel import_model(std::span<const std::byte> model, const FrontendOptions& options, const BlobSink& sink) {
    try {
        return Importer(model, options).run(sink);
    } catch (const Failure& failure) {
        throw Failure(failure.status(), fmt::format("{}: {}", options.model_name, failure.what()));
    }
}

}  // namespace weft::frontend
