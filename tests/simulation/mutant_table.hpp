// What each mutant breaks, for the program, the tests and the documentation. The one list is mutants/*.txt.
#pragma once

#include <span>
#include <string_view>

#include "simulation/mutants.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

struct MutantInfo {
  Mutant mutant;
  std::string_view name;
  StoreKind store;             ///< the store under which it is searched
  SimMode mode;                ///< the mode, too
  std::string_view invariant;  ///< the rule of docs/how-it-works.md
  std::string_view what;
  std::string_view faults;  ///< the kinds of faults that may be drawn, as `--faults` takes them
};

[[nodiscard]] std::span<const MutantInfo> mutantTable() noexcept;
/// Null if no mutant has this name.
[[nodiscard]] const MutantInfo* mutantNamed(std::string_view name) noexcept;

}  // namespace tenure::test
