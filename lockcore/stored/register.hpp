// What a store is to the protocol: a register of pairs, a record and a fencing counter for each lease. A store reads a
// pair and swaps it; the rule of every write is in decisions.hpp, and how a call becomes reads and swaps in
// register_store.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "decisions.hpp"
#include "lockcore/runtime/call_deadline.hpp"
#include "stored_lease.hpp"

namespace tenure::stored {

/// What was read of a lease. A register gives out an object of a class derived from StoredLease, which also has what
/// must be unchanged for a swap to be carried out: revisions, values, a resourceVersion. Never null.
using LoadedLease = std::shared_ptr<const StoredLease>;

/// What a look is doing, for messages. A look by a process that does not hold the lease may wait.
inline constexpr std::string_view reading = "reading";

/// A part of one call of the store, which shares the call's time.
struct RegisterCall {
  LeaseKey key;
  std::string_view doing;  ///< for messages: "renewing"
  CallDeadline deadline;
  /// By the process that holds the lease or wants it, for itself: the record shows by its version whether a copy of a
  /// swap was carried out.
  bool own{false};

  /// `renewing lease billing`
  [[nodiscard]] std::string text() const { return std::string{doing} + " lease " + toString(key); }
};

/// Carried out; so it is stored now.
struct Swapped {
  LoadedLease now;
};

/// Something was not as it was loaded, so this swap is not carried out and never will be.
struct Differs {
  LoadedLease now{};         ///< null: the server did not tell
  bool maybeApplied{false};  ///< another copy of the same swap may have been carried out before
};

/// `Rejected` only if no copy that was sent is or will be carried out. What ended `Unknown` may be carried out any time
/// later.
using SwapOutcome = std::variant<Swapped, Differs, Rejected, Unknown>;

struct ScannedPage {
  ListPage page{};
  std::size_t bytes{0};  ///< of the server's answer; 0: they need no bound
};

using LoadHandler = std::function<void(StoreResult<LoadedLease>)>;
using SwapHandler = std::function<void(SwapOutcome)>;
using ScanHandler = std::function<void(StoreResult<ScannedPage>)>;

/// Functions may be called from any thread, several at a time, and do not block. Each handler is called once, from any
/// thread, never inside the call that it was given to, within the call's time. Keys and changes are valid.
class TENURE_API Register {
 public:
  virtual ~Register() = default;

  /// As LeaseStore::describe().
  [[nodiscard]] virtual const std::string& where() const noexcept = 0;

  /// As LeaseStore::ensureSchema().
  virtual void prepare(const CallDeadline& deadline, StatusHandler handler) = 0;

  /// Record and counter of one moment. Linearizable.
  virtual void load(const RegisterCall& call, LoadHandler handler) = 0;

  /// Carries out `change`, which touches only what it names, in one step and only if the record, and the counter if
  /// that is written, are as in `seen`. What is not understood in them is not understood by the change either.
  virtual void swap(const RegisterCall& call, const LoadedLease& seen, Change change, SwapHandler handler) = 0;

  /// As LeaseStore::listPage(). The prefix is plain text.
  virtual void scan(const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                    ScanHandler handler) = 0;

  /// The tokens as they are stored, even where they are malformed.
  [[nodiscard]] virtual StoreResult<StoredTokens> tokensOf(const LeaseKey& key, const StoredLease& lease) const = 0;

  /// What the store itself has no room for, beyond the limits of all stores.
  [[nodiscard]] virtual OptionFaults faultsOfPayload(const std::string& /*data*/,
                                                     const std::map<std::string, std::string>& /*attributes*/) const {
    return {};
  }

  /// Whether what was read is kept for a while, so that an acquisition that follows is one request.
  [[nodiscard]] virtual bool keepsReads() const noexcept { return false; }

  /// For a register with hints of its own: as LeaseStore::watch().
  // NOLINTNEXTLINE(performance-unnecessary-value-param): registers that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) {
    return nullptr;
  }
  /// As LeaseStore::deathNotice().
  [[nodiscard]] virtual std::shared_ptr<DeathNotice> deathNotice() { return nullptr; }
  /// Before the first request of a write. It may put a handler in front of the one that gets the outcome. An error: the
  /// write must not be sent.
  [[nodiscard]] virtual StoreStatus beforeWrite(const WriteRequest& /*request*/, WriteHandler& /*handler*/) {
    return {};
  }

  /// For a register whose stream of hints shows what is stored: what it last showed of a lease that another process
  /// holds. It may be late. Null: the server is to be asked.
  [[nodiscard]] virtual LoadedLease shown(const LeaseKey& /*key*/) { return nullptr; }
  /// The lease is watched, and was loaded just now.
  virtual void loadedWatched(const LeaseKey& /*key*/, const StoredLease& /*lease*/) {}
  /// What was shown of it counts no longer: this process writes it, or does not watch it any longer.
  virtual void forgetShown(const LeaseKey& /*key*/) {}
};

}  // namespace tenure::stored
