#include "token_rule.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure::stored {

StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request, const StoredLease& stored) {
  const FencingToken copy = *stored.record ? (*stored.record)->record.token : FencingToken{};
  const FencingToken counter = stored.counter->token;
  const FencingToken highest = std::max(copy, counter);
  const FencingToken revision{stored.revision};
  // Where somebody deleted everything, or commits may be lost, the revision knows more of the tokens.
  if (auto refused = refusalOfFloor(request, std::max(highest, revision))) return *std::move(refused);
  const FencingToken known = std::max({highest, request.tokenFloor, revision});
  if (known >= maxFencingToken) return tokensExhausted(request.key);
  TokenPlan plan{known.next()};
  const FencingToken told = std::max(request.tokenFloor, copy);
  if (!stored.warning.empty()) {
    plan.warning = stored.warning + ", so the tokens go on from " + toString(plan.token);
  } else if (counter < told) {
    plan.warning = where + ": the fencing counter of lease " + toString(request.key) + " was " +
                   (counter.isNone() ? "missing" : "at " + toString(counter)) + " and was restored to " +
                   toString(plan.token) + "; somebody changed or deleted it, or a resource has seen a higher token";
  }
  return plan;
}

}  // namespace tenure::stored
