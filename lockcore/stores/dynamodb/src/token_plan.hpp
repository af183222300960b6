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

/// The token is above the counter, the lock item's copy and the caller's floor. If the counter is gone and there is
/// no copy either although somebody was here (a foreign client's lock item, which may have erased ours, or the
/// counter's item without its number), then nothing in the table tells how far the tokens had come. In that case the
/// new counter starts at `epochSeconds`, the wall clock's seconds since 1970: a counter that began at 1 and rose less
/// than once a second on average cannot have come further. It is the only use of the wall clock for a token; a clock
/// that is wrong only makes the floor useless, never a lease valid.
///
/// Where neither item exists the lease is new as far as anybody can tell, and tokens start after the floor.
///
/// An error if the token would be greater than maxFencingToken.
[[nodiscard]] StoreResult<TokenPlan> planToken(const std::string& where, const WriteRequest& request,
                                               const std::optional<StoredRecord>& stored, const Companion& companion,
                                               std::int64_t epochSeconds);

}  // namespace tenure::dynamodb_store
