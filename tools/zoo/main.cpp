#include <fmt/format.h>

#include <string>

#include "artifact/file.h"
#include "base/tool.h"
#include "zoo/networks.h"

namespace {

void print_list() {
    for (const weft::zoo::Network& network : weft::zoo::networks()) {
        fmt::print("{:<14} size {:>3}  classes {:>4}  {}\n", network.name, network.size, network.classes, network.source);
    }
    for (const weft::zoo::Network& block : weft::zoo::blocks()) {
        fmt::print("{:<16} rows {:>4}  {}\n", block.name, block.size, block.source);
    }
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("zoo", "Write a public network architecture with seeded weights as an ONNX file.",
                    "Examples:\n"
                    "  weft-zoo resnet18 -o resnet18.onnx\n"
                    "  weft-zoo mobilenetv2 --size 64 --classes 10 --seed 7 -o small.onnx\n"
                    "  weft-zoo --list");
    std::string name;
    std::string output;
    bool list = false;
    weft::zoo::NetworkOptions options;
    CLI::App& app = tool.app();
    app.add_option("NAME", name, "Network; --list names them")->type_name("");
    tool.add_output(output, "ONNX file to write", false);
    app.add_flag("--list", list, "List the networks, their usual sizes and sources");
    app.add_option("--seed", options.seed, "Seed of the weights")->capture_default_str();
    app.add_option("--size", options.size, "Rows and columns of the input image (default: the usual size)")->check(CLI::Range(1, 4096));
    app.add_option("--classes", options.classes, "Number of classes (default: the usual number)")->check(CLI::Range(1, 1 << 20));
    app.add_option("--hidden", options.hidden, "Units of the hidden dense layers of alexnet and vgg16")
        ->check(CLI::Range(1, 1 << 16))
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Batch of a transformer block")->check(CLI::Range(1, 4096))->capture_default_str();
    app.add_flag("--softmax", options.softmax, "End in a Softmax over the classes");
    return tool.run(argc, argv, [&] {
        if (list) return print_list();
        if (name.empty() || output.empty()) {
            throw weft::Failure(weft::ExitStatus::usage, "a network's NAME and -o OUTPUT are needed; try --list or --help");
        }
        const onnx::ModelProto model = weft::zoo::build_network(name, options);
        std::string bytes;
        if (!model.SerializeToString(&bytes)) weft::system_failure("{}: the model passes protobuf's two gigabytes", output);
        weft::publish_file(output, std::as_bytes(std::span(bytes)));
        tool.note_output(output);
        tool.report()["network"] = name;
        tool.report()["seed"] = options.seed;
        tool.report()["parameters"] = weft::zoo::parameter_count(model);
        tool.report()["nodes"] = model.graph().node_size();
    });
}
