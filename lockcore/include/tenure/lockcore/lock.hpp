// A held lock, as a handle, and the options of locks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lock_error.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// Options as the user gives them; LockClient's constructor checks them.
struct LockClientOptions {
  /// As GroupOptions::candidate.id: a name that people recognise. 128 random bits make it unique for each client.
  /// Empty: the host name.
  std::string candidate{};
  /// The default timing of each lock. lease.progressTimeout must be unset: it is not for locks.
  LeaseOptions lease{};
  /// The number of keys for which tryAcquire remembers what it saw. Beyond that the oldest key is forgotten; the only
  /// cost is that the wait for this key starts again. About 700 bytes each. 0 .. 1,000,000.
  std::size_t remembered{10'000};
  Logger logger{};
};

/// Options of one acquisition. `AcquireOptions{}` waits without limit, uses the client's timing and stores no data with
/// the lock.
struct AcquireOptions {
  /// How long this lock lasts after its last renewal; see LeaseOptions::duration. Unset: the client's.
  std::optional<std::chrono::milliseconds> lease{};
  /// How often it is renewed; see LeaseOptions::heartbeat. Unset: the client's, or lease / 3 if `lease` is set.
  std::optional<std::chrono::milliseconds> heartbeat{};
  /// No heartbeats in the background: only Lock::renew() and its variants renew the lock.
  bool manualHeartbeat{false};

  /// How long to compete. Unset: without limit. 0: a single attempt, as tryAcquire. At most 24 h.
  std::optional<std::chrono::milliseconds> waitFor{};
  /// How often the present holder is expected to renew, if that differs from this lock's heartbeat. It sets the
  /// interval of the first polls; the client then learns the real interval. 10 ms .. 24 h.
  std::optional<std::chrono::milliseconds> poll{};

  /// How long the clients of this process that share a store object may keep the lock among themselves, by releasing
  /// it and acquiring it again. After that, the process yields: its next acquisition waits for `yieldFor` before it
  /// competes, so that other processes, which poll or must first be notified, get the lock. Unset: it never yields.
  /// 0: after each release. At most 24 h. It never yields for longer than `waitFor`, so a single attempt never does.
  std::optional<std::chrono::milliseconds> maxConsecutiveHold{};
  /// How long the process then yields, counted from its last release. Unset: as long as others with these options may
  /// take until their next read: 5/4 of the heartbeat, or of four polls if that is less. 50 ms is enough where the
  /// store sends notifications. At most 24 h.
  std::optional<std::chrono::milliseconds> yieldFor{};

  /// Bytes to be kept with the lock. Unset: the data in the record stays.
  std::optional<std::string> data{};
  /// False: `data` is only written if the record has none.
  bool replaceData{true};
  /// Further attributes of the record; they replace all that are there. Empty: the record's attributes stay. The store
  /// refuses names that the protocol uses.
  std::map<std::string, std::string> attributes{};
  /// Never create a record: for a key without one the answer is LockErrc::missing, at once.
  bool mustExist{false};
  /// The release removes the record instead of marking it. A candidate that has seen the record then waits one lease,
  /// because a record that vanishes says nothing about its holder. Meant for keys that are not used again.
  bool deleteOnRelease{false};

  friend bool operator==(const AcquireOptions&, const AcquireOptions&) = default;
};

/// Options of Lock::renew. Each field that is set is in the record once the call has succeeded, and later heartbeats
/// keep it.
struct RenewOptions {
  /// A new lease duration. If it is longer, it counts for this holder from the store's acknowledgement; if it is
  /// shorter, from the sending. Background heartbeats follow it: lease / 3.
  std::optional<std::chrono::milliseconds> lease{};
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`

  friend bool operator==(const RenewOptions&, const RenewOptions&) = default;
};

/// Options of Lock::release.
struct ReleaseOptions {
  /// Bytes to be left with the lock. Unset: the data in the record stays.
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`
  /// Remove the record instead of marking it; unset: as AcquireOptions::deleteOnRelease said.
  std::optional<bool> deleteRecord{};
  /// How long to wait for the store's answer; the release continues in the background after that. Unset: one lease and
  /// a second. 0: do not wait.
  std::optional<std::chrono::milliseconds> waitFor{};

  friend bool operator==(const ReleaseOptions&, const ReleaseOptions&) = default;
};

class LockSession;  // internal

/// One term of one lock. Only a LockClient makes one that is held. It is renewed in the background until it is
/// released, destroyed, or lost; a lost lock never comes back: acquire it again, which gives a new term with a higher
/// token.
///
/// Threads: everything but moving and destroying may be called from any thread, also from callbacks. A call that blocks
/// says so below. On a thread of the client's own scheduler it does not wait, but returns `wouldBlock` or
/// ReleaseResult::unknown.
///
/// A handle that was released, or moved from, holds nothing: isHeld() is false, and calls that need the lock return
/// LockErrc::notHeld. A handle may outlive its client; the client releases the lock when it closes. In a forked child
/// no lock is held, and no call has an effect.
class TENURE_API Lock {
 public:
  /// Holds nothing, as one that was moved from. Coroutines that return a LockResult<Lock> need it.
  Lock() noexcept = default;
  /// Calls release({}), so it may block for a round trip, for at most one lease and a second. Does not throw.
  ~Lock();
  Lock(Lock&& other) noexcept;
  /// Releases the lock that this handle held before.
  Lock& operator=(Lock&& other) noexcept;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// The number of this term; stamp every downstream write with it. It is constant; none (0) if moved from.
  [[nodiscard]] FencingToken fencingToken() const noexcept;

  /// Whether this term still holds the lock, judged by the clock at this call. It is false from the moment the work was
  /// asked to stop, and turns false on time even if every thread of the library is blocked. No lock, no allocation, no
  /// I/O.
  [[nodiscard]] bool isHeld() const noexcept;
  /// Whether the lease of this term is still valid. It stays true longer than isHeld(), by lease.stopMargin, while the
  /// work ends.
  [[nodiscard]] bool isValid() const noexcept;
  /// Time until isHeld() turns false, unless the lease is renewed before. Never negative.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
  /// Fires when the work must stop: the lock was lost, released, or its client closed. Stop callbacks run on a thread
  /// of the library that only runs those. They must not throw and should be short.
  [[nodiscard]] std::stop_token stopToken() const noexcept;

  /// Calls `callback` once if the lock ends without this handle being released, even if it has already ended. The
  /// callback runs on the client's callback executor, in order with the lock's other callbacks, never inside this call,
  /// never under a mutex of the library. It may block and may call anything; its exceptions are contained and logged.
  /// It may still come or run when the handle is gone, but not when the client is gone (see ~LockClient). When the
  /// client closes, the release waits for the callback, for at most lease.drainTimeout.
  void onLost(std::function<void(const TermEnd&)> callback);
  /// Calls `callback` with the remaining time when remaining() has fallen to `before`, once for each time that it falls
  /// so low. If heartbeats run, that only happens when they fail. `before` must be more than 0, and less than what
  /// is left just before a heartbeat (lease - clockMargin - stopMargin - heartbeat; with manual heartbeats no heartbeat
  /// is subtracted). The callback runs as onLost's does.
  [[nodiscard]] LockResult<void> onExpiring(std::chrono::milliseconds before,
                                            std::function<void(std::chrono::nanoseconds)> callback);
  /// Why the lock ended, if it was lost.
  [[nodiscard]] std::optional<TermEnd> loss() const;

  /// Renews now, with changes if there are any, and blocks until the store has acknowledged the renewal: at most
  /// remaining(). While the store fails, the renewal is tried again. LockErrc::lost says that the lock is over. Then
  /// the changes may or may not be in the record, as with any write that was not answered. If the store refuses the
  /// data for good (no permission, no room), LockError::store says why; the lock is kept, with a changed lease and with
  /// the data that it had before.
  LockResult<void> renew(RenewOptions options = {});
  /// The same without blocking. `done` is called once, as callbacks are; inside this call where the handle holds
  /// nothing.
  void renewAsync(RenewOptions options, std::function<void(LockResult<void>)> done);
  /// Makes the lease longer by `by`, starting now, in one renewal.
  LockResult<void> extend(std::chrono::milliseconds by);
  /// Makes sure that remaining() is at least `least`: renews if less is left. If that fails, an error says why. It
  /// never changes the lease duration: asking for more than the lease can give is LockErrc::invalidOptions.
  LockResult<void> ensure(std::chrono::milliseconds least);

  /// The data of the lock: as it was when acquired, or as this handle changed it last. Empty if there is none.
  [[nodiscard]] std::string data() const;
  LockResult<void> setData(std::string data) { return renew({.data = std::move(data)}); }
  LockResult<void> clearData() { return renew({.clearData = true}); }
  /// The record's further attributes, as they were when the lock was acquired.
  [[nodiscard]] const std::map<std::string, std::string>& attributes() const noexcept;
  /// The lease duration in the record, as far as the store has acknowledged it.
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept;
  [[nodiscard]] const LeaseKey& key() const noexcept;
  /// The key's name, and below it the candidate's unique text. TermStamp::of needs both.
  [[nodiscard]] const std::string& leaseName() const noexcept;
  [[nodiscard]] const std::string& holder() const noexcept;

  /// Another handle of the same term, for a callee that needs its own handle. The lock is given up when the last
  /// handle is released. LockErrc::notHeld or lost if this handle holds nothing.
  [[nodiscard]] LockResult<Lock> share() const;

  /// Gives the lock up. From this call on isHeld() is false. Never throws. The release is always best effort: it is
  /// retried while the lease lasts, and the result says what is known. `released`: the record is free. `notHeld`: the
  /// lock was lost before, or this handle was moved from. `unknown`: no answer came in the time to wait. `shared`:
  /// other handles of the term still hold the lock. Blocks as `waitFor` says. A second call gives the same result at
  /// once (or a better one that has arrived since).
  ReleaseResult release(const ReleaseOptions& options = {}) noexcept;
  /// The same without blocking: `done` is called once, as callbacks are, when the result is known; at the latest when
  /// the lease has ended. `waitFor` does not count.
  void releaseAsync(const ReleaseOptions& options, std::function<void(ReleaseResult)> done);

  /// Call this when a resource refused this term's write because it has seen the token `seen`. If `seen` is higher than
  /// this term's token, the lock is lost, and the next token will be higher than `seen` (I7). A value that is too high
  /// to be true (maxReportedStep) is only logged.
  void reportStaleToken(FencingToken seen) const;

 private:
  friend class LockSession;
  explicit Lock(std::shared_ptr<LockSession> session) noexcept;
  void letGo() noexcept;
  /// Whether this handle was neither moved from nor released.
  [[nodiscard]] bool isHandle() const noexcept { return session_ && !released_.load(); }

  std::shared_ptr<LockSession> session_;
  std::atomic<bool> released_{false};      ///< this handle was released
  std::atomic<bool> leftToOthers_{false};  ///< and others of the term held the lock then
};

}  // namespace tenure
