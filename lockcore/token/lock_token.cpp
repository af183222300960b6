#include <algorithm>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "lock_token_parts.hpp"

namespace tenure {

using std::chrono::nanoseconds;

LockResult<LockToken> LockToken::from(std::string_view text) {
  auto parts = lockTokenFrom(text);
  if (!parts) return parts.error();
  return LockTokenAccess::make(std::move(*parts));
}

std::string LockToken::text() const { return lockTokenText(*parts_); }
const LeaseKey& LockToken::key() const noexcept { return parts_->key; }
const std::string& LockToken::owner() const noexcept { return parts_->owner; }
const RecordVersion& LockToken::version() const noexcept { return parts_->version; }
std::chrono::milliseconds LockToken::lease() const noexcept { return parts_->lease; }
FencingToken LockToken::fencingToken() const noexcept { return parts_->token; }
std::int64_t LockToken::acquiredAtMillis() const noexcept { return parts_->acquiredAtMillis; }
const std::string& LockToken::store() const noexcept { return parts_->store; }

std::optional<nanoseconds> LockToken::remaining() const { return remainingOf(*parts_, clockDomain(), readClock()); }

bool operator==(const LockToken& a, const LockToken& b) { return *a.parts_ == *b.parts_; }

std::optional<nanoseconds> remainingOf(const LockTokenParts& parts, std::string_view clockDomain, const Instant& now) {
  if (parts.clockDomain.empty() || parts.clockDomain != clockDomain) return std::nullopt;
  const Instant& then = parts.sentAt;
  if (then.raw > now.raw || then.monotonic > now.monotonic || then.boottime > now.boottime) return nanoseconds{0};
  const auto timing = LeaseTiming::from({.duration = parts.lease});
  if (!timing) return nanoseconds{0};
  return std::max(nanoseconds{timing->validFor()} - elapsedForHolder(then, now), nanoseconds{0});
}

TokenStanding standingOf(const LockTokenParts& parts, const std::optional<LeaseRecord>& record) {
  if (!record || record->vanished) return TokenStanding::missing;
  // The owner is unique to the acquisition, so it identifies the term. (Foreign clients may erase fencing tokens.)
  if (record->holder != parts.owner) return TokenStanding::taken;
  if (record->released) return TokenStanding::released;
  return record->version == parts.version ? TokenStanding::current : TokenStanding::superseded;
}

}  // namespace tenure
