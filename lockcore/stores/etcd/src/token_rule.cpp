#include "token_rule.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure::etcd_store {

StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request, const State& state) {
  const FencingToken copy = *state.record ? (*state.record)->record.token : FencingToken{};
  const FencingToken counter = state.counter->token;
  const FencingToken revision{static_cast<std::uint64_t>(state.revision)};
  const FencingToken here = std::max({copy, counter, revision});
  if (auto refused = refusalOfFloor(request, here)) return *std::move(refused);
  const FencingToken known = std::max(here, request.tokenFloor);
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
