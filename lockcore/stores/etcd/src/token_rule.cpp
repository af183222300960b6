#include "token_rule.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure::etcd_store {

StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request, const State& state) {
  const FencingToken copy = *state.record ? (*state.record)->record.token : FencingToken{};
  const FencingToken counter = state.counter->token;
  const FencingToken stored = std::max(copy, counter);
  const FencingToken revision{static_cast<std::uint64_t>(state.revision)};
  // Where somebody deleted every key, the revision is what is left to know of the tokens.
  if (auto refused = refusalOfFloor(request, stored.isNone() ? revision : stored)) return *std::move(refused);
  const FencingToken known = std::max({stored, request.tokenFloor, revision});
  if (known >= maxFencingToken) return tokensExhausted(request.key);
  TokenPlan plan{known.next()};
  const FencingToken told = std::max(request.tokenFloor, copy);
  if (counter < told) {
    plan.warning = where + ": the fencing counter of lease " + toString(request.key) + " was " +
                   (counter.isNone() ? "missing" : "at " + toString(counter)) + " and was restored to " +
                   toString(plan.token) +
                   "; somebody changed or deleted its key, or a resource has seen a higher token";
  }
  return plan;
}

}  // namespace tenure::etcd_store
