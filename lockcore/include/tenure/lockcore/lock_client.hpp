// LockClient: thousands of locks over one store, for short critical sections and for long-lived locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lock.hpp>
#include <tenure/lockcore/lock_error.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

class LeaseStore;

enum class LeaseViewState {
  absent,    ///< there is no record
  released,  ///< the last holder gave it up
  held,      ///< a record names a holder; only new versions show whether the holder lives
  corrupt,   ///< a record is there that is not understood; LeaseView::error() says why
};

/// A copy of what the store had at one moment. It has no power: it releases nothing and renews nothing. Its numbers are
/// for people. The term's number has another type than a fencing token, because a program that stamped its writes with
/// it would pose as the holder.
class TENURE_API LeaseView {
 public:
  LeaseView(LeaseKey key, StoreResult<std::optional<LeaseRecord>> stored) : key_{std::move(key)} {
    if (stored.has_error()) {
      error_ = stored.error();
    } else if (*stored && !(*stored)->vanished) {
      record_ = **std::move(stored);
    }
  }

  [[nodiscard]] const LeaseKey& key() const noexcept { return key_; }
  [[nodiscard]] LeaseViewState state() const noexcept {
    if (error_) return LeaseViewState::corrupt;
    if (!record_) return LeaseViewState::absent;
    return record_->released ? LeaseViewState::released : LeaseViewState::held;
  }
  [[nodiscard]] bool isHeld() const noexcept { return state() == LeaseViewState::held; }

  /// For `corrupt`.
  [[nodiscard]] const std::optional<StoreError>& error() const noexcept { return error_; }

  // These describe the present or last holder; empty or zero if there is no record, or none that is understood.
  [[nodiscard]] std::string holder() const { return record_ ? record_->holder : std::string{}; }
  [[nodiscard]] std::uint64_t termNumber() const noexcept { return record_ ? record_->token.value() : 0; }
  /// The record version number, new at each heartbeat. It has no order and proves nothing.
  [[nodiscard]] std::string version() const { return record_ ? record_->version.text() : std::string{}; }
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept {
    return record_ ? record_->leaseDuration : std::chrono::milliseconds{0};
  }
  [[nodiscard]] std::string data() const { return record_ ? record_->data : std::string{}; }
  [[nodiscard]] std::map<std::string, std::string> attributes() const {
    return record_ ? record_->attributes : std::map<std::string, std::string>{};
  }
  /// Wall-clock milliseconds since 1970, as the holder's machine wrote them; 0: not known.
  [[nodiscard]] std::int64_t acquiredAtMillis() const noexcept { return record_ ? record_->acquiredAtMillis : 0; }
  [[nodiscard]] std::int64_t renewedAtMillis() const noexcept { return record_ ? record_->renewedAtMillis : 0; }

 private:
  LeaseKey key_;
  std::optional<LeaseRecord> record_{};
  std::optional<StoreError> error_{};
};

/// The result of each lock when its client closed. No lock is left out, even if another one failed.
struct TENURE_API CloseReport {
  std::map<LeaseKey, ReleaseResult> locks{};  ///< those that were held, or being acquired

  /// Whether no lock was left behind that has to expire.
  [[nodiscard]] bool clean() const noexcept;
};

/// Follows one key without ever competing for it, until its last copy or its client is destroyed. After either no
/// callback begins. One that is running then is waited for by ~LockClient alone.
class TENURE_API LeaseObserver {
 public:
  /// The holder of the lock now, as far as it was seen; the optional is empty if there is none.
  using Callback = std::function<void(const std::optional<LeaderInfo>&)>;
  /// The same at this call; empty also once the observer has ended.
  [[nodiscard]] std::optional<LeaderInfo> holder() const;

 private:
  friend class LockClient;
  class Impl;
  explicit LeaseObserver(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}
  std::shared_ptr<Impl> impl_;
};

/// Acquires, renews and releases locks in one store, as one candidate. Distinct clients are distinct candidates, also
/// in one process and with the same name. One client holds a key at most once. A further acquisition is refused at once
/// (LockErrc::heldBySelf), because it would wait for itself; pass the Lock on, or Lock::share() it. Threads that must
/// exclude each other need a mutex, or a client each.
///
/// Threads: every method may be called from any thread. Blocking methods do not block on a thread of the client's own
/// scheduler, but return LockErrc::wouldBlock. All locks of a process share one renewal thread. Each lock has
/// its own heartbeats, and slow heartbeats of another lock do not delay them (I12).
///
/// fork(): in a child process nothing is held, calls return LockErrc::forked or do nothing (acquireAsync's `done` gets
/// the error inside the call); the parent is not affected.
///
/// A moved-from client may only be destroyed or assigned to.
class TENURE_API LockClient {
 public:
  /// Makes no request. Throws std::invalid_argument with all faults of the options, or if `store` is null, and
  /// std::system_error, which says what to raise, if the system has no thread or descriptor left that a lock needs.
  explicit LockClient(std::shared_ptr<LeaseStore> store, LockClientOptions options = {}, Runtime runtime = {});
  /// Calls close(), then waits until no callback is queued or running, also none of locks that ended before. Both
  /// together take no longer than close() may.
  ~LockClient();
  LockClient(LockClient&&) noexcept;
  LockClient& operator=(LockClient&&) noexcept;

  /// Competes for the lock until it is won, or as long as `options.waitFor` says. Errors of the store that may pass are
  /// retried in that time. Options and key are checked completely before anything is done. Without `waitFor` only a won
  /// lock, `missing`, `cancelled` and `closed` end the call. Blocks. `waitFor` is a bound whatever the store and the
  /// scheduler do. LockErrc::unknown says that an acquisition was under way and that its outcome is not known.
  ///
  /// Without competition it costs one read and one write of the store, or only the write if this client was the last to
  /// release the lock.
  [[nodiscard]] LockResult<Lock> acquire(const LeaseKey& key, AcquireOptions options = {});
  /// Tries once, without waiting; LockErrc::held names the holder. It remembers the version that it saw (see
  /// LockClientOptions::remembered), so a program that tries once a second wins the lock of a dead holder after about
  /// one lease. `options.waitFor` is ignored. It takes as long as the store takes, at most 5 s.
  [[nodiscard]] LockResult<Lock> tryAcquire(const LeaseKey& key, AcquireOptions options = {});
  /// As acquire, but without blocking. `done` is called once, on the callback executor, never inside this call, and
  /// waits for no other callback: several may run at once. It may destroy the client. A stop of `cancel` ends the
  /// acquisition with LockErrc::cancelled, unless it is already decided. A write that it has begun by then is undone by
  /// a release in the background. If no thread of the library is left to run `done` within one lease, a lock that was
  /// acquired is released; `done` then gets LockErrc::lost with the reason notStarted. The lock is held until your own
  /// executor runs `done`.
  void acquireAsync(const LeaseKey& key, AcquireOptions options, std::function<void(LockResult<Lock>)> done,
                    std::stop_token cancel = {});

  /// Acquires all of them or none, one after the other in the order of the keys. All programs share this order, so two
  /// programs that want the same locks never wait for each other in a circle. The locks are returned in the order of
  /// `keys`; a key that is named twice is refused. If one fails, or is lost while the others are waited for
  /// (LockErrc::lost), those already won are released, all at once.
  /// `options.waitFor` is a bound for all of this together, but for twice 25 ms in which answers may still come; 0 is a
  /// single attempt at each, within 5 s for all. A lock that is not released by then is released in the background, as
  /// long as its lease lasts. The error names it, and close() waits for it. Blocks.
  [[nodiscard]] LockResult<std::vector<Lock>> acquireAll(std::vector<LeaseKey> keys,
                                                         const AcquireOptions& options = {});

  /// Runs `body(const Lock&)` under the lock and returns what it returned. Exceptions of `body` pass through; the lock
  /// is released in both cases.
  template <class Body>
  [[nodiscard]] auto withLock(const LeaseKey& key, Body&& body, AcquireOptions options = {})
      -> LockResult<std::invoke_result_t<Body, const Lock&>>;

  /// Whether this client holds it now, by the clock. No I/O.
  [[nodiscard]] bool holds(const LeaseKey& key) const;
  /// The keys that it holds now, in order.
  [[nodiscard]] std::vector<LeaseKey> held() const;

  /// The present record of a key: one read. LockErrc::recordCorrupt for a record that is not understood.
  /// Blocks for at most one lease (LockClientOptions::lease).
  [[nodiscard]] LockResult<LeaseView> peek(const LeaseKey& key);
  /// All leases whose name starts with `prefix`, in key order. A record that is not understood has a view too
  /// (`corrupt`), next to the good ones. Blocks for at most one lease.
  [[nodiscard]] LockResult<std::vector<LeaseView>> list(const std::string& prefix);
  /// As list, for more leases than fit well into memory. `each` is called in this thread for one lease after the other,
  /// and ends the scan by returning false. Needs one call of the store for each of its pages (1 MB on DynamoDB, 1,000
  /// leases on SQLite) and keeps one page at a time. The order is the store's own: by key on SQLite, none on DynamoDB.
  /// An error is returned after `each` was called for everything before it. Blocks for at most one lease a page.
  [[nodiscard]] LockResult<void> scan(const std::string& prefix, const std::function<bool(const LeaseView&)>& each);
  /// Follows the key. Calls `changed` (which may be empty) when another candidate holds it, or none; the callback runs
  /// as Lock::onLost's does. Costs about one read in each heartbeat, or one for each change where the store sends
  /// notifications.
  [[nodiscard]] LockResult<LeaseObserver> observe(const LeaseKey& key, LeaseObserver::Callback changed = {});

  /// Ends acquisitions under way, asks the work of each lock to stop (stop token, onLost with reason `stopped`), then
  /// releases all locks at once. Each release is independent: an error of one prevents none of the others. Returns when
  /// all are done, at most lease.drainTimeout + the longest lease + 1 s after the call. A second call gives the same
  /// report. In a callback of one of its locks or observers, or on a thread of its scheduler, it returns at once
  /// and reports `unknown` for each release that is not done.
  CloseReport close();

  /// This candidate's unique text, as in the records.
  [[nodiscard]] const std::string& candidate() const noexcept;
  [[nodiscard]] const std::shared_ptr<LeaseStore>& store() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

template <class Body>
auto LockClient::withLock(const LeaseKey& key, Body&& body, AcquireOptions options)
    -> LockResult<std::invoke_result_t<Body, const Lock&>> {
  LockResult<Lock> lock = acquire(key, std::move(options));
  if (lock.has_error()) return lock.error();
  if constexpr (std::is_void_v<std::invoke_result_t<Body, const Lock&>>) {
    std::forward<Body>(body)(static_cast<const Lock&>(*lock));
    return {};
  } else {
    return std::forward<Body>(body)(static_cast<const Lock&>(*lock));
  }
}

}  // namespace tenure
