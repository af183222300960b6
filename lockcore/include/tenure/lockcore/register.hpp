// Your own store: a register of pairs, the record and the fencing counter of each lease. makeLeaseStore() puts the
// rule of every write over it. docs/reference/cpp-api.md has an example, and says how other systems fit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

class LeaseStore;

/// Certainly not applied, neither now nor later, for a reason other than the expectation.
struct Rejected {
  StoreError error;
};

/// It may have been applied, or may still be. Never treated as success nor as failure.
struct Unknown {
  StoreError error;
};

/// The write is durable.
struct Applied {
  FencingToken token;             ///< of the record as it is now
  bool stepDownRequested{false};  ///< the holder of this term was asked to step down
  std::string warning{};          ///< for an operator: "the fencing counter was missing and was restored to 41"
};

/// One entry of a listing. A record that is not understood is an entry too, next to the good ones.
struct ListedLease {
  LeaseKey key;
  StoreResult<LeaseRecord> record;
  std::string warning{};  ///< for an operator: the record's token is not the fencing counter's
};

/// A part of a listing.
struct ListPage {
  std::vector<ListedLease> leases{};
  std::string next{};    ///< the start of the next part, in the store's own notation; empty: this was the last part
  std::size_t bytes{0};  ///< of the server's answer; 0: they need no bound
};

using StoreStatus = StoreResult<void>;
using StatusHandler = std::function<void(StoreStatus)>;

namespace stored {

struct StoredRecord {
  LeaseRecord record;
  FencingToken stepDown{};  ///< the term that was asked to step down

  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

/// Outlives the record. Without one: nothing of it.
struct Counter {
  FencingToken token{};
  std::chrono::milliseconds openLease{0};  ///< the lease of a term that has not ended cleanly; 0: there is none

  friend bool operator==(const Counter&, const Counter&) = default;
};

/// The pair of a lease, as it was read in one step.
struct TENURE_API StoredLease {
  /// A number of the whole store at the time of the reading, which outlives records and counters. The next token is
  /// above it.
  std::uint64_t revision{0};
  bool nothing{false};  ///< neither record nor counter is there, so nothing shows whether it was always so
  /// Empty: there is no record. An error (`corrupt`) if it is not understood, as the next one.
  StoreResult<std::optional<StoredRecord>> record{std::optional<StoredRecord>{}};
  StoreResult<Counter> counter{Counter{}};
  std::string history{};  ///< the present one of a store that may lose its last writes (RecordVersion::history())
  bool inherited{false};  ///< what is stored belongs to an earlier history (LeaseRecord::inherited)
  std::optional<StoreError> over{};  ///< why the record's term is not renewed, although its version is as expected
  std::string warning{};             ///< what an operator must know when a token follows on this

  /// The answer to a read.
  [[nodiscard]] StoreResult<std::optional<LeaseRecord>> answer() const;
};

/// A pair as it was loaded; never null. Give out an object of a class derived from StoredLease that also has what must
/// be unchanged for a swap: an ETag, revisions, an epoch.
using LoadedLease = std::shared_ptr<const StoredLease>;

/// An operator's change of a record that may not be understood: the rest of it stays.
struct Correction {
  FencingToken token;
  std::string version;
};

/// A change of one pair.
struct Change {
  std::optional<StoredRecord> record{};  ///< written; empty: the record goes, or stays (see `keepsRecord`)
  std::optional<Counter> counter{};      ///< written; empty: it stays as it is
  bool keepsRecord{false};               ///< only the counter changes, and the record as `correction` says
  std::optional<Correction> correction{};
  bool inHistory{false};  ///< a renewal or release: only while the store's history is that of the loaded pair
  bool isFirst{false};  ///< makes the counter where nothing is stored; the write is decided once more when this is done
  Applied applied{};    ///< what the caller is answered

  [[nodiscard]] bool erasesRecord() const noexcept { return !record && !keepsRecord; }
};

/// Carries it out on a pair that was understood, all but the revision: what a swap has stored.
TENURE_API void apply(Change&& change, StoredLease& lease);

/// A part of one call of the store, which shares the call's time.
struct RegisterCall {
  LeaseKey key;
  std::string_view doing;  ///< for messages: "renewing"
  CallDeadline deadline;
  bool own{false};  ///< by the process that holds the lease or wants it, for itself

  /// `renewing lease billing`
  [[nodiscard]] std::string text() const { return std::string{doing} + " lease " + toString(key); }
};

/// Carried out; so it is stored now.
struct Swapped {
  LoadedLease now;
};

/// Something was not as it was loaded, so this swap is not carried out and never will be.
struct Differs {
  LoadedLease now{};         ///< null: the server did not say
  bool maybeApplied{false};  ///< another copy of the same swap may have been carried out before
};

/// `Rejected` only if no copy that was sent is or will be carried out. One that ended `Unknown` may be carried out any
/// time later. A server that shows the very version that the change writes has carried it out: `Swapped`.
using SwapOutcome = std::variant<Swapped, Differs, Rejected, Unknown>;

using LoadHandler = std::function<void(StoreResult<LoadedLease>)>;
using SwapHandler = std::function<void(SwapOutcome)>;
using ScanHandler = std::function<void(StoreResult<ListPage>)>;

/// Functions may be called from any thread, several at a time, and do not block. Each handler is called once, from any
/// thread, never inside the call that it was given to, within the call's time. Keys and changes are valid. A call is
/// one attempt: only the caller knows how much of the lease is left.
class TENURE_API Register {
 public:
  virtual ~Register() = default;

  /// For people, in logs and status: `Redis at cache-1:6379`. Constant. No secrets.
  [[nodiscard]] virtual const std::string& where() const noexcept = 0;

  /// Creates what the store needs if it is missing, and checks it if it exists. Safe in several processes at once.
  virtual void prepare(const CallDeadline& deadline, StatusHandler handler) = 0;

  /// The pair of one moment. Linearizable: it shows every swap that was answered before the load began.
  virtual void load(const RegisterCall& call, LoadHandler handler) = 0;

  /// Carries out `change`, which touches only what it names, if the record, and the counter if that is written, are as
  /// in `seen`. Both in one step; or the counter first, by a condition that no other acquisition can meet, so that a
  /// crash between the two leaves a gap in the tokens and repeats none. Parts of the pair that are not understood stay.
  virtual void swap(const RegisterCall& call, const LoadedLease& seen, Change change, SwapHandler handler) = 0;

  /// One part of all records whose names start with `prefix`, plain text: the first part if `from` is empty, otherwise
  /// that of the `next` before. A lease that exists during the whole listing comes exactly once.
  virtual void scan(const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                    ScanHandler handler) = 0;

  /// How many bytes of data and attributes a record has room for. More is refused before anything is sent.
  [[nodiscard]] virtual std::size_t mostPayload() const noexcept { return std::numeric_limits<std::size_t>::max(); }

  /// Calls `hint` soon after the lease was changed, for as long as the returned handle lives. Hints may be missed,
  /// doubled or late. `hint` returns at once, and no longer runs when the handle's destruction returns.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): registers that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) {
    return nullptr;
  }
};

}  // namespace stored

/// The store over a register, for groups, lock clients and tokens. The register lives until its calls are answered. The
/// scheduler's clock counts their time; null: sharedScheduler().
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeLeaseStore(std::shared_ptr<stored::Register> leases,
                                                                    std::shared_ptr<Scheduler> scheduler = nullptr);

}  // namespace tenure
