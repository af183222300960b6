// A failing run made smaller: fewer candidates, fewer kinds of faults, a shorter time.
#pragma once

#include <string>

#include "simulation/simulation.hpp"

namespace tenure::test {

struct Shrunk {
  SimOptions options;
  SimReport report;
  unsigned tries{0};
};

/// The smallest configuration found that still breaks a rule (any: a smaller run may show the same fault elsewhere).
/// `options` must fail.
[[nodiscard]] Shrunk shrink(SimOptions options, unsigned mostTries = 400);

/// What a regression file holds: lines `name = value`, `#` begins a comment. A message if it is not understood.
[[nodiscard]] std::string regressionText(const SimOptions& options, const std::string& comment);
[[nodiscard]] std::string readRegression(const std::string& text, SimOptions& options);

}  // namespace tenure::test
