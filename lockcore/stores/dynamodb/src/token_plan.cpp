#include "token_plan.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure::dynamodb_store {

StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request,
                                 const std::optional<StoredRecord>& stored, const Companion& companion,
                                 std::int64_t epochSeconds) {
  const FencingToken copy = stored ? stored->record.token : FencingToken{};
  const FencingToken told = std::max(request.tokenFloor, copy);
  FencingToken here = std::max(copy, companion.counter);
  FencingToken known = std::max(told, companion.counter);
  TokenPlan plan;
  const std::string start = where + ": the fencing counter of lease " + toString(request.key);
  const bool traceless = companion.counter.isNone() && copy.isNone() && (stored || companion.present);
  if (traceless) {
    here = FencingToken{static_cast<std::uint64_t>(std::max<std::int64_t>(epochSeconds, 0))};
    known = std::max(known, here);
    plan.warning = start + " does not exist and the item has no copy of it, because another client wrote the item" +
                   (companion.present ? " and that of the counter" : "") + ". It starts at " + toString(known) +
                   " (seconds since 1970), above what an earlier counter can have reached";
  } else if (companion.counter < told) {
    plan.warning = start + " was " + (companion.counter.isNone() ? "missing" : "at " + toString(companion.counter)) +
                   " and was restored to " + toString(told) +
                   "; somebody changed or deleted its item, or a resource has seen a higher token";
  }
  if (auto refused = refusalOfFloor(request, here)) return *std::move(refused);
  if (known >= maxFencingToken) return tokensExhausted(request.key);
  plan.token = known.next();
  return plan;
}

}  // namespace tenure::dynamodb_store
