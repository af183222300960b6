// The port that every store implements: a conditional-write register per lease, and a fencing counter beside it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// A process keeps an exclusive flock(2) on a beacon file; the kernel drops it when the last process that inherited
/// the descriptor is gone. Whoever gets that lock on the very file of the record (same boot, device, inode, and the
/// beacon's id inside) has proof that the holder is gone, and may take over without waiting for the lease to end,
/// conditioned on the RVN as ever. A missing, foreign, copied or replaced beacon proves nothing, and neither does
/// the end of a connection: then the lease decides.
class DeathNotice {
 public:
  virtual ~DeathNotice() = default;

  /// This process's beacon, locked, to be written into its records. Created at the first call. Blocks for a few
  /// file operations; call it before competing, not on the renewal thread.
  [[nodiscard]] virtual StoreResult<Beacon> beacon() = 0;

  /// The descriptor of the beacon, for children that act for a term: a child that inherits it (clear FD_CLOEXEC
  /// between fork and exec) counts as the holder being alive. -1 before beacon().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// Watches the beacon of `record` and calls `proven` with the record's RVN at most once, when (or if already) its
  /// holder is proven gone. Ends with the returned handle. Null if the record's beacon can prove nothing here.
  /// Returns at once; `proven` comes from any thread, never inside this call, and is not running any more when the
  /// handle's destruction returns.
  [[nodiscard]] virtual std::shared_ptr<void> follow(const LeaseRecord& record,
                                                     std::function<void(RecordVersion)> proven) = 0;
};

/// The texts are as they are stored, also where they are malformed: a token may be too great for one, which is why the
/// lease cannot be read in the ordinary way. Two that are equal: nobody has written the record or the counter between.
struct StoredTokens {
  std::string counter{};               ///< empty: there is no counter
  std::string copy{};                  ///< the record's token; empty: there is no record
  std::string version{};               ///< the record's RVN
  std::string holder{};                ///< the record's
  bool released{false};                ///< the record's
  std::chrono::milliseconds lease{0};  ///< the longest that record and counter state; 0: neither states one

  [[nodiscard]] bool hasRecord() const noexcept { return !version.empty(); }

  friend bool operator==(const StoredTokens&, const StoredTokens&) = default;
};

/// How the record's token and the counter disagree, for people; empty: they do not. Every acquisition of tenure's
/// writes both in one step, so they differ only where somebody else wrote. A record without a token, which another
/// client wrote, agrees with any counter.
[[nodiscard]] std::string disagreementIn(const StoredTokens& tokens);

class DeathNotice;

/// How long a call may take, counted from the call. A store that cannot answer by then answers with an error (reads)
/// or with `Rejected` if it can prove that nothing was applied, else `Unknown` (writes).
struct CallOptions {
  std::chrono::nanoseconds timeout{0};
};

/// How the data of a write and the data of the stored record make the new one.
enum class DataRule {
  replaceUnlessEmpty,  ///< empty data leaves what is there
  replace,             ///< empty data clears what is there
  keepIfAny,           ///< what is there stays, if it is not empty
};

/// One conditional write. The store applies all of it or nothing.
struct WriteRequest {
  enum class Purpose {
    acquire,  ///< take a lease that is absent, released, expired or whose holder is proven dead; advances the counter
    renew,    ///< heartbeat: new RVN for the same holder and token
    release,  ///< mark as released; keeps the record and its token
  };

  LeaseKey key;
  Purpose purpose{Purpose::acquire};

  /// The RVNs one of which the stored record must have; empty: there must be no record, and no term that the counter
  /// says is open. vanishedVersion(): no record, and the counter states just this open term. Several are given when an
  /// earlier write of this holder has an unknown outcome (invariant I8). Renew and release also require that the
  /// stored holder equals `record.holder`. Neither ever creates a record.
  std::vector<RecordVersion> expected;

  /// The new state. For acquire the store fills in `token`; `attributes` that are empty leave what the stored record
  /// has, and so does `data` unless `dataRule` says otherwise.
  LeaseRecord record;

  /// acquire only: the new token must be greater than this, than the counter and than the stored record's token.
  FencingToken tokenFloor{};

  /// What `record.data` does to the data that is stored.
  DataRule dataRule{DataRule::replaceUnlessEmpty};

  /// release only: the record is removed and not marked. The fencing counter stays, and says that the term has ended.
  bool removes{false};

  /// renew only: `record.leaseDuration` is longer than any that this holder knows to be in the record, so the counter
  /// must state it as well.
  bool lengthens{false};
};

/// The data that a write of `data` by this rule makes of `stored` (null: there is no record).
[[nodiscard]] inline const std::string& mergedData(DataRule rule, const std::string& data, const std::string* stored) {
  if (stored == nullptr || rule == DataRule::replace) return data;
  if (rule == DataRule::keepIfAny) return stored->empty() ? data : *stored;
  return data.empty() ? *stored : data;
}

/// The write is durable.
struct Applied {
  FencingToken token;  ///< of the record as it is now
  /// Somebody asked the holder of this term to step down (see requestStepDown).
  bool stepDownRequested{false};
  /// Not empty: something an operator must know, e.g. "the fencing counter was missing and was restored to 41".
  std::string warning{};
};

/// The expectation did not hold; nothing was changed. `current` is set if the store could tell the stored state in
/// the same step: an empty inner optional means that there is no record.
struct Conflict {
  std::optional<std::optional<LeaseRecord>> current;
};

/// Certainly not applied, now or later, for another reason than the expectation.
struct Rejected {
  StoreError error;
};

/// It may have been applied, or may still be. Never treated as success nor as failure.
struct Unknown {
  StoreError error;
};

using WriteOutcome = std::variant<Applied, Conflict, Rejected, Unknown>;
using ReadOutcome = StoreResult<std::optional<LeaseRecord>>;

/// One entry of a listing; a record that is not understood is reported beside the good ones.
struct ListedLease {
  LeaseKey key;
  StoreResult<LeaseRecord> record;
  /// Not empty: something an operator must know, e.g. that the record's token is not the fencing counter's.
  std::string warning{};
};
using ListOutcome = StoreResult<std::vector<ListedLease>>;

/// A part of a listing.
struct ListPage {
  std::vector<ListedLease> leases{};
  std::string next{};  ///< where the listing goes on, in words of the store's own; empty: this was the last part
};
using PageOutcome = StoreResult<ListPage>;
using StoreStatus = StoreResult<void>;

using ReadHandler = std::function<void(ReadOutcome)>;
using WriteHandler = std::function<void(WriteOutcome)>;
using ListHandler = std::function<void(ListOutcome)>;
using PageHandler = std::function<void(PageOutcome)>;
using TokensHandler = std::function<void(StoreResult<StoredTokens>)>;
using StatusHandler = std::function<void(StoreStatus)>;

/// Contract for implementers (tests/contract checks it for any store):
/// - Calls return at once and may come from any thread, several at a time. Blocking work happens elsewhere.
/// - Every handler is called exactly once, from any thread, never inside the call that was given it, also when the
///   store is destroyed first (then with a transient error). Handlers do not throw and return quickly.
/// - Reads are linearizable: a read that starts after a write was answered sees that write or a later one.
/// - Beside the record lies the fencing counter, which outlives it. It states the lease of the last term until that
///   term ends cleanly: an acquisition writes token and lease there; a renewal that lengthens the lease raises it; a
///   release that removes the record, or remove() of a released one, clears it; each in the same step as its change of
///   the record. A record that is there says itself how its term stands. Where it is absent and the counter states a
///   lease, reads and conflicts tell vanishedRecord(); listings leave it out.
/// - A record that the store does not understand is a `corrupt` error naming the record and its likely writer;
///   it is never overwritten. A write that meets it is `Rejected`, or `Unknown` in a store to which a network may have
///   brought a copy of the request before: only a record that is understood tells whether that one was applied.
/// - No retry inside: one call is one attempt, because only the caller knows what is left of the lease.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  /// For people, in logs and status: `sqlite ./billing.db`, `memory (single process)`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Creates what the store needs if it is missing and checks it if it is there. Safe in several processes at once.
  /// read, write and list work without it when the schema is in place.
  virtual void ensureSchema(CallOptions options, StatusHandler handler) = 0;

  virtual void read(const LeaseKey& key, CallOptions options, ReadHandler handler) = 0;
  virtual void write(WriteRequest request, CallOptions options, WriteHandler handler) = 0;

  /// Every reason for which this store could never write such a record, told without asking anybody, so that a caller
  /// is refused before anything is sent. Empty: none is known; a write may be refused all the same. A store adds what
  /// its layout keeps for itself, and its limits, to what this one finds.
  [[nodiscard]] virtual OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                                     const std::map<std::string, std::string>& attributes) const;

  /// All leases whose name starts with `prefix`, in key order.
  virtual void list(std::string prefix, CallOptions options, ListHandler handler) = 0;

  /// One part of what list() would give, for callers that will not keep all of it: the first if `from` is empty, else
  /// the one that begins at the `next` of the part before. In the store's own order, and a part may be empty. A lease
  /// that is there all the time comes exactly once. Optional: without it everything comes as one part.
  virtual void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler);

  /// Asks the holder of term `token` to step down: its next applied renewal carries `stepDownRequested`. Does not
  /// change the RVN. `Conflict` if that term is not the current one.
  virtual void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) = 0;

  /// Deletes the record if it has exactly this RVN, whoever holds it: for clearing away what was abandoned, never for
  /// giving a lease up. The fencing counter stays, and is raised to the record's token in the same step if it was
  /// behind, so tokens go on rising. `Applied` has the record's token; `Conflict` if the record has another RVN or
  /// there is none; a record that is not understood is refused. Optional: without it a store answers `Rejected`.
  virtual void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler);

  /// What is stored of the lease's tokens, also if it is malformed. For operators only (`tenure status`, `tenure fence
  /// recover`). Record and counter may be as of two moments, each linearizable as read(); two answers that are equal
  /// tell one moment. Optional: without it a store answers `misconfigured`.
  virtual void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler);

  /// Sets the counter to `token`, up or down, as of a term that has ended cleanly; and the copy in the record, if there
  /// is one, which is marked as released under a new RVN and keeps its data. All in one step, and only if everything is
  /// as `expected`, else `Conflict`. This may break invariant I7, and so is for an operator who has seen to it that no
  /// candidate lives: the next term gets the token after this one. `Rejected` for a token that is none, and if the
  /// store knows of a process that uses it. Optional: without it a store answers `Rejected`.
  virtual void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                         WriteHandler handler);

  /// Calls `hint` soon after another process (or this one) changed the lease, for as long as the returned handle
  /// lives. Optional: hints may be missed, doubled or late; they only ever trigger an early read. `hint` is called
  /// from any thread, must return at once, and is not running any more when the handle's destruction returns.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) {
    return nullptr;
  }

  /// Calls `hint` soon after all records may have gone at once: the store's file was removed, renamed or replaced. For
  /// holders, who need no watch() (their own heartbeats would wake them) and would else learn it at their next
  /// heartbeat. Optional, and otherwise as watch().
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) { return nullptr; }

  /// Kernel proof that a holder on this machine is gone; null if the store has none or it is switched off.
  [[nodiscard]] virtual std::shared_ptr<DeathNotice> deathNotice() { return nullptr; }
};

}  // namespace tenure
