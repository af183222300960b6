// The protocol's interface to a store: conditional writes of a record for each lease, and a fencing counter next to it.
// A program takes one from a factory and passes it on. To write a store, write a register (register.hpp):
// makeLeaseStore() makes a LeaseStore of it. Derive from LeaseStore only to stand in front of a store that is there: a
// test that delays, loses or counts its calls.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// A death notice is proof by the kernel that a holder on this machine is gone. A process keeps an exclusive flock(2)
/// on its liveness file. The kernel drops this lock when the last process that inherited the descriptor is gone. A
/// process that gets the lock on the very file of the record (same boot, device, inode, and the same id inside) has
/// proof that the holder is gone. It may then take over without waiting for the lease to end; its write is conditioned
/// on the RVN as always. A missing, foreign, copied or replaced liveness file proves nothing, and neither does the end
/// of a connection: then the lease decides.
class TENURE_API DeathNotice {
 public:
  virtual ~DeathNotice() = default;

  /// This process's liveness file, locked, as it is to be written into its records. Created at the first call. Blocks
  /// for a few file operations: call it before competing, not on the renewal thread.
  [[nodiscard]] virtual StoreResult<LivenessFile> livenessFile() = 0;

  /// The descriptor of the liveness file, for children that act for a term. A child that inherits it (clear FD_CLOEXEC
  /// between fork and exec) counts as the holder being alive. -1 before livenessFile().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// Watches the liveness file of `record`. Calls `proven` with the record's RVN, at most once, when the holder is
  /// proven gone (even if that is so already). The watch ends with the returned handle. Null if the record's liveness
  /// file can prove nothing here. Returns at once. `proven` is called on any thread, never inside this call, and no
  /// longer runs when the handle's destruction returns.
  [[nodiscard]] virtual std::shared_ptr<void> follow(const LeaseRecord& record,
                                                     std::function<void(RecordVersion)> proven) = 0;
};

/// The stored tokens of a lease. The texts are given as they are stored, even if they are malformed: a token
/// may be too great to be valid, and then the lease cannot be read in the ordinary way. If two answers are equal,
/// neither the record nor the counter was written between them.
struct TENURE_API StoredTokens {
  std::string counter{};               ///< empty: there is no counter
  std::string copy{};                  ///< the token in the record; empty: there is no record
  std::string version{};               ///< the record's RVN
  std::string holder{};                ///< the record's holder
  bool released{false};                ///< whether the record is released
  std::chrono::milliseconds lease{0};  ///< the longest lease that record and counter state; 0: none
  /// The counter is one above the copy, as where a candidate has waited the lease out, is kept out by writers that hold
  /// the record, and has announced that it takes over.
  bool announced{false};

  [[nodiscard]] bool hasRecord() const noexcept { return !version.empty(); }

  friend bool operator==(const StoredTokens&, const StoredTokens&) = default;
};

/// Says for people how the record's token and the counter disagree; empty if they agree. Every acquisition of tenure
/// writes both in one step, so they differ only where another program wrote, or a takeover was announced. A record
/// without a token, which another client wrote, agrees with any counter.
[[nodiscard]] TENURE_API std::string disagreementIn(const StoredTokens& tokens);

/// How long a call may take, counted from the call. A store that cannot answer in this time answers a read with an
/// error. It answers a write with `Rejected` if it can prove that nothing was applied, otherwise with `Unknown`.
struct TENURE_API CallOptions {
  std::chrono::nanoseconds timeout{0};
};

/// How the data of a write is combined with the data of the stored record.
enum class DataRule {
  replaceUnlessEmpty,  ///< empty data leaves what is there
  replace,             ///< empty data clears what is there
  keepIfAny,           ///< what is there stays, if it is not empty
};

/// One conditional write. The store applies all of it or nothing.
struct TENURE_API WriteRequest {
  enum class Purpose {
    acquire,  ///< take a lease that is absent, released, expired or whose holder is proven dead; advances the counter
    renew,    ///< heartbeat: new RVN for the same holder and token
    release,  ///< mark as released; keeps the record and its token
  };

  LeaseKey key;
  Purpose purpose{Purpose::acquire};

  /// The stored record must have one of these RVNs. Empty: there must be no record, and no term that the counter says
  /// is open. vanishedVersion(): there must be no record, and the counter must state exactly this open term. Several
  /// are given when an earlier write of this holder has an unknown outcome (invariant I8). Renew and release also
  /// require that the stored holder equals `record.holder`. Neither ever creates a record. If a version has a history,
  /// it must be the store's present one. An acquisition whose versions have none must not meet an inherited record.
  std::vector<RecordVersion> expected;

  /// The new state. For acquire the store fills in `token`. Empty `attributes` leave those of the stored record as they
  /// are; so does empty `data`, unless `dataRule` says otherwise.
  LeaseRecord record;

  /// acquire only: the new token must be greater than this, than the counter and than the stored record's token.
  FencingToken tokenFloor{};

  /// How `record.data` changes the stored data.
  DataRule dataRule{DataRule::replaceUnlessEmpty};

  /// release only: the record is removed instead of marked. The fencing counter stays, and says that the term has
  /// ended.
  bool removes{false};

  /// renew only: `record.leaseDuration` is longer than any that this holder knows to be in the record, so the counter
  /// must state the longer lease as well.
  bool lengthens{false};
};

/// The data that results from a write of `data` under this rule; `stored` is the data before (null: there is no
/// record).
[[nodiscard]] inline const std::string& mergedData(DataRule rule, const std::string& data, const std::string* stored) {
  if (stored == nullptr || rule == DataRule::replace) return data;
  if (rule == DataRule::keepIfAny) return stored->empty() ? data : *stored;
  return data.empty() ? *stored : data;
}

/// The expectation did not hold; nothing was changed. `current` is set if the store could read the stored state in the
/// same step. An empty inner optional means that there is no record.
struct TENURE_API Conflict {
  std::optional<std::optional<LeaseRecord>> current;
};

using WriteOutcome = std::variant<Applied, Conflict, Rejected, Unknown>;
using ReadOutcome = StoreResult<std::optional<LeaseRecord>>;

using ListOutcome = StoreResult<std::vector<ListedLease>>;

using PageOutcome = StoreResult<ListPage>;

using ReadHandler = std::function<void(ReadOutcome)>;
using WriteHandler = std::function<void(WriteOutcome)>;
using ListHandler = std::function<void(ListOutcome)>;
using PageHandler = std::function<void(PageOutcome)>;
using TokensHandler = std::function<void(StoreResult<StoredTokens>)>;

/// Contract for implementers (tests/contract checks it for any store):
/// - Calls return at once and may come from any thread, several at a time. Blocking work happens elsewhere.
/// - Every handler is called exactly once, from any thread, never inside the call that it was given to. If the store is
///   destroyed first, the handler is called with a transient error. Handlers do not throw and return quickly.
/// - Reads are linearizable: a read that starts after a write was answered sees that write or a later one.
/// - Next to the record is the fencing counter, which outlives the record. It states the lease of the last term until
///   that term ends cleanly. An acquisition writes token and lease there; a renewal that lengthens the lease raises the
///   stated lease; a release that removes the record clears it, and so does remove() of a released record. Each of
///   these happens in the same step as the change of the record. A record that exists says itself whether its term is
///   open. If there is no record and the counter states a lease, reads and conflicts answer with vanishedRecord();
///   listings leave it out.
/// - A store that may lose its last writes (a standby that is promoted) says so by `RecordVersion::history()` and
///   `LeaseRecord::inherited`. If there is no record and the last write belongs to an earlier history, it answers
///   with vanishedRecord() of the last lease. A new history begins with tokens that no earlier one can have reached.
/// - A record that the store does not understand is a `corrupt` error, which names the record and its likely writer;
///   the record is never overwritten. A write that meets it is `Rejected`. In a store behind a network it is `Unknown`
///   if a copy of the request may have arrived before: only a record that is understood shows whether that copy was
///   applied.
/// - A store does not retry: one call is one attempt, because only the caller knows how much of the lease is left.
class TENURE_API LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  /// For people, in logs and status: `sqlite ./billing.db`, `memory (single process)`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Creates what the store needs if it is missing, and checks it if it exists. Safe in several processes at once.
  /// read, write and list work without this call when the schema is in place.
  virtual void ensureSchema(CallOptions options, StatusHandler handler) = 0;

  virtual void read(const LeaseKey& key, CallOptions options, ReadHandler handler) = 0;
  virtual void write(WriteRequest request, CallOptions options, WriteHandler handler) = 0;

  /// Every reason why this store could never write such a record, found without a request, so that a caller is refused
  /// before anything is sent. Empty: no reason is known; a write may be refused all the same. This base version finds
  /// what holds for every store. A store adds its own limits, and the names that its layout keeps for itself.
  [[nodiscard]] virtual OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                                     const std::map<std::string, std::string>& attributes) const;

  /// All leases whose name starts with `prefix`, in key order.
  virtual void list(std::string prefix, CallOptions options, ListHandler handler) = 0;

  /// One part of what list() would give, for callers that do not want all of it in memory. It is the first part if
  /// `from` is empty, otherwise the part that begins at the `next` of the part before. Entries come in the store's own
  /// order, and a part may be empty. A lease that exists during the whole listing comes exactly once. Optional: by
  /// default everything comes as one part.
  virtual void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler);

  /// All leases of this very name, whatever their sort keys, in key order. By default the leases that list() gives for
  /// this name as its prefix, without those of longer names.
  virtual void listName(std::string name, CallOptions options, ListHandler handler);

  /// Whether the leases of a group that has several, such as a sharded election, are leases of one name here: the
  /// group's, with sort keys that distinguish them. true: list() has to read much more than what it returns, listName()
  /// does not, and each lease may have a sort key. false: they are named `group/...`, and list() finds them.
  /// Constant. A store in front of another one must answer as that one does.
  [[nodiscard]] virtual bool keepsGroupsTogether() const noexcept { return false; }

  /// Asks the holder of term `token` to step down: its next applied renewal carries `stepDownRequested`. Does not
  /// change the RVN. `Conflict` if that term is not the current one.
  virtual void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) = 0;

  /// Deletes the record if it has exactly this RVN, whoever holds it. This is for clearing away abandoned records,
  /// never for giving a lease up. The fencing counter stays. If it was behind, it is raised to the record's token in
  /// the same step, so tokens keep rising. `Applied` has the record's token; `Conflict` if the record has another RVN
  /// or there is none; a record that is not understood is refused. Optional: by default a store answers `Rejected`.
  virtual void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler);

  /// The stored tokens of the lease, even if they are malformed. For operators only (`tenure status`, `tenure fence
  /// recover`). Record and counter may come from two moments, each linearizable as read(). Two answers that are equal
  /// come from one moment. Optional: by default a store answers `misconfigured`.
  virtual void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler);

  /// Sets the counter to `token`, up or down, as if of a term that has ended cleanly. If there is a record, its copy of
  /// the token is set too, and the record is marked as released under a new RVN; it keeps its data. All of this is one
  /// step, and happens only if all of it is as `expected`, otherwise `Conflict`. This may break invariant I7, so it is
  /// for an operator who has made sure that no candidate lives: the next term gets the token after this one, or a
  /// higher one where the store has a higher minimum. `Rejected` if `token` is not a valid token, and if the store
  /// knows of a process that uses it. Optional: by default a store answers `Rejected`.
  virtual void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                         WriteHandler handler);

  /// Calls `hint` soon after another process (or this one) changed the lease, for as long as the returned handle lives.
  /// Optional: hints may be missed, doubled or late; their only effect is an early read. `hint` is called from any
  /// thread, must return at once, and no longer runs when the handle's destruction returns.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) {
    return nullptr;
  }

  /// Calls `hint` soon after all records may have gone at once: the store's file was removed, renamed or replaced. This
  /// is for holders. They need no watch(), because their own heartbeats would wake them, and without this they would
  /// notice the loss only at their next heartbeat. Optional, and otherwise as watch().
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) { return nullptr; }

  /// Proof by the kernel that a holder on this machine is gone; null if the store has no such proof or it is switched
  /// off.
  [[nodiscard]] virtual std::shared_ptr<DeathNotice> deathNotice() { return nullptr; }
};

/// `renewing`
[[nodiscard]] constexpr std::string_view doing(WriteRequest::Purpose purpose) noexcept {
  switch (purpose) {
    case WriteRequest::Purpose::acquire:
      return "acquiring";
    case WriteRequest::Purpose::renew:
      return "renewing";
    case WriteRequest::Purpose::release:
      return "releasing";
  }
  return "writing";
}

}  // namespace tenure
