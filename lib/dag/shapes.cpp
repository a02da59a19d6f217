#include <bit>

#include "base/checked.h"
#include "dag/generate.h"

namespace weft {

DagTopology fourier_topology(std::uint32_t points) {
    WEFT_CHECK(std::has_single_bit(points));
    DagTopology topology;
    // Calls: a binary tree in heap order, its leaves are the points.
    const std::uint32_t leaves = points - 1;
    for (std::uint32_t node = 0; node < leaves + points; ++node) topology.kind.push_back(static_cast<std::uint32_t>(std::bit_width(node + 1)));
    for (std::uint32_t node = 0; node < leaves; ++node) {
        topology.edges.push_back({node, 2 * node + 1, 0, 0});
        topology.edges.push_back({node, 2 * node + 2, 0, 0});
    }
    std::uint32_t layer = leaves;
    for (std::uint32_t distance = 1; distance < points; distance *= 2) {
        for (std::uint32_t i = 0; i < points; ++i) {
            topology.edges.push_back({layer + i, layer + points + i, 0, 0});
            topology.edges.push_back({layer + (i ^ distance), layer + points + i, 0, 0});
        }
        layer += points;
        topology.kind.resize(layer + points, topology.kind.back() + 1);
    }
    topology.task_count = layer + points;
    return topology;
}

DagTopology elimination_topology(std::uint32_t size) {
    WEFT_CHECK(size >= 2);
    DagTopology topology;
    // Step k: the pivot, then the updates of columns k + 1 ... size - 1.
    std::uint32_t pivot = 0;
    for (std::uint32_t k = 0; k + 1 < size; ++k) {
        const std::uint32_t updates = size - 1 - k;
        const std::uint32_t next_pivot = pivot + 1 + updates;
        // The rows that a step works on get shorter, so each step has kinds of its own.
        topology.kind.push_back(2 * k);
        topology.kind.resize(next_pivot, 2 * k + 1);
        for (std::uint32_t u = 0; u < updates; ++u) {
            topology.edges.push_back({pivot, pivot + 1 + u, 0, 0});
            if (k + 2 < size) topology.edges.push_back({pivot + 1 + u, next_pivot + u, 0, 0});   // u = 0: column k + 1 is the next pivot's
        }
        pivot = next_pivot;
    }
    topology.task_count = pivot;
    return topology;
}

DagTopology montage_topology(std::uint32_t images, Random& random) {
    WEFT_CHECK(images >= 2);
    DagTopology topology;
    std::uint32_t next = images;   // projections are 0 ... images - 1
    std::vector<std::uint32_t> differences;
    const auto difference = [&](std::uint32_t a, std::uint32_t b) {
        topology.edges.push_back({a, next, 0, 0});
        topology.edges.push_back({b, next, 0, 0});
        differences.push_back(next++);
    };
    for (std::uint32_t i = 0; i + 1 < images; ++i) {
        difference(i, i + 1);
        // Images also overlap with some that are not next in the row.
        if (i + 2 < images && random.below(4) != 0) difference(i, i + 2 + random.below(images - i - 2));
    }
    const std::uint32_t fit = next++;
    for (const std::uint32_t d : differences) topology.edges.push_back({d, fit, 0, 0});
    const std::uint32_t model = next++;
    topology.edges.push_back({fit, model, 0, 0});
    const std::uint32_t first_background = next;
    next += images;
    const std::uint32_t table = next++;
    for (std::uint32_t i = 0; i < images; ++i) {
        topology.edges.push_back({i, first_background + i, 0, 0});
        topology.edges.push_back({model, first_background + i, 0, 0});
        topology.edges.push_back({first_background + i, table, 0, 0});
    }
    for (std::uint32_t step = 0; step < 3; ++step, ++next) topology.edges.push_back({next - 1, next, 0, 0});   // add, shrink, picture
    topology.task_count = next;
    topology.kind.assign(images, 0);
    topology.kind.resize(fit, 1);                // differences
    topology.kind.insert(topology.kind.end(), {2, 3});
    topology.kind.resize(table, 4);              // backgrounds
    topology.kind.insert(topology.kind.end(), {5, 6, 7, 8});
    return topology;
}

DagTopology epigenomics_topology(std::uint32_t lanes, std::uint32_t chunks) {
    WEFT_CHECK(lanes > 0 && chunks > 0);
    DagTopology topology;
    std::uint32_t next = 0;
    std::vector<std::uint32_t> merged;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const std::uint32_t split = next++;
        const std::uint32_t merge = split + 4 * chunks + 1;
        topology.kind.push_back(0);
        for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
            topology.kind.insert(topology.kind.end(), {1, 2, 3, 4});
            topology.edges.push_back({split, next, 0, 0});
            for (std::uint32_t step = 0; step < 3; ++step, ++next) topology.edges.push_back({next, next + 1, 0, 0});
            topology.edges.push_back({next++, merge, 0, 0});
        }
        merged.push_back(next++);
        topology.kind.push_back(5);
    }
    for (const std::uint32_t merge : merged) topology.edges.push_back({merge, next, 0, 0});
    for (std::uint32_t step = 0; step < 2; ++step, ++next) topology.edges.push_back({next, next + 1, 0, 0});   // index, pile up
    topology.task_count = next + 1;
    topology.kind.insert(topology.kind.end(), {6, 7, 8});
    return topology;
}

}  // namespace weft
