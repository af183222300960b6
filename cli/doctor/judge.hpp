// From facts to findings. Pure: no I/O, no clock.
#pragma once

#include "facts.hpp"
#include "report.hpp"

namespace tenure::cli::doctor {

/// `facts.lease` must have no faults. Each check of checks() comes once, in their order: as a finding, or as one that
/// could not be looked at. Checks that do not apply (files of a store that keeps none here) are left out.
[[nodiscard]] Report judge(const Facts& facts);

// Its parts, each in a file of its own.
void judgeClocks(const Facts& facts, Report& report);
void judgeStore(const Facts& facts, Report& report);
void judgeFiles(const FilesFacts& files, Report& report);
void judgeLimits(const Facts& facts, Report& report);

}  // namespace tenure::cli::doctor
