// A held lock as one word of text, for callers without a process that lives on: a shell script, a cron job, a pipeline.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

struct LockTokenParts;

/// Why an operation with tokens did not give what was asked for.
enum class LockTokenTrouble {
  malformed,   ///< the text is no token: foreign, truncated, edited, or of another version; nothing was sent
  misuse,      ///< options out of range, a key that cannot be; nothing was sent
  held,        ///< somebody else holds the lock, and the caller did not want to wait, or waited long enough
  timedOut,    ///< the wait is over, and nobody else was seen holding the lock either
  expired,     ///< the token's lease is over by this machine's clock; an expired lock never revives: acquire it anew
  released,    ///< this term of the lock was released
  superseded,  ///< the lock was renewed with this token elsewhere; only the newer token counts
  lost,        ///< somebody else has taken the lock, or its record is gone
  unknown,     ///< a write was not answered, and the wait was over before a read could tell what became of it
  store,       ///< the store cannot be reached, refuses, or holds a record that is not understood
};

[[nodiscard]] std::string_view toString(LockTokenTrouble trouble) noexcept;
std::ostream& operator<<(std::ostream& out, LockTokenTrouble trouble);

struct LockTokenError {
  LockTokenTrouble trouble{LockTokenTrouble::store};
  std::string message;  ///< what was wrong, where, and what to do
  /// With `held` and `lost`: who has the lock, if the record told.
  std::optional<HolderInfo> holder{};
  /// With `store`: the class of the trouble.
  std::optional<ErrorClass> storeError{};

  friend bool operator==(const LockTokenError&, const LockTokenError&) = default;
};

/// Makes `result<T, LockTokenError>::value()` throw std::runtime_error with the message.
[[noreturn]] void throw_exception_from_error(const LockTokenError& error, const boost::source_location& where);

template <class T>
using LockTokenResult = boost::system::result<T, LockTokenError>;

/// What a token says about itself and its lock. Only LockTokens and `from` make one. Cheap to copy; immutable, so any
/// thread may read it. A renewal gives a new token and leaves the old one without power.
///
/// The token is no secret and no proof of identity: whoever can write to the store can take the lock anyway. It names
/// the one version of the record that its bearer wrote, and every write is conditioned on that version.
class LockToken {
 public:
  /// Reads what text() wrote. `malformed` tells whether the text is no token at all, is cut off, was changed, or has
  /// another version. What follows the token in the text is refused too, but for line breaks at the end.
  [[nodiscard]] static LockTokenResult<LockToken> from(std::string_view text);

  /// One word of printable ASCII that no shell treats specially, at most maxTextBytes long:
  /// `tenure-lock:1,key=...,owner=...,version=...,lease=30000ms,token=7,boot=...,clock=...,since=...,store=...,sum=...`
  [[nodiscard]] std::string text() const;
  static constexpr std::size_t maxTextBytes = 32'768;

  [[nodiscard]] const LeaseKey& key() const noexcept;
  /// Unique to this acquisition: the caller's name, '#', and 128 random bits.
  [[nodiscard]] const std::string& owner() const noexcept;
  /// The record version number that the last write left. No fencing token.
  [[nodiscard]] const RecordVersion& version() const noexcept;
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept;
  /// To be handed to the resource that the lock protects; rises with each acquisition, stays over renewals.
  [[nodiscard]] FencingToken fencingToken() const noexcept;
  /// Wall clock of the acquirer's machine when it acquired; for people only.
  [[nodiscard]] std::int64_t acquiredAtMillis() const noexcept;
  /// LeaseStore::describe() of the store that it was made with; for messages only.
  [[nodiscard]] const std::string& store() const noexcept;

  /// How long the lock is certainly still held if nobody renews it: the lease minus the guard for clock rates, counted
  /// from before the last acknowledged write was sent (invariant I2), by the clocks of this boot of this machine, which
  /// include suspend. Zero: over. Empty: the token is of another machine or another boot, so that no clock here can
  /// tell; then only the store can.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> remaining() const;

  friend bool operator==(const LockToken& a, const LockToken& b);

 private:
  friend struct LockTokenAccess;
  explicit LockToken(std::shared_ptr<const LockTokenParts> parts) noexcept : parts_{std::move(parts)} {}

  std::shared_ptr<const LockTokenParts> parts_;
};

}  // namespace tenure
