// What the stores of this tree offer beyond LeaseStore. Users' stores get it from the store behind them, or the
// defaults.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_store.hpp>

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
struct StoredTokens {
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

/// An operator, or another candidate, asks the holder of one term to give leadership up.
struct StepDownRequest {
  FencingToken token;     ///< of that term
  Successor successor{};  ///< for whom it is to release the lease; the request that came last decides
};

using PageOutcome = StoreResult<ListPage>;
using PageHandler = std::function<void(PageOutcome)>;
using TokensHandler = std::function<void(StoreResult<StoredTokens>)>;

/// Each function has a default that suits any store.
class TENURE_API ExtendedStore : public LeaseStore {
 public:
  /// Every reason why this store could never write such a record, found without a request, so that a caller is refused
  /// before anything is sent. Empty: no reason is known; a write may be refused all the same. This base version finds
  /// what holds for every store. A store adds its own limits, and the names that its layout keeps for itself.
  [[nodiscard]] virtual OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                                     const std::map<std::string, std::string>& attributes) const;

  /// One part of what list() would give, for callers that do not want all of it in memory. It is the first part if
  /// `from` is empty, otherwise the part that begins at the `next` of the part before. Entries come in the store's own
  /// order, and a part may be empty. A lease that exists during the whole listing comes exactly once. Optional: by
  /// default everything comes as one part.
  virtual void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler);

  /// All leases of this very name, whatever their sort keys, in key order. By default the leases that list() gives for
  /// this name as its prefix, without those of longer names.
  virtual void listName(std::string name, CallOptions options, ListHandler handler);

  /// requestStepDown(), which may name a successor: the record states it from then on, unless the release names another
  /// one. A store of a user cannot name any, and answers `Rejected` then.
  virtual void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                                  WriteHandler handler) = 0;
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    requestStepDownFor(key, {token}, options, std::move(handler));
  }

  /// Whether the leases of a group that has several, such as a sharded election, are leases of one name here: the
  /// group's, with sort keys that distinguish them. true: list() has to read much more than what it returns, listName()
  /// does not, and each lease may have a sort key. false: they are named `group/...`, and list() finds them.
  /// Constant.
  [[nodiscard]] virtual bool keepsGroupsTogether() const noexcept { return false; }

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

  /// Calls `hint` soon after all records may have gone at once: the store's file was removed, renamed or replaced. This
  /// is for holders. They need no watch(), because their own heartbeats would wake them, and without this they would
  /// notice the loss only at their next heartbeat. Optional, and otherwise as watch().
  // NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do watch keep it
  [[nodiscard]] virtual std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) { return nullptr; }

  /// Proof by the kernel that a holder on this machine is gone; null if the store has no such proof or it is switched
  /// off.
  [[nodiscard]] virtual std::shared_ptr<DeathNotice> deathNotice() { return nullptr; }
};

/// The same store with all that it offers: itself if it is of this tree; otherwise its own calls, and for the rest the
/// store behind it or the defaults. Null stays null.
[[nodiscard]] TENURE_API std::shared_ptr<ExtendedStore> extended(std::shared_ptr<LeaseStore> store);

/// For calls that begin while `store` lives.
[[nodiscard]] inline std::shared_ptr<ExtendedStore> extended(LeaseStore& store) {
  return extended(std::shared_ptr<LeaseStore>{std::shared_ptr<void>{}, &store});
}

/// A store in front of another one: forwards every call. What derives from it overrides only what it changes.
class ForwardingStore : public ExtendedStore {
 public:
  explicit ForwardingStore(std::shared_ptr<LeaseStore> behind) : behind_{extended(std::move(behind))} {}

  [[nodiscard]] std::string describe() const override { return behind_->describe(); }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    behind_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    behind_->write(std::move(request), options, std::move(handler));
  }
  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    return behind_->faultsOfPayload(key, data, attributes);
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    behind_->list(std::move(prefix), options, std::move(handler));
  }
  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    behind_->listPage(std::move(prefix), std::move(from), options, std::move(handler));
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    behind_->listName(std::move(name), options, std::move(handler));
  }
  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return behind_->keepsGroupsTogether(); }
  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    behind_->requestStepDownFor(key, std::move(request), options, std::move(handler));
  }
  void remove(const LeaseKey& key, RecordVersion seen, CallOptions options, WriteHandler handler) override {
    behind_->remove(key, std::move(seen), options, std::move(handler));
  }
  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    behind_->readTokens(key, options, std::move(handler));
  }
  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    behind_->setTokens(key, std::move(expected), token, options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return behind_->watch(key, std::move(hint));
  }
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return behind_->watchLoss(std::move(hint));
  }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override { return behind_->deathNotice(); }

 protected:
  const std::shared_ptr<ExtendedStore> behind_;
};

}  // namespace tenure
