// LeaderFollower: shows a program the leader, without a candidacy.
#pragma once

#include <functional>
#include <optional>

#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// For programs that only need to know the leader: it never leads, writes no record and creates no table.
///
/// It reports the record as of its last read. A leader that has died is shown until another candidate has taken the
/// lease or an operator has removed the record. Treat it as a hint: let the leader refuse what it cannot do, and send
/// it LeaderInfo::token, by which it knows whether it is the one that was meant.
///
/// The record is read as often as by a candidate that waits: about once in each heartbeat (the lease.heartbeat of
/// this group, adapted to the leader's), and at each notice of a change:
/// - sqlite: notices within one machine; the store keeps a file of this process in the directory next to the database
/// - postgresql: notices, except behind a pooler in transaction mode without `store.listen`
/// - etcd, kubernetes: a watch; kubernetes needs the rights `list` and `watch`
/// - dynamodb: no notices, the reads alone
///
/// Threads, fork() and moved-from objects: as for LeaderElector.
class TENURE_API LeaderFollower {
 public:
  /// Called with the result of the first read, and at each change of holder, term or address. Empty: there is no
  /// leader. The holder may also be an operator's pause, under which no candidate leads (pauseIn). One call at a time,
  /// in order, on the runtime's executor; it may block. Exceptions are logged.
  using Callback = std::function<void(const std::optional<LeaderInfo>&)>;

  /// Does nothing yet. Throws std::invalid_argument for a group with shards: each of these has its own leader. The
  /// candidate's priority, mode and reclaimAfter do not count.
  explicit LeaderFollower(const Group& group, Callback changed = {}, Runtime runtime = {});

  /// Begins to follow, and returns at once. A second call does nothing; after stop() it throws std::logic_error.
  void start() { elector_.start(); }
  /// Ends it, and waits at most one lease for callbacks that are running or due. In a callback it returns at once.
  void stop() { static_cast<void>(elector_.stop()); }

  /// The leader as last seen. Empty: no leader, or no read has succeeded yet (LeaseStatus::leaderSeenAgo is negative).
  [[nodiscard]] std::optional<LeaderInfo> current() const { return status().leader; }
  /// Includes the age of that knowledge, and the error that prevents a read.
  [[nodiscard]] LeaseStatus status() const { return elector_.status().lease; }

 private:
  LeaderElector elector_;
};

}  // namespace tenure
