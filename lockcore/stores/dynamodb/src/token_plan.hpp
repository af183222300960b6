// Which token an acquisition gets (invariant I7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record_codec.hpp"

namespace tenure::dynamodb_store {

struct TokenPlan {
  FencingToken token;
  std::string warning{};  ///< as Applied::warning
};

/// The token is above the counter, the lock item's copy and the caller's floor. The counter may be gone, and the copy
/// too, although somebody has used the lease before. (There is a foreign client's lock item, which may have erased
/// ours, or the counter's item without its number.) Then nothing in the table shows how far the tokens had risen. In
/// that case the new counter starts at `epochSeconds`, the wall clock's seconds since 1970: a counter that began at 1
/// and rose less than once a second on average cannot have come further. This is the only use of the wall clock for a
/// token. A wrong clock only makes this start value useless; it never makes a lease valid.
///
/// Where neither item exists the lease is new as far as anybody can tell, and tokens start after the floor.
///
/// An error if the token would be greater than maxFencingToken.
[[nodiscard]] StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request,
                                               const std::optional<StoredRecord>& stored, const Companion& companion,
                                               std::int64_t epochSeconds);

}  // namespace tenure::dynamodb_store
