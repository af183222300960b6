// A report for people and for programs.
#pragma once

#include <string>

#include "facts.hpp"
#include "finding.hpp"

namespace tenure::cli::doctor {

/// Groups with their findings, the worst word first in each line; what was not looked at; a last line with the sums.
[[nodiscard]] std::string toText(const Facts& facts, const Report& report, bool colours);
/// One line with a line break; docs/reference/program.md lists the keys.
[[nodiscard]] std::string toJson(const Facts& facts, const Report& report);

}  // namespace tenure::cli::doctor
