// A held lock, as a handle.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lock_error.hpp>
#include <tenure/lockcore/lock_options.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

class LockSession;  // internal

/// One term of one lock. Only a LockClient makes one. It is renewed in the background until it is released, destroyed,
/// or lost; a lost lock never comes back: acquire anew, for a new term with a higher token.
///
/// Threads: all but moving and destroying may be called from any thread, callbacks included. What blocks says so; on a
/// thread of the client's own scheduler it does not wait, and says `wouldBlock` or ReleaseResult::unknown.
///
/// A handle that was released, or moved from, holds nothing: isHeld() is false, calls that need the lock return
/// LockErrc::notHeld. A lock may outlive its client, which releases it when it closes. In a forked child no lock is
/// held, and nothing that is called has an effect.
class Lock {
 public:
  /// release({}), and so it may block for a round trip, at most one lease and a second. Does not throw.
  ~Lock();
  Lock(Lock&& other) noexcept;
  /// Releases what it held before.
  Lock& operator=(Lock&& other) noexcept;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// The number of this term; stamp every downstream write with it. Constant; none (0) if moved from.
  [[nodiscard]] FencingToken fencingToken() const noexcept;

  /// Whether this term still holds the lock, judged by the clock at this call: false from the moment the work was told
  /// to stop, and on time even if every thread of the library is blocked. No lock, no allocation, no I/O.
  [[nodiscard]] bool isHeld() const noexcept;
  /// Whether the lease of this term is still valid. True a little longer than isHeld(), by lease.stopMargin, while the
  /// work winds up.
  [[nodiscard]] bool isValid() const noexcept;
  /// Time until isHeld() turns false unless the lease is renewed before. Never negative.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
  /// Fires when the work must stop: the lock was lost, released, or its client closed. Stop callbacks run on a thread
  /// of the library's that does nothing else; they must not throw and should be short.
  [[nodiscard]] std::stop_token stopToken() const noexcept;

  /// Calls `callback` once if the lock ends without this handle being released, also if it has ended so already. On the
  /// client's callback executor, in order with the lock's other callbacks, never inside this call, never under a mutex
  /// of the library. It may block and may call anything; exceptions are contained and logged. When the client closes,
  /// the release waits for it, at most lease.drainTimeout.
  void onLost(std::function<void(const TermEnd&)> callback);
  /// Calls `callback` with what remains when remaining() has fallen to `before`: once for each time that it falls so
  /// low. Where heartbeats run that only happens when they fail. `before` must be more than 0 and less than what is
  /// left just before a heartbeat (lease - guard - stopMargin - heartbeat; with manual heartbeats: no heartbeat is
  /// taken off). Contract as onLost.
  [[nodiscard]] LockResult<void> onExpiring(std::chrono::milliseconds before,
                                            std::function<void(std::chrono::nanoseconds)> callback);
  /// Why it ended, if it was lost.
  [[nodiscard]] std::optional<TermEnd> loss() const;

  /// Renews now, with changes if there are any, and blocks until the store has acknowledged it: at most remaining().
  /// While the store fails it is tried again; LockErrc::lost tells that the lock is over. What was set is then either
  /// in the record or not, as with any write that was not answered.
  LockResult<void> renew(RenewOptions options = {});
  /// The same without blocking. `done` is called once, as callbacks are.
  void renewAsync(RenewOptions options, std::function<void(LockResult<void>)> done);
  /// Makes the lease longer by `by`, from now on, in one renewal.
  LockResult<void> extend(std::chrono::milliseconds by);
  /// Afterwards remaining() is at least `least`, or an error tells why not: renews if less is left. It never changes
  /// the lease: more than the lease can give is LockErrc::invalidOptions.
  LockResult<void> ensure(std::chrono::milliseconds least);

  /// The data beside the lock: as it was acquired, or as this handle changed it last. Empty if there is none.
  [[nodiscard]] std::string data() const;
  LockResult<void> setData(std::string data) { return renew({.data = std::move(data)}); }
  LockResult<void> clearData() { return renew({.clearData = true}); }
  /// The record's further attributes as it was acquired.
  [[nodiscard]] const std::map<std::string, std::string>& attributes() const noexcept;
  /// The lease duration that is in the record, as far as the store has acknowledged it.
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept;
  [[nodiscard]] const LeaseKey& key() const noexcept;
  /// The key's name and the candidate's unique text, as TermStamp::of wants them.
  [[nodiscard]] const std::string& leaseName() const noexcept;
  [[nodiscard]] const std::string& holder() const noexcept;

  /// Another handle of the same term, for a callee that wants to hold "its own": the lock is given up when the last one
  /// is released. LockErrc::notHeld or lost if this one holds nothing.
  [[nodiscard]] LockResult<Lock> share() const;

  /// Gives the lock up. From this call on isHeld() is false. Never throws; best effort is how it always works: it is
  /// retried while the lease lasts, and the result tells what is known. `released`: the record is free. `notHeld`: it
  /// was lost before, or this handle was moved from. `unknown`: no answer in the time to wait. `shared`: other handles
  /// of the term hold on. Blocks as `waitFor` says. Again: the same result at once (or a better one that came since).
  ReleaseResult release(const ReleaseOptions& options = {}) noexcept;

  /// A resource refused this term's write because it has seen `seen`: if that is higher than this term's token, the
  /// lock is lost, and the next token higher than `seen` (I7). One made up (maxReportedStep) is logged, no more.
  void reportStaleToken(FencingToken seen) const;

 private:
  friend class LockSession;
  explicit Lock(std::shared_ptr<LockSession> session) noexcept;
  void letGo() noexcept;
  /// Not moved from, not released.
  [[nodiscard]] bool isHandle() const noexcept { return session_ && given_.load() == Given::no; }

  enum class Given : char { no, up, back };  ///< whether this handle was released; back: others hold on
  std::shared_ptr<LockSession> session_;
  std::atomic<Given> given_{Given::no};
};

}  // namespace tenure
