// LeaderFollower: tells a program who leads, without a candidacy.
#pragma once

#include <functional>
#include <optional>

#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// For programs that only need to know whom to ask: it never leads, writes no record and creates no table.
///
/// What it sees is what the record says, and it may be as old as the last look. A leader that has died is shown until
/// somebody else has taken the lease or an operator has cleared it away. So treat it as a hint: let the leader refuse
/// what it cannot do, and give it LeaderInfo::token, so that it can tell that it is not the one who was meant.
///
/// It reads the record as often as a candidate that waits: about once in each heartbeat (lease.heartbeat of its own
/// group, adapted to the leader's), a little after it. Where the store notifies of changes (LeaseStore::watch: SQLite
/// on this machine, memory), it also looks at each notice. For that the SQLite store keeps a file of this process in
/// the directory beside the database. With DynamoDB there are the reads alone.
///
/// Threads, fork() and moved-from objects: as for LeaderElector.
class TENURE_API LeaderFollower {
 public:
  /// Called with what the first look shows, and at each change: another holder, term or address, nobody. Empty: nobody
  /// leads. A holder may also be an operator's pause, under which nobody leads (pauseIn). One call at a time, in order,
  /// on the runtime's executor; it may block. Exceptions are logged.
  using Callback = std::function<void(const std::optional<LeaderInfo>&)>;

  /// Does nothing yet. Throws std::invalid_argument for a group with shards: each of these has a leader of its own. The
  /// candidate's priority, mode and reclaimAfter do not count.
  explicit LeaderFollower(const Group& group, Callback changed = {}, Runtime runtime = {});

  /// Begins to follow, and returns at once. A second call does nothing; after stop() it throws std::logic_error.
  void start() { elector_.start(); }
  /// Ends it, and waits at most one lease for callbacks that are running or due. In a callback it returns at once.
  void stop() { static_cast<void>(elector_.stop()); }

  /// The leader as last seen. Empty: nobody leads, or nothing was seen yet (LeaseStatus::leaderSeenAgo is negative).
  [[nodiscard]] std::optional<LeaderInfo> current() const { return status().leader; }
  /// Also tells the age of that knowledge, and what prevents a look.
  [[nodiscard]] LeaseStatus status() const { return elector_.status().lease; }

 private:
  LeaderElector elector_;
};

}  // namespace tenure
