// Judges a fenced resource by what is in it. Knows nothing of adapters.
#pragma once

#include <string>
#include <vector>

#include <tenure/lockcore/fencing_token.hpp>

namespace tenure::contract {

/// One accepted write, as the resource itself has it.
struct FencedEntry {
  FencingToken token;
  std::string holder;
  std::string entry;

  friend bool operator==(const FencedEntry&, const FencedEntry&) = default;
};

/// What a resource behind a fence may never show, given its entries in the order in which it accepted them: a token
/// lower than the one before it, a token of two holders, an entry twice. Empty if it is sound; else at most ten.
[[nodiscard]] std::vector<std::string> faultsOf(const std::vector<FencedEntry>& entries);

/// The entries that are stale: those after an entry with a higher token.
[[nodiscard]] std::vector<FencedEntry> staleAmong(const std::vector<FencedEntry>& entries);

/// Of `acknowledged` those that the resource does not have. A write that was reported as done may not be missing.
[[nodiscard]] std::vector<std::string> lostOf(const std::vector<std::string>& acknowledged,
                                              const std::vector<FencedEntry>& entries);

}  // namespace tenure::contract
