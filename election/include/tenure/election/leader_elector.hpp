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

/// The knowledge of an elector about itself and about the leader.
struct ElectorStatus {
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
/// other call (stop() and the destructor too) returns at once and does nothing. The parent is not affected.
///
/// With CandidateMode::observe it never leads: onLeaderChanged and status() show the leader. See LeaderFollower, which
/// is made for that, for what an observer sees and what it costs.
///
/// A moved-from elector may only be destroyed or assigned to.
class TENURE_API LeaderElector {
 public:
  /// Does nothing yet; no request is made before start(). Throws std::invalid_argument for a group with shards; such a
  /// group is for ShardedElector. Throws std::system_error, which says what to raise, if the system has no thread or
  /// descriptor left that a term needs.
  explicit LeaderElector(Group group, Listener listener = {}, Runtime runtime = {});

  /// Calls stop(), then waits until no callback is running, nor one of the last term's stop token, and destroys the
  /// listeners. It waits at most as long as stop() may take. (If your scheduler does not run, it waits one second more,
  /// so that the work can be asked to stop at all.) If a callback is still running then, this is logged as an error,
  /// and no further callback begins, not even an onRevoked that is due.
  ///
  /// Called from one of its callbacks, or on a thread of your scheduler, it returns at once, and the rest happens
  /// on the scheduler later, within the same time. The loop below makeAsioScheduler may be destroyed before that, once
  /// its threads are joined: then the work is asked to stop, no further callback begins, and the lease expires.
  ~LeaderElector();
  LeaderElector(LeaderElector&&) noexcept;
  LeaderElector& operator=(LeaderElector&&) noexcept;

  /// Adds a listener; only before start() (throws std::logic_error after it). Listeners are called in the order of
  /// adding.
  void addListener(Listener listener);

  /// Starts competing and returns at once. A store that cannot be reached is retried until stop(), and status() shows
  /// it. A second call does nothing. An elector that was stopped cannot be started again (throws std::logic_error).
  void start();

  /// Gives leadership up in an orderly way if it is held: stop token, drain, release (I9). It stays a candidate, but
  /// does not compete for one lease duration, so that another candidate gets the lease. Returns at once. Does nothing
  /// if this candidate does not lead.
  ///
  /// `successor`: the name (CandidateOptions::id) of the candidate for which the lease is released; empty: for any.
  /// The others that saw the term leave it alone for one heartbeat from when they see the release; one that started
  /// later competes at once. A candidate that is dead, not ready or does not exist costs at most that heartbeat.
  /// Any candidate of that name may take the lease. Throws std::invalid_argument for this candidate's own name, and
  /// for a text that no candidate can have as its name.
  void stepDown(std::string why = {}, std::string successor = {});

  /// Whether this candidate may be elected; without a call it may. Call it before start() for a process that has to
  /// warm up. A candidate that is not ready sees who leads and shows its errors as ever, but does not
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
  /// `unknown` where the end did not come in time; only if its loop ends first, `done` is destroyed and not called.
  void requestStop(std::function<void(ReleaseResult)> done = {});

  /// Whether this process leads now, judged by the clock at this call. It can be true only after the election that
  /// onElected reports and before the deadline (I4). No lock, no allocation, under 100 ns. False does not mean that
  /// no other process leads.
  [[nodiscard]] bool isLeader() const noexcept;

  /// The token of the term if isLeader() is true, otherwise empty. Same cost.
  [[nodiscard]] std::optional<FencingToken> fencingToken() const noexcept;

  /// Time until isLeader() turns false unless the lease is renewed before; zero if this candidate does not lead.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  [[nodiscard]] ElectorStatus status() const;

  /// The view for monitoring. The first call starts the counts, which costs a renewal some tens of nanoseconds and the
  /// elector 30 kB; call it before start(), so that nothing is missed. `continues`: counts and events continue from
  /// that view of an elector which is destroyed, such as the one that this elector replaces. If both
  /// views were taken before start(), this elector also takes over what that one knew of its last term of the same
  /// lease: its fencing token, and the runs of its jobs.
  [[nodiscard]] ElectorView view(const ElectorView& continues = {});

  /// This candidate's unique text, `id#incarnation`.
  [[nodiscard]] const std::string& candidate() const noexcept;

 private:
  std::shared_ptr<ElectorImpl> impl_;
};

/// Blocks until the process gets SIGINT (Ctrl-C) or SIGTERM, and returns the number of that signal. Call it in main
/// once the elector has started, and stop the elector after it. The program may have threads already, and they may
/// block any signals.
///
/// - Before the call a signal has the effect that it has without tenure: by default it ends the process at once, and a
///   lease that is held expires. A signal that main or the parent process has blocked is not lost: the call returns at
///   once.
/// - During the call the program's handlers of the two signals are not called. SIGINT stays ignored if it was, as a
///   shell ignores it for its background jobs; SIGTERM does not.
/// - After the call both have their former effect, and this thread does not block them. So by default a second signal
///   ends a process whose work does not end.
///
/// A program that handles signals itself calls LeaderElector::requestStop instead. Throws std::logic_error if another
/// thread is in this call.
TENURE_API int waitForStopSignal();

}  // namespace tenure
