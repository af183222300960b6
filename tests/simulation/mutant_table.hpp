// What each mutant breaks: the one list, for the program, the tests and the documentation.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "lockcore/port/mutants.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

struct MutantInfo {
  Mutant mutant;
  std::string_view name;
  StoreKind store;             ///< under which it is looked for
  std::string_view invariant;  ///< of docs/how-it-works.md
  std::string_view what;
};

inline constexpr std::size_t mutantCount = static_cast<std::size_t>(Mutant::count) - 1;

[[nodiscard]] const std::array<MutantInfo, mutantCount>& mutantTable() noexcept;
/// Null if there is none of this name.
[[nodiscard]] const MutantInfo* mutantNamed(std::string_view name) noexcept;

}  // namespace tenure::test
