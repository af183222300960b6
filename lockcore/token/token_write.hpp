// One renewal or release of a token, decided step by step. Pure: time, randomness and answers are arguments.
#pragma once

#include <optional>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lock_token_parts.hpp"

namespace tenure {

/// Whoever drives it sends what `nextWrite` gives, hands in the answer, and does as it is told: write again, read
/// first, or stop. An unanswered write stays possible until a read or a conflict shows the record (I8); each further
/// write accepts the version that it may have left.
class TokenWrite {
 public:
  enum class Kind { renew, release };
  enum class Next {
    write,  ///< again, after a pause
    read,   ///< look what became of it, after a pause
    done,   ///< landed() or release() is the answer
    failed  ///< error() is
  };

  TokenWrite(LockTokenParts token, Kind kind, std::chrono::milliseconds lease, RandomSource& random)
      : token_{std::move(token)}, kind_{kind}, lease_{lease}, random_{random} {}

  /// `now`: before it is sent.
  [[nodiscard]] WriteRequest nextWrite(const Instant& now, std::int64_t displayMillis);
  [[nodiscard]] Next answered(const WriteOutcome& outcome);
  [[nodiscard]] Next readBack(const ReadOutcome& outcome);

  /// After `done` of a renewal: the token as it is now, its time counted from before the write that landed was sent.
  [[nodiscard]] const LockTokenParts& landed() const noexcept { return token_; }
  /// After `done` of a release.
  [[nodiscard]] TokenRelease release() const noexcept { return release_; }
  [[nodiscard]] const LockTokenError& error() const noexcept { return error_; }

  /// When the caller's time is over before an end was reached.
  [[nodiscard]] LockTokenError giveUp() const;

 private:
  /// A write that may have landed.
  struct Attempt {
    RecordVersion version;
    Instant sentAt;
  };

  [[nodiscard]] Next judge(const std::optional<LeaseRecord>& record);
  [[nodiscard]] Next land(const Attempt& attempt);
  [[nodiscard]] Next trouble(const StoreError& error, Next otherwise);
  [[nodiscard]] Next fail(LockTokenError error);
  [[nodiscard]] Next gone(const std::optional<LeaseRecord>& record, TokenStanding standing);

  LockTokenParts token_;
  const Kind kind_;
  const std::chrono::milliseconds lease_;
  RandomSource& random_;
  std::vector<Attempt> attempts_{};  ///< unanswered ones, and at the back the one under way
  std::optional<StoreError> lastTrouble_{};
  TokenRelease release_{TokenRelease::released};
  LockTokenError error_{};
};

[[nodiscard]] HolderInfo holderIn(const LeaseRecord& record, std::chrono::nanoseconds unchangedFor = {});
/// "is held by alice (alice#3f...) with fencing token 7"
[[nodiscard]] std::string holderText(const HolderInfo& holder);
[[nodiscard]] LockTokenError storeTrouble(const StoreError& error);
/// Why a token that stands so has no power. Not for `current`.
[[nodiscard]] LockTokenError powerless(const LockTokenParts& token, TokenStanding standing,
                                       const std::optional<LeaseRecord>& record);

}  // namespace tenure
