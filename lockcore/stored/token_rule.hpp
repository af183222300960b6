// Which token an acquisition gets (invariant I7).
#pragma once

#include <string>

#include "stored_lease.hpp"

namespace tenure::stored {

struct TokenPlan {
  FencingToken token;
  std::string warning{};  ///< as Applied::warning
};

/// The token is above the counter, the record's copy and the caller's floor, and above the store's revision. Each
/// acquisition consumes a revision, so no earlier token of any lease is above it, unless it was given a floor: tokens
/// rise even where somebody deleted everything. Only a store that was restored from a copy without raising its
/// revisions begins below. An error if the token would be greater than maxFencingToken.
[[nodiscard]] StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request,
                                               const StoredLease& stored);

}  // namespace tenure::stored
