// One renewal or release of a token, decided step by step. Pure: time, randomness and answers are arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lock_token_parts.hpp"

namespace tenure {

/// Its driver sends what `nextWrite` returns, passes in the answer, and does what the result says: write again, read
/// first, or stop. An unanswered write stays possible until a read or a conflict shows the record (I8); each further
/// write accepts the version that it may have left.
class TokenWrite {
 public:
  enum class Kind { renew, release };
  enum class Next {
    write,  ///< write again, after a pause
    read,   ///< read what became of it, after a pause
    done,   ///< landed() or release() has the answer
    failed  ///< error() has the answer
  };

  TokenWrite(LockTokenParts token, Kind kind, std::chrono::milliseconds lease, RandomSource& random,
             bool anyHistory = false)
      : token_{std::move(token)},
        kind_{kind},
        lease_{lease},
        random_{random},
        anyHistory_{anyHistory || kind == Kind::release} {}

  /// How long a write may be under way that is sent now. While the lease of the token runs, nobody else can have had
  /// the lock in any history of the store. Afterwards, or where no clock knows, another term may be lost in a
  /// promotion, so zero: unsure() says what comes first. The largest: the write itself requires the history that was
  /// read.
  [[nodiscard]] std::chrono::nanoseconds sureFor(std::string_view clockDomain, const Instant& now) const;
  /// Instead of `write`.
  [[nodiscard]] Next unsure();
  /// `now`: a moment before it is sent.
  [[nodiscard]] WriteRequest nextWrite(const Instant& now, std::int64_t displayMillis);
  [[nodiscard]] Next answered(const WriteOutcome& outcome);
  [[nodiscard]] Next readBack(const ReadOutcome& outcome);

  /// After `done` of a renewal: the present token. Its time is counted from before the write that was applied was sent.
  [[nodiscard]] const LockTokenParts& landed() const noexcept { return token_; }
  /// After `done` of a release.
  [[nodiscard]] ReleaseResult release() const noexcept { return release_; }
  [[nodiscard]] const LockError& error() const noexcept { return error_; }

  /// For the case that the caller's time is over before there is a result.
  [[nodiscard]] LockError giveUp() const;

 private:
  /// A write that may have been applied.
  struct Attempt {
    RecordVersion version;
    Instant sentAt;
  };

  /// What the last look has shown of a record that is as the token left it.
  enum class Seen { nothing, present, inherited };

  [[nodiscard]] Next judge(const std::optional<LeaseRecord>& record);
  [[nodiscard]] Next land(const Attempt& attempt);
  [[nodiscard]] Next failed(const StoreError& error, Next otherwise);
  [[nodiscard]] Next fail(LockError error);
  [[nodiscard]] Next gone(const std::optional<LeaseRecord>& record, TokenStanding standing);

  LockTokenParts token_;
  Seen seen_{Seen::nothing};
  std::string history_{};  ///< in which all expected versions must be; empty: any
  const Kind kind_;
  const std::chrono::milliseconds lease_;
  RandomSource& random_;
  const bool anyHistory_;            ///< a release gives nobody a right
  std::vector<Attempt> attempts_{};  ///< unanswered ones, and at the back the one under way
  std::optional<StoreError> lastError_{};
  ReleaseResult release_{ReleaseResult::released};
  LockError error_{LockErrc::unknown, {}};
};

[[nodiscard]] HolderInfo holderIn(const LeaseRecord& record, std::chrono::nanoseconds unchangedFor = {});
/// "is held by alice (alice#3f...) with fencing token 7"
[[nodiscard]] std::string holderText(const HolderInfo& holder);
[[nodiscard]] LockError storeFailure(const StoreError& error);
[[nodiscard]] LockError lostError(RevokeReason reason, std::string message, std::optional<HolderInfo> holder = {});
[[nodiscard]] LockError expiredError(const LeaseKey& key);
/// For a record of an earlier history where no clock knows whether its lease has ended since.
[[nodiscard]] LockError inheritedError(const LeaseKey& key);
/// For a budget that does not last until the renewal or release (`what`) is sent.
[[nodiscard]] LockError unsentError(const LeaseKey& key, const std::string& what);
/// Why a token with this standing has no power. Not for `current`.
[[nodiscard]] LockError powerless(const LockTokenParts& token, TokenStanding standing,
                                  const std::optional<LeaseRecord>& record);

}  // namespace tenure
