// The protocol's interface to a store: conditional writes of a record for each lease, and a fencing counter next to it.
// A program takes one from a factory and passes it on. To write a store, write a register (register.hpp):
// makeLeaseStore() makes a LeaseStore of it. Derive from LeaseStore only to stand in front of a store that is there: a
// test that delays, loses or counts its calls.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// How long a call may take, counted from the call. A store that cannot answer in this time answers a read with an
/// error. It answers a write with `Rejected` if it can prove that nothing was applied, otherwise with `Unknown`.
struct CallOptions {
  std::chrono::nanoseconds timeout{0};
  /// read only: the answer may be what a stream of changes has shown last, and lack writes that were answered since.
  /// For a candidate that will look again: it waits longer, and acquires only by a write that requires what it has
  /// read.
  bool mayBeLate{false};
};

/// How the data of a write is combined with the data of the stored record.
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

  /// The stored record must have one of these RVNs. Empty: there must be no record, and no term that the counter says
  /// is open. vanishedVersion(): there must be no record, and the counter must state exactly this open term. Several
  /// are given when an earlier write of this holder has an unknown outcome (invariant I8). Renew and release also
  /// require that the stored holder equals `record.holder`. Neither ever creates a record. If a version has a history,
  /// it must be the store's present one. An acquisition whose versions have none must not meet an inherited record.
  std::vector<RecordVersion> expected;

  /// The new state. For acquire the store fills in `token`, and names no successor. Empty `attributes` leave those of
  /// the stored record as they are; so does empty `data`, unless `dataRule` says otherwise. A renewal or a release
  /// without a `successor` keeps the one that is stored.
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
struct Conflict {
  std::optional<std::optional<LeaseRecord>> current;
};

using WriteOutcome = std::variant<Applied, Conflict, Rejected, Unknown>;
using ReadOutcome = StoreResult<std::optional<LeaseRecord>>;

using ListOutcome = StoreResult<std::vector<ListedLease>>;

using ReadHandler = std::function<void(ReadOutcome)>;
using WriteHandler = std::function<void(WriteOutcome)>;
using ListHandler = std::function<void(ListOutcome)>;

/// Contract for implementers (tests/contract checks it for any store):
/// - Calls return at once and may come from any thread, several at a time. Blocking work happens elsewhere.
/// - Every handler is called exactly once, from any thread, never inside the call that it was given to. If the store is
///   destroyed first, the handler is called with a transient error. Handlers do not throw and return quickly.
/// - Reads are linearizable: a read that starts after a write was answered sees that write or a later one, unless the
///   caller has set CallOptions::mayBeLate.
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

  /// All leases whose name starts with `prefix`, in key order.
  virtual void list(std::string prefix, CallOptions options, ListHandler handler) = 0;

  /// Asks the holder of term `token` to step down: its next applied renewal carries `stepDownRequested`. Does not
  /// change the RVN. `Conflict` if that term is not the current one.
  virtual void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) = 0;

  /// Deletes the record if it has exactly this RVN, whoever holds it. This is for clearing away abandoned records,
  /// never for giving a lease up. The fencing counter stays. If it was behind, it is raised to the record's token in
  /// the same step, so tokens keep rising. `Applied` has the record's token; `Conflict` if the record has another RVN
  /// or there is none; a record that is not understood is refused. Optional: by default a store answers `Rejected`.
  virtual void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler);

  /// Calls `hint` soon after another process (or this one) changed the lease, for as long as the returned handle lives.
  /// Optional: hints may be missed, doubled or late; their only effect is an early read. `hint` is called from any
  /// thread, must return at once, and no longer runs when the handle's destruction returns.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) {
    return nullptr;
  }

  /// The store behind this one, if this one passes keys on unchanged. Constant. The library asks that store directly
  /// for everything beyond these functions: whether the leases of a group are kept together, which payloads have no
  /// room, proof that a holder on this machine is dead, notice that all records are gone, parts of a listing, an
  /// operator's correction of tokens. Null: none of it, and listings are made from list(). A store in front of DynamoDB
  /// must answer with it: without it a sharded elector uses other leases than members that use the store itself, and
  /// both would own the same shards.
  [[nodiscard]] virtual std::shared_ptr<LeaseStore> behind() const { return nullptr; }
};

}  // namespace tenure
