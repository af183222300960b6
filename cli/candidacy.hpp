// One elector for the supervisor: its callbacks become tasks of the main thread.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <tenure/election/leader_elector.hpp>

#include "main_tasks.hpp"
#include "term_publisher.hpp"

namespace tenure::cli {

/// Held while the work of a term goes on; onElected returns when it is let go.
using WorkHandle = std::shared_ptr<std::promise<void>>;

/// All are called on the main thread, in the order in which things happened.
struct CandidacyEvents {
  std::function<void(const Leadership&, WorkHandle)> termBegan;
  /// The work must stop; may come for a term whose work has ended.
  std::function<void(FencingToken)> termEnds;
  std::function<void(const std::optional<LeaderInfo>&)> leaderSeen;
  /// After `stop`: it competes no more, and no callback comes.
  std::function<void(ReleaseResult)> stopped;
};

class Candidacy {
 public:
  /// Competes from now on; throws std::system_error if there can be no thread. `tasks` and `publisher` outlive it.
  /// Renewals are published without the main thread.
  Candidacy(const Group& group, CandidacyEvents events, MainTasks& tasks, TermPublisher& publisher);
  Candidacy(const Candidacy&) = delete;
  Candidacy& operator=(const Candidacy&) = delete;
  /// Waits for the end; not before the work of the term was let go.
  ~Candidacy();

  /// Begins to stop; `stopped` tells the end. Again: nothing.
  void stop();

  [[nodiscard]] ElectorStatus status() const { return elector_->status(); }

 private:
  void work(const Leadership& term);

  CandidacyEvents events_;
  MainTasks& tasks_;
  TermPublisher& publisher_;
  std::mutex mutex_;
  std::optional<Leadership> term_;  ///< guarded by mutex_: the callbacks beside onElected need it
  std::unique_ptr<LeaderElector> elector_;
  std::promise<bool> wish_;  ///< true: to stop; false: there is nothing to do any more
  bool wished_{false};
  std::thread stopper_;  ///< there from the start: where threads are few, none could be had when it is needed
};

}  // namespace tenure::cli
