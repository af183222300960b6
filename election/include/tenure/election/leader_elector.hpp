// LeaderElector: keeps competing for one lease until it is stopped.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tenure/election/elector_view.hpp>
#include <tenure/election/group.hpp>
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

class ElectorImpl;

/// What an elector knows about itself and about the leader.
struct TENURE_API ElectorStatus {
  std::string group;
  std::string candidate;  ///< unique text, as in the record
  std::string store;      ///< LeaseStore::describe()
  std::optional<FencingToken> fencingToken{};
  std::chrono::nanoseconds remaining{0};
  LeaseStatus lease{};
};

/// Keeps competing for its group's lease (I10). No error, lost race or outage ends that; only stop() does.
///
/// Threads: every method may be called from any thread, also from callbacks. Distinct electors are independent; a
/// process may have thousands, which share one renewal thread.
///
/// fork(): in a child process isLeader() is false, fencingToken() is empty, and view() shows that nothing is led. Every
/// other call (also stop() and the destructor) returns at once and does nothing. The parent is not affected.
///
/// With CandidateMode::observe it never leads: onLeaderChanged and status() tell who does. See LeaderFollower, which is
/// made for that, for what an observer sees and what it costs.
///
/// A moved-from elector may only be destroyed or assigned to.
class TENURE_API LeaderElector {
 public:
  /// Does nothing yet; no request is made before start(). Throws std::invalid_argument for a group with shards; such a
  /// group is for ShardedElector. Throws std::system_error, which says what to raise, if the system has no thread or
  /// descriptor left that a term needs.
  explicit LeaderElector(Group group, Listener listener = {}, Runtime runtime = {});

  /// Calls stop(), then waits until no callback is running, nor one of the last term's stop token, and destroys the
  /// listeners. It waits at most as long as stop() may take. (If your scheduler stands still, it waits one second more,
  /// so that the work can be told to stop at all.) If a callback is still running then, this is logged as an error, and
  /// no further callback begins, not even an onRevoked that is due.
  ///
  /// Called from one of its own callbacks, or on a thread of your scheduler, it returns at once, and the rest happens
  /// on the scheduler later, within the same time. The loop below makeAsioScheduler may be destroyed before that, once
  /// its threads are joined: then the work is told to stop, no further callback begins, and the lease ends by itself.
  ~LeaderElector();
  LeaderElector(LeaderElector&&) noexcept;
  LeaderElector& operator=(LeaderElector&&) noexcept;

  /// Adds a listener; only before start() (throws std::logic_error after it). Listeners are called in the order of
  /// adding.
  void addListener(Listener listener);

  /// Starts competing and returns at once. A store that cannot be reached is retried for ever, and status() shows it. A
  /// second call does nothing. An elector that was stopped cannot be started again (throws std::logic_error).
  void start();

  /// Gives leadership up in an orderly way if it is held: stop token, drain, release (I9). It stays a candidate, but
  /// does not compete for one lease duration, so that another candidate gets the lease. Returns at once. Does nothing
  /// if this candidate does not lead.
  void stepDown(std::string why = {});

  /// Whether this candidate may be elected; it may until it is told otherwise. Call it before start() for a process
  /// that has to warm up. A candidate that is not ready sees who leads and shows its errors as ever, but does not
  /// acquire the lease. If an acquisition was under way at this call and wins, the lease is released at once, before
  /// any callback. A leader that turns unready does what CandidateOptions::onUnready says; `why` is then the detail of
  /// onRevoked. Returns at once. The last call counts. status().lease.ready shows it.
  void setReady(bool ready, std::string why = {});

  /// Ends the candidacy: stop token, onRevoked, drain (at most lease.drain_timeout), release. Returns when this is
  /// done, at most drain timeout + one lease (+ 1 s) after the call. A second call waits for the same end and returns
  /// the same result; `unknown` if the end did not come in that time. In one of the elector's own callbacks, or on a
  /// thread of a scheduler of yours, it acts as requestStop() and returns `unknown`, because it would wait for itself.
  ReleaseResult stop();

  /// Begins what stop() does, and returns at once; for signal-handling threads and event loops. `done`, if there is
  /// one, is called once with the result when all of it is done, after the other callbacks of the same end and as they
  /// are: on the executor, never inside this call (in a forked child inside it, with `notHeld`). It may destroy the
  /// elector. It must not throw: that ends the process. If the elector is destroyed first, it is called as well, with
  /// `unknown` where the end did not come in time; only with a loop that ends first `done` goes, and is not called.
  void requestStop(std::function<void(ReleaseResult)> done = {});

  /// Whether this process leads now, judged by the clock at this call. It can be true only after the election that
  /// onElected reports and before the deadline (I4). No lock, no allocation, about 70 ns. False does not mean that
  /// nobody else leads.
  [[nodiscard]] bool isLeader() const noexcept;

  /// The token of the term if isLeader() is true, else empty. Same cost.
  [[nodiscard]] std::optional<FencingToken> fencingToken() const noexcept;

  /// Time until isLeader() turns false unless the lease is renewed before; zero if this candidate does not lead.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  [[nodiscard]] ElectorStatus status() const;

  /// What monitoring reads. The first call begins to count, which costs a renewal some tens of nanoseconds and the
  /// elector 30 kB; call it before start(), so that nothing is missed. `continues`: counts and events go on from that
  /// view of an elector which is destroyed, such as the one that this elector replaces.
  [[nodiscard]] ElectorView view(const ElectorView& continues = {});

  /// This candidate's unique text, `id#incarnation`.
  [[nodiscard]] const std::string& candidate() const noexcept;

 private:
  std::shared_ptr<ElectorImpl> impl_;
};

}  // namespace tenure
