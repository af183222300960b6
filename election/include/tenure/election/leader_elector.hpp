// LeaderElector: keeps competing for one lease until it is stopped.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <tenure/election/group.hpp>
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// What an elector knows of itself and of the leader.
struct ElectorStatus {
  std::string group;
  std::string candidate;  ///< unique text, as in the record
  std::string store;      ///< LeaseStore::describe()
  std::optional<FencingToken> fencingToken{};
  std::chrono::nanoseconds remaining{0};
  LeaseStatus lease{};
};

/// Keeps competing for its group's lease (I10): no error, lost race or outage ends that; only stop() does.
///
/// Threads: every method may be called from any thread, callbacks included. Distinct electors are independent; a
/// process may have thousands, which share one renewal thread.
///
/// fork(): in a child process isLeader() is false, fencingToken() is empty, and whatever else is called (stop() and the
/// destructor included) returns at once and does nothing; the parent is not affected.
///
/// A moved-from elector may be destroyed or assigned to, nothing else.
class LeaderElector {
 public:
  /// Does nothing yet; no request is made before start(). Throws std::invalid_argument for a group with shards, which
  /// is for ShardedElector.
  explicit LeaderElector(Group group, Listener listener = {}, Runtime runtime = {});

  /// stop(), then waits until no callback is running, at most as long as stop() may take (one second more if your
  /// scheduler stands still, so that the work can be told at all), and destroys the listeners. A callback that is
  /// running even then is logged as an error; no further one is begun, not even an onRevoked that is due.
  /// Called from one of its own callbacks it returns at once and the rest happens after the callback. Else nothing of
  /// the library touches your scheduler once it has returned, but for a task that is running there just then: stop and
  /// join your loop's threads, then destroy the loop.
  ~LeaderElector();
  LeaderElector(LeaderElector&&) noexcept;
  LeaderElector& operator=(LeaderElector&&) noexcept;

  /// One more listener; before start() only (throws std::logic_error after it). Called in the order of adding.
  void addListener(Listener listener);

  /// Starts competing and returns at once. A store that cannot be reached is retried for ever and shown in status().
  /// A second call does nothing; an elector that was stopped cannot be started again (throws std::logic_error).
  void start();

  /// Gives leadership up politely if it is held: stop token, drain, release (I9), and stays a candidate that does not
  /// compete for one lease duration so that another gets it. Returns at once. Does nothing if it does not lead.
  void stepDown(std::string why = {});

  /// Ends the candidacy: stop token, onRevoked, drain (at most lease.drain_timeout), release. Returns when done, at
  /// most drain timeout + one lease (+ 1 s) after the call. Again: waits for the same end and returns the same result;
  /// `unknown` if the end did not come in that time. In one of the elector's own callbacks, or on a thread of a
  /// scheduler of yours, it is requestStop() and returns `unknown`: waiting would wait for itself.
  ReleaseResult stop();

  /// Begins what stop() does and returns at once; for signal-handling threads and event loops.
  void requestStop();

  /// Whether this process leads now, by the clock, at this call. True only between onElected's cause and the deadline
  /// (I4). No lock, no allocation, about 70 ns. False does not mean that nobody else leads.
  [[nodiscard]] bool isLeader() const noexcept;

  /// The token of the term if isLeader(), else empty. Same cost.
  [[nodiscard]] std::optional<FencingToken> fencingToken() const noexcept;

  /// Time until isLeader() turns false unless the lease is renewed before; zero if it does not lead.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  [[nodiscard]] ElectorStatus status() const;

  /// This candidate's unique text, `id#incarnation`.
  [[nodiscard]] const std::string& candidate() const noexcept;

 private:
  friend class ShardedElector;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
