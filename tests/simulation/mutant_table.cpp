#include "simulation/mutant_table.hpp"

#include <algorithm>

namespace tenure::test {

namespace {

constexpr MutantInfo mutants[] = {
#include "simulation/mutant_rows.inc"
};

}  // namespace

std::span<const MutantInfo> mutantTable() noexcept { return mutants; }

const MutantInfo* mutantNamed(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(mutants), std::end(mutants), [&](const MutantInfo& info) { return info.name == name; });
  return found != std::end(mutants) ? found : nullptr;
}

}  // namespace tenure::test
