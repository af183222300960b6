// Locks for callers that have no long-lived process: acquire in one process, renew in a second, release in a third.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lock_error.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

class LeaseStore;

struct LockTokenParts;

/// A handle of a lock, as text that another process can use. Only LockTokens and `from` make one. It is cheap to copy
/// and immutable, so any thread may read it. A renewal gives a new token; the old one is no longer valid.
///
/// The token is not a secret and proves no identity: any client that can write to the store can take the lock anyway.
/// It names the one version of the record that its bearer wrote, and every write is conditioned on that version.
class TENURE_API LockToken {
 public:
  /// Reads what text() wrote. `malformed` says whether the text is no token at all, is cut off, was changed, or has
  /// another version. Text after the token is refused too, except line breaks at the end.
  [[nodiscard]] static LockResult<LockToken> from(std::string_view text);

  /// One word of printable ASCII that no shell treats specially, at most maxTextBytes long:
  /// `tenure-lock:1,key=...,owner=...,version=...,lease=30000ms,token=7,boot=...,clock=...,since=...,store=...,sum=...`
  [[nodiscard]] std::string text() const;
  static constexpr std::size_t maxTextBytes = 32'768;

  [[nodiscard]] const LeaseKey& key() const noexcept;
  /// Unique to this acquisition: the caller's name, '#', and 128 random bits.
  [[nodiscard]] const std::string& owner() const noexcept;
  /// The record version number that the last write left. It is not a fencing token.
  [[nodiscard]] const RecordVersion& version() const noexcept;
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept;
  /// Hand this to the resource that the lock protects. It rises with each acquisition and stays the same over renewals.
  [[nodiscard]] FencingToken fencingToken() const noexcept;
  /// Wall clock of the acquiring machine at the acquisition; for people only.
  [[nodiscard]] std::int64_t acquiredAtMillis() const noexcept;
  /// LeaseStore::describe() of the store that made it; for messages only.
  [[nodiscard]] const std::string& store() const noexcept;

  /// How long the lock is certainly still held without a renewal: the lease minus the margin for clock rates. It is
  /// counted from before the last acknowledged write was sent (invariant I2), by the clocks of this boot of this
  /// machine, which include suspend. Zero: over. Empty: the token comes from another machine or another boot, so no
  /// clock here knows; then only the store does.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> remaining() const;

  TENURE_API friend bool operator==(const LockToken& a, const LockToken& b);

 private:
  friend struct LockTokenAccess;
  explicit LockToken(std::shared_ptr<const LockTokenParts> parts) noexcept : parts_{std::move(parts)} {}

  std::shared_ptr<const LockTokenParts> parts_;
};

struct TokenAcquireOptions {
  /// How long the lock is held without a renewal. It is not renewed automatically, so this has to cover the whole work,
  /// or the time until the next renewal. 100 ms .. 24 h.
  std::chrono::milliseconds lease{30'000};
  /// How long to wait for a lock that is held. Unset: until it is granted. 0: a single attempt, which takes a lock that
  /// is free. A dead holder's lock is taken over after the caller has watched its whole lease pass without a renewal.
  /// A shorter wait never takes over from a dead holder (but takes a released lock at once).
  std::optional<std::chrono::milliseconds> waitFor{};
  /// How often the present holder is expected to renew: it sets the interval of the first polls, and the call then
  /// learns the real interval. Unset: a third of `lease`, so set it if a long lease waits for the end of
  /// a short one. 10 ms .. 24 h.
  std::optional<std::chrono::milliseconds> poll{};
  /// A name that people recognise, 1..200 bytes of UTF-8 without control characters and without '#'; 128 random bits
  /// make it unique. Empty: the host name.
  std::string owner{};
  std::string data{};                               ///< put into the record; empty: what is there stays
  std::map<std::string, std::string> attributes{};  ///< likewise

  friend bool operator==(const TokenAcquireOptions&, const TokenAcquireOptions&) = default;
};

struct TokenRenewOptions {
  /// Unset: as the token has it. 100 ms .. 24 h. Later renewals keep it.
  std::optional<std::chrono::milliseconds> lease{};
  /// For all requests together, if the store does not answer at once.
  std::chrono::milliseconds budget{10'000};
  /// Renews also after a promotion that may have lost a later owner; see renew(). Only for a token that is renewed to
  /// be released, or while no work is done under it.
  bool anyHistory{false};

  friend bool operator==(const TokenRenewOptions&, const TokenRenewOptions&) = default;
};

/// The present state of a token's lock.
struct TokenView {
  /// True: the store has the record as this token left it, and the lease is not over by the clocks of this machine; if
  /// they do not know (`remaining` is empty), no standby was promoted since the acquisition.
  bool active{false};
  /// Why it is not active: `lost` (with the reason), `notHeld` if its term was released, or `superseded`.
  std::optional<LockError> why{};
  /// LockToken::remaining(): empty if only the store knows.
  std::optional<std::chrono::nanoseconds> remaining{};
  /// The present holder of the lock, if there is one (with `active`: this token's owner).
  std::optional<HolderInfo> holder{};

  friend bool operator==(const TokenView&, const TokenView&) = default;
};

/// Blocking operations on one store; any thread, several at a time. They keep the rules of electors: a holder's
/// validity counts from before its last acknowledged write was sent; a dead holder's lock is taken over only after its
/// whole lease was watched on the caller's own clock; an unanswered write is neither success nor failure and is read
/// back. Do not call them on the store's or the library's own threads.
///
/// No process holds the lock, so no crash can be detected: a token's lock always lasts its lease (there is no death
/// notice). A caller that is killed after the write but before it stored its token leaves a lock that ends with the
/// lease. A caller that knows the owner text (the record shows it) can call `resume` before that.
///
/// On SQLite a database that is deleted takes the tokens' locks with it: there is no living process, as with an
/// elector, that could defend them. Hand the fencing token to the resource where that matters.
class TENURE_API LockTokens {
 public:
  /// Makes no request. Throws std::invalid_argument if `store` is null.
  explicit LockTokens(std::shared_ptr<LeaseStore> store, Logger logger = {});

  /// Takes the lock, or says who holds it. The token's time runs from before the write was sent. If the store calls
  /// itself misconfigured at the first read, LeaseStore::ensureSchema is called within the wait: a missing DynamoDB
  /// table is created if the store's options allow it (`tableOptions.create`), otherwise the error says how to create
  /// it. No other call here creates one. Transient errors of the store are retried for as long as `waitFor` allows;
  /// other errors end the call. `waitFor` is a bound whatever the store answers (its calls return at once, by its
  /// contract), and a single attempt (0) takes no longer than 5 s. `unknown` says that a write was not answered in that
  /// time. If it arrived, it is taken back in the background, as long as this process lives and for one lease.
  [[nodiscard]] LockResult<LockToken> acquire(const LeaseKey& key, const TokenAcquireOptions& options = {});

  /// The new token replaces the old one, which is no longer valid. If two callers renew with one token, one wins
  /// and the other gets `superseded`. `lost` (reason `expired`), without a request, if the lease is over by this
  /// machine's clock. A token from another machine is judged by the store alone, which is read first: if the record is
  /// still as the token left it, no other owner can have held the lock in between. If a standby of PostgreSQL was
  /// promoted since the acquisition, a later owner may be lost, so such a token is `lost` and the lock must be acquired
  /// anew. The same holds for a lease that ends before a further attempt, and for `resume`. If the new lease is over
  /// when the store answers, the lock is `lost` (`expired`) as well. After `unknown` of a renewal to a shorter lease,
  /// which may have arrived, `token` counts only for that lease from the call on, whatever its remaining() says.
  [[nodiscard]] LockResult<LockToken> renew(const LockToken& token, const TokenRenewOptions& options = {});

  /// `released` by this call, or `notHeld`: it was released before, or its record is gone. A second call gives
  /// `notHeld`. Never touches the lock of another owner (the error `lost`), nor of a newer token (`superseded`). In all
  /// these cases but the last the caller no longer holds anything.
  [[nodiscard]] LockResult<ReleaseResult> release(const LockToken& token,
                                                  std::chrono::milliseconds budget = std::chrono::milliseconds{10'000});

  /// One read, within 5 s. Only the store's errors are returned as errors.
  [[nodiscard]] LockResult<TokenView> check(const LockToken& token);
  /// check().active
  [[nodiscard]] LockResult<bool> isActive(const LockToken& token);

  /// For a token that was lost while its lock is still held: renews the lock whose record names exactly this owner text
  /// (`name#incarnation`), and gives a new token. The bearer of the old token then gets `superseded`. `lost` if another
  /// candidate holds the lock or after a promotion (see `renew`), `notHeld` if it has no holder.
  [[nodiscard]] LockResult<LockToken> resume(const LeaseKey& key, const std::string& owner,
                                             const TokenRenewOptions& options = {});

 private:
  std::shared_ptr<LeaseStore> store_;
  Logger logger_;
};

}  // namespace tenure
