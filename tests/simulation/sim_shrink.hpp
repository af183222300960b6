// Makes a failing run smaller: fewer candidates, fewer kinds of faults, a shorter time.
#pragma once

#include <string>

#include "simulation/simulation.hpp"

namespace tenure::test {

struct Shrunk {
  SimOptions options;
  SimReport report;
  unsigned tries{0};
};

/// The smallest configuration found that still breaks a rule. Any rule counts: a smaller run may show the same fault
/// elsewhere. `options` must fail.
[[nodiscard]] Shrunk shrink(SimOptions options, unsigned mostTries = 400);

/// The text of a regression file: lines `name = value`, `#` begins a comment. The reader returns a message if it does
/// not understand the text.
[[nodiscard]] std::string regressionText(const SimOptions& options, const std::string& comment);
[[nodiscard]] std::string readRegression(const std::string& text, SimOptions& options);

}  // namespace tenure::test
