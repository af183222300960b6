// Judges a fenced resource by its contents. Knows nothing about adapters.
#pragma once

#include <string>
#include <vector>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::contract {

/// One accepted write, as the resource itself recorded it.
struct FencedEntry {
  FencingToken token;
  std::string holder;
  std::string entry;

  friend bool operator==(const FencedEntry&, const FencedEntry&) = default;
};

/// What must never be in a resource behind a fence, given its entries in the order in which it accepted them: a token
/// lower than the one before it, a token with two holders, or an entry twice. Empty if there are no faults; otherwise
/// at most ten.
[[nodiscard]] std::vector<std::string> faultsOf(const std::vector<FencedEntry>& entries);

/// The entries that are stale: those after an entry with a higher token.
[[nodiscard]] std::vector<FencedEntry> staleAmong(const std::vector<FencedEntry>& entries);

/// Those of `acknowledged` that the resource does not have. A write that was reported as done must not be missing.
[[nodiscard]] std::vector<std::string> lostOf(const std::vector<std::string>& acknowledged,
                                              const std::vector<FencedEntry>& entries);

}  // namespace tenure::contract
