#pragma once

#include <vector>

#include "artifact/any.h"

namespace weft {

struct Figure;

/// What a person wants to know about one artifact, most important first. Pure functions of validated columns.
std::vector<Figure> figures_of(const Graph& graph);
std::vector<Figure> figures_of(const Target& target);
std::vector<Figure> figures_of(const Tasks& tasks);
std::vector<Figure> figures_of(const Schedule& schedule);
std::vector<Figure> figures_of(const Candidates& candidates);
std::vector<Figure> figures_of(const Program& program);
std::vector<Figure> figures_of(const Timing& timing);
std::vector<Figure> figures_of(const Selection& selection);
std::vector<Figure> figures_of(const Constraint& constraint);
std::vector<Figure> figures_of(const Kernels& kernels);

}  // namespace weft
