// Locks for callers without a process that lives on: acquire in one process, renew in a second, release in a third.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock_token.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

struct TokenAcquireOptions {
  /// How long the lock is held if nobody renews it. Nothing renews it by itself, so it has to cover the work, or the
  /// time until the next renewal. 100 ms .. 24 h.
  std::chrono::milliseconds lease{30'000};
  /// How long to wait for a lock that is held. Unset: until it is granted. 0: one look; a lock that is free is taken.
  /// A holder that died is succeeded after its whole lease was watched without a renewal, so a shorter wait never
  /// takes a lock over from the dead (but a released one at once).
  std::optional<std::chrono::milliseconds> waitFor{};
  /// A name that people recognise, 1..200 bytes of UTF-8 without control characters and '#'; made unique by 128 random
  /// bits. Empty: the host name.
  std::string owner{};
  std::string data{};                               ///< put into the record; empty: what is there stays
  std::map<std::string, std::string> attributes{};  ///< likewise

  friend bool operator==(const TokenAcquireOptions&, const TokenAcquireOptions&) = default;
};

struct TokenRenewOptions {
  /// Unset: as the token has it. 100 ms .. 24 h. Stays for later renewals.
  std::optional<std::chrono::milliseconds> lease{};
  /// For all requests together, if the store does not answer at once.
  std::chrono::milliseconds budget{10'000};

  friend bool operator==(const TokenRenewOptions&, const TokenRenewOptions&) = default;
};

/// What became of a release. All of them mean: the caller holds nothing any more.
enum class TokenRelease {
  released,  ///< by this call
  notHeld,   ///< it was released before, or its record is gone
  lost,      ///< somebody else had taken it over, whose lock was not touched
};

[[nodiscard]] std::string_view toString(TokenRelease release) noexcept;
std::ostream& operator<<(std::ostream& out, TokenRelease release);

/// What can be said of a token's lock now.
struct TokenView {
  /// True: the store shows the record as this token left it, and the lease is not over as far as a clock here can tell.
  bool active{false};
  /// Why it is not: expired, released, superseded or lost.
  std::optional<LockTokenTrouble> why{};
  /// LockToken::remaining(): empty if only the store can tell.
  std::optional<std::chrono::nanoseconds> remaining{};
  /// Who has the lock now, if somebody has (with `active`: this token's owner).
  std::optional<HolderInfo> holder{};

  friend bool operator==(const TokenView&, const TokenView&) = default;
};

/// Blocking operations on one store; any thread, several at a time. They keep the rules of LeaseMachine: a holder's
/// right counts from before its last acknowledged write was sent, a dead holder is succeeded only after its whole lease
/// was watched on the caller's own clock, an unanswered write is neither success nor failure and is read back. Not from
/// the store's or the library's own threads.
///
/// There is no process whose death could be noticed, so a token's lock always lasts its lease (no death notice), and a
/// caller that is killed between the write and the storing of its token leaves a lock that ends with the lease. Who
/// knows its owner text (the record shows it) can call `resume` before that.
///
/// On SQLite a database that is deleted takes the tokens' locks with it: unlike a living elector nobody is left who
/// could defend them. Hand the fencing token to the resource where that matters.
class LockTokens {
 public:
  /// Makes no request. Throws std::invalid_argument if `store` is null.
  explicit LockTokens(std::shared_ptr<LeaseStore> store, Logger logger = {});

  /// Takes the lock, or tells who holds it. The token's time runs from before the write was sent. Where the store
  /// calls itself misconfigured at the first look, LeaseStore::ensureSchema is called within the wait: a missing
  /// DynamoDB table is made if the store's options allow it (`tableOptions.create`), else the error says how. No other
  /// call here makes one. Transient errors of the store are retried for as long as `waitFor` allows; others end the
  /// call. `waitFor` is a bound whatever the store answers (its calls return at once, by its contract), and one look
  /// (0) takes no longer than 5 s. `unknown` tells that a write was not answered in that time: if it arrived, it is
  /// taken back behind the call, as long as this process lives and for one lease.
  [[nodiscard]] LockTokenResult<LockToken> acquire(const LeaseKey& key, const TokenAcquireOptions& options = {});

  /// The new token replaces the old one, which has no power from then on: of two callers that renew with one token one
  /// wins, and the other is told `superseded`. `expired` without a request if the lease is over by this machine's
  /// clock; a token from another machine is judged by the store alone, where nobody can have held the lock in between
  /// if the record is still as the token left it.
  [[nodiscard]] LockTokenResult<LockToken> renew(const LockToken& token, const TokenRenewOptions& options = {});

  /// Idempotent: a second call gives `notHeld`. Never touches another's lock, nor that of a newer token
  /// (`superseded`).
  [[nodiscard]] LockTokenResult<TokenRelease> release(const LockToken& token,
                                                      std::chrono::milliseconds budget = std::chrono::milliseconds{
                                                          10'000});

  /// One read. Errors are the store's only.
  [[nodiscard]] LockTokenResult<TokenView> check(const LockToken& token);
  /// check().active
  [[nodiscard]] LockTokenResult<bool> isActive(const LockToken& token);

  /// A token was lost, not the lock: renews the lock whose record names exactly this owner text
  /// (`name#incarnation`), and gives a new token. Whoever has the old one is told `superseded`. `lost` if another
  /// holds the lock, `released` if nobody does.
  [[nodiscard]] LockTokenResult<LockToken> resume(const LeaseKey& key, const std::string& owner,
                                                  const TokenRenewOptions& options = {});

 private:
  std::shared_ptr<LeaseStore> store_;
  Logger logger_;
};

}  // namespace tenure
