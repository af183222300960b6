// One elector for the supervisor: its callbacks become tasks of the main thread.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <tenure/election/leader_elector.hpp>

#include "cli/group/routing.hpp"
#include "cli/process/wakeups.hpp"
#include "job_deadline.hpp"

namespace tenure::cli {

/// Held while the work of a term goes on; onElected returns when it is released.
using WorkHandle = std::shared_ptr<std::promise<void>>;

/// All are called on the main thread, in the order in which things happened.
struct CandidacyEvents {
  std::function<void(const Leadership&, WorkHandle)> termBegan;
  /// The work must stop. This may come for a term whose work has already ended.
  std::function<void(FencingToken)> termEnds;
  std::function<void(const std::optional<LeaderInfo>&)> leaderSeen;
  /// A renewal of this term was acknowledged. Empty: nobody wants to know.
  std::function<void(FencingToken)> renewed{};
  /// A renewal failed (true), or one succeeded after such a failure.
  std::function<void(bool)> doubted;
  /// After `stop`: the candidate does not compete any more, and no callback comes.
  std::function<void(ReleaseResult)> stopped;
};

class Candidacy {
 public:
  /// Competes from now on. Throws std::system_error if no thread can be started. `tasks` and `publisher` must outlive
  /// this object. Renewals are published without the main thread. `continues`: the view of the candidacy before.
  /// `routing` is called on a callback thread. `ready`: see setReady.
  Candidacy(const Group& group, CandidacyEvents events, MainTasks& tasks, TermPublisher& publisher,
            const ElectorView& continues = {}, Routing routing = {}, bool ready = true);
  Candidacy(const Candidacy&) = delete;
  Candidacy& operator=(const Candidacy&) = delete;
  /// Waits for the end. The work of the term must have been released before.
  ~Candidacy();

  /// Begins to stop; `stopped` reports the end. A second call does nothing.
  void stop();

  /// As LeaderElector::setReady.
  void setReady(bool ready, const std::string& why) { elector_->setReady(ready, why); }

  [[nodiscard]] const ElectorView& view() const noexcept { return view_; }
  [[nodiscard]] ElectorStatus status() const { return elector_->status(); }

 private:
  void work(const Leadership& term);

  CandidacyEvents events_;
  const Routing routing_;
  MainTasks& tasks_;
  TermPublisher& publisher_;
  std::mutex mutex_;
  std::optional<Leadership> term_;  ///< guarded by mutex_, because callbacks beside onElected use it
  std::unique_ptr<LeaderElector> elector_;
  ElectorView view_;
  std::promise<bool> wish_;  ///< true: stop; false: there is nothing more to do
  bool wished_{false};
  std::thread stopper_;  ///< started at once: where threads are few, none might be available when it is needed
};

}  // namespace tenure::cli
