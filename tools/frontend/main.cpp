#include <charconv>
#include <filesystem>
#include <thread>

#include "artifact/blob_store.h"
#include "base/tool.h"
#include "frontend/frontend.h"

namespace {

using weft::frontend::FrontendOptions;
using weft::frontend::Shape;

[[noreturn]] void usage(const std::string& text) { throw weft::Failure(weft::ExitStatus::usage, text); }

std::int64_t parse_size(const std::string& text, const std::string& option) {
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 1)
        usage(fmt::format("{}: '{}' is no positive size", option, text));
    return value;
}

/// Names may contain '=', sizes cannot, so the last one separates.
std::pair<std::string, std::string> parse_pair(const std::string& text, const std::string& option) {
    const std::size_t split = text.rfind('=');
    if (split == std::string::npos || split == 0) usage(fmt::format("{} {}: NAME=VALUE is needed", option, text));
    return {text.substr(0, split), text.substr(split + 1)};
}

Shape parse_shape(const std::string& text) {
    Shape shape;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find_first_of("x,", begin), text.size());
        shape.push_back(parse_size(text.substr(begin, end - begin), "--shape"));
        begin = end + 1;
    }
    return shape;
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("frontend", "Read an ONNX model into weft's canonical operator graph.",
                    "Examples:\n"
                    "  weft-frontend resnet18.onnx -o resnet18.graph\n"
                    "  weft-frontend net.onnx -o net.graph --dim height=224 --dim width=224\n"
                    "  weft-frontend net.onnx -o net.graph --shape input=1x3x224x224 --blobs weights\n"
                    "Exit status 1 lists every node that is not supported.");
    std::string model_path;
    std::string output_path;
    std::string blob_folder;
    std::vector<std::string> dims;
    std::vector<std::string> shapes;
    unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    tool.app().add_option("MODEL", model_path, "ONNX model, operator sets 7 to 21")->required();
    tool.add_output(output_path, "Graph to write");
    tool.app()
        .add_option("--blobs", blob_folder, "Folder of weight tensors (default: 'blobs' beside the output)")
        ->type_name("DIR");
    tool.app()
        .add_option("--dim", dims, "Bind a symbolic dimension of the inputs")
        ->type_name("NAME=SIZE")
        ->expected(1)
        ->take_all();
    tool.app()
        .add_option("--shape", shapes, "Set the shape of an input")
        ->type_name("INPUT=1x3x224x224")
        ->expected(1)
        ->take_all();
    tool.add_threads(threads);
    return tool.run(argc, argv, [&] {
        const std::filesystem::path model(model_path);
        const std::filesystem::path output(output_path);
        FrontendOptions options;
        options.model_name = model_path;
        options.external_folder = model.parent_path();
        options.threads = threads;
        for (const std::string& text : dims) {
            const auto [name, size] = parse_pair(text, "--dim");
            options.dims.emplace_back(name, parse_size(size, "--dim"));
        }
        for (const std::string& text : shapes) {
            const auto [name, shape] = parse_pair(text, "--shape");
            options.shapes.emplace_back(name, parse_shape(shape));
        }
        const weft::MappedFile file(model);
        tool.note_input(model_path);
        weft::BlobStore store(blob_folder.empty() ? output.parent_path() / "blobs" : std::filesystem::path(blob_folder));
        const auto imported =
            weft::frontend::import_model(file.bytes(), options, [&](std::span<const std::byte> raw) { return store.put(raw); });
        for (const std::string& name : imported.external_files) tool.note_input((model.parent_path() / name).string());
        for (const std::string& note : imported.notes) tool.warn(note);
        weft::write_artifact(output, view(imported.graph));
        tool.note_output(output_path);
        tool.report()["nodes"] = imported.graph.nodes.size();
        tool.report()["tensors"] = imported.graph.tensors.size();
        tool.report()["weight_blobs"] = imported.graph.blobs.size();
    });
}
