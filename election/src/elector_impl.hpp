// The inside of LeaderElector: passes the driver's notices to the listeners, in order and never on the scheduler.
// elector_impl.cpp: start, stop and destruction. elector_notices.cpp: the notices that it gets and passes on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <tenure/election/leader_elector.hpp>

#include "listener_set.hpp"
#include "lockcore/driver/candidate_context.hpp"
#include "lockcore/runtime/callback_lane.hpp"
#include "lockcore/runtime/patience.hpp"
#include "notice_queue.hpp"
#include "reclaim_requests.hpp"
#include "term_handle.hpp"

namespace tenure {

/// What an elector is given if it is one of several in a sharded election.
struct ElectorPart {
  std::string candidate{};                             ///< its unique text; empty: the elector makes one
  std::string data{};                                  ///< for its records
  std::function<void(const LeaseNotice&)> onNotice{};  ///< on the scheduler, after the elector has taken it
  std::optional<LeaseKey> key{};                       ///< its lease; empty: the one that has the group's name
  std::function<bool()> isInside{};                    ///< the calling thread does the elector's work elsewhere
};

/// What waits for the end of a stop.
using StopDone = std::function<void(ReleaseResult)>;

/// Posts them to `lane`. An exception that leaves one ends the process.
inline void answerStop(std::vector<StopDone> waiting, ReleaseResult result, CallbackLane& lane) {
  for (StopDone& done : waiting) lane.post([done = std::move(done), result]() noexcept { done(result); });
}

class TENURE_API ElectorImpl : public std::enable_shared_from_this<ElectorImpl> {
 public:
  [[nodiscard]] static std::shared_ptr<ElectorImpl> make(Group group, Listener listener, Runtime runtime,
                                                         ElectorPart part = {});
  ElectorImpl(Group group, Listener listener, Runtime runtime, const std::shared_ptr<Scheduler>& scheduler,
              ElectorPart part);
  ~ElectorImpl();
  ElectorImpl(const ElectorImpl&) = delete;
  ElectorImpl& operator=(const ElectorImpl&) = delete;

  void addListener(Listener listener);
  /// `sighting`: what was seen of the lease before.
  void start(std::optional<LeaseSighting> sighting = {});
  void stepDown(std::string why, std::string successor = {});
  void setReady(bool ready, std::string why) {
    const bool stepsDown = group_.options().candidate.onUnready == OnUnready::stepDown;
    driver_->submit(event::SetReady{ready, stepsDown, why.empty() ? "this candidate is not ready" : std::move(why)});
  }
  /// `done`, if there is one, is called on a lane, never inside this call.
  void requestStop(StopDone done = {});
  ReleaseResult stop();
  /// The user's handle is destroyed.
  void abandon();
  /// The same, but waits no longer than `patience`; as abandonAll().
  void abandon(const Patience& patience);
  /// The same for several, where something may wait. If a scheduler stands still, their callbacks, which were asked to
  /// stop only after `patience`, have one second more, all of them together.
  static void abandonAll(const std::vector<std::shared_ptr<ElectorImpl>>& electors, const Patience& patience);
  /// The same where nothing may wait.
  void leave(const Patience& patience);
  /// The scheduler keeps `owner` until this has stopped (see LeaseDriver::keep). No callback begins after `patience`.
  void keep(std::shared_ptr<void> owner, const Patience& patience) {
    listeners_.muteAfter(patience);
    driver_->keep(std::move(owner), patience.left());
  }
  /// No callback is running or due.
  [[nodiscard]] bool isIdle() const { return termLane_->isIdle() && noticeLane_->isIdle(); }

  /// True where waiting would wait for the caller itself.
  [[nodiscard]] bool mustNotBlock() const {
    return termLane_->isCurrent() || noticeLane_->isCurrent() || driver_->isOnScheduler() ||
           (part_.isInside && part_.isInside());
  }

  /// In the child of a fork an elector neither leads nor renews.
  [[nodiscard]] bool isHere() const noexcept { return context_->mark.isHere(); }
  [[nodiscard]] TermState termState() const noexcept { return isHere() ? cell_->load() : TermState{}; }
  [[nodiscard]] Instant now() const noexcept { return context_->clock->now(); }
  [[nodiscard]] ElectorStatus status() const;
  [[nodiscard]] bool isAcquiring() const { return driver_->status().state == LeaseState::acquiring; }
  /// The part of the status that needs no lock.
  [[nodiscard]] ElectorStatus statusWithoutLease() const;
  [[nodiscard]] ElectorView view(const ElectorView& continues);
  /// Shows that nothing is led.
  [[nodiscard]] ElectorView viewInChild() const;
  [[nodiscard]] const std::string& candidate() const noexcept { return context_->candidate; }
  [[nodiscard]] bool observes() const noexcept { return group_.options().candidate.mode == CandidateMode::observe; }

 private:
  enum class Phase { fresh, started, stopping };

  void connect(std::shared_ptr<Scheduler> scheduler);
  [[nodiscard]] std::shared_ptr<ReclaimRequests> reclaimRequests();
  void closeDriver();
  /// Those that wait for the stop get its result; as long as there is none, `orElse`.
  void answerStops(std::optional<ReleaseResult> orElse = {});
  [[nodiscard]] ElectorView viewOn(std::shared_ptr<LeaseAccount> account) const;
  [[nodiscard]] std::optional<ReleaseResult> awaitStopped(const Patience& patience);
  [[nodiscard]] bool endWithin(const Patience& patience);
  void awaitCallbacks(const Patience& patience);

  // On the scheduler.
  void take(const LeaseNotice& notice);
  void on(const action::Publish& /*read where it is published*/) {}
  void on(const action::Elected& elected);
  void on(const action::Renewed& renewed);
  void on(const action::Recorded& recorded);
  void on(const action::InDoubt& doubt);
  void on(const action::Revoked& revoked);
  void on(const action::LeaderChanged& changed);
  void on(const action::VacancyExpected& vacancy) {
    tell(&Listener::onVacancyExpected, VacancyNotice{vacancy.remaining});
  }
  void on(const action::GaveUp& /*of a lock*/) {}
  void on(const action::Stopped& stopped);
  [[nodiscard]] std::shared_ptr<TermHandle> termOf(const action::Elected& elected);
  void stateSelf(const TermHandle& term) const;
  [[nodiscard]] std::shared_ptr<TermWatch> watched(const std::shared_ptr<TermHandle>& term) const;
  [[nodiscard]] bool leads(const std::shared_ptr<TermHandle>& term) const;
  void lookAtWork(const std::weak_ptr<TermHandle>& of, std::chrono::nanoseconds after);
  void dropLookAtWork();
  void watchLostWork(const std::shared_ptr<TermHandle>& term);
  template <class Callback>
  void tell(Callback Listener::*callback, Notice notice);

  [[nodiscard]] std::shared_ptr<TermHandle> takeTerm();
  void endTerm(const std::shared_ptr<TermHandle>& term, TermEnd why);

  // On a lane.
  void runElected(const std::shared_ptr<TermHandle>& term);
  void runRevoked(const std::shared_ptr<TermHandle>& term, const TermEnd& why);
  void runNotices();
  void run(const Doubt& doubt) { listeners_.call("onInDoubt", &Listener::onInDoubt, doubt); }
  void run(const Renewal& renewal) { listeners_.call("onRenewed", &Listener::onRenewed, renewal); }
  void run(const LeaderNotice& notice) {
    listeners_.call("onLeaderChanged", &Listener::onLeaderChanged, notice.leader);
  }
  void run(const VacancyNotice& notice) {
    listeners_.call("onVacancyExpected", &Listener::onVacancyExpected, notice.remaining);
  }

  void log(LogLevel level, const std::string& line, LogEvent event = LogEvent::message,
           std::initializer_list<LogField> fields = {}) const;

  // Constant after construction (listeners_: after start, until the end).
  const Group group_;
  std::unique_ptr<RandomSource> random_;  ///< until connect() hands it to the driver
  const ElectorPart part_;
  const LeaseKey key_;
  const std::shared_ptr<const CandidateContext> context_;
  const std::shared_ptr<CallbackLane> termLane_;    ///< onElected, onRevoked
  const std::shared_ptr<CallbackLane> noticeLane_;  ///< the others
  ListenerSet listeners_;
  std::shared_ptr<LeaseDriver> driver_{};
  std::shared_ptr<const TermCell> cell_{};
  std::shared_ptr<ReclaimRequests> reclaims_{};  ///< null: candidate.reclaim_after is not set

  /// lookAtWork(); on the scheduler only. A timer that is left would keep the user's loop running after the end.
  std::optional<Scheduler::TimerId> workTimer_{};

  NoticeQueue notices_{};
  /// The highest token of a term whose onRevoked has returned.
  std::atomic<std::uint64_t> endedTerm_{0};

  mutable std::mutex mutex_;  ///< guards what follows; never held while user code runs
  std::condition_variable stopped_{};
  Phase phase_{Phase::fresh};
  std::optional<ReleaseResult> result_{};
  bool answering_{false};  ///< who waits for the result is not in the lane of notices yet
  std::vector<StopDone> stopWaits_{};
  std::shared_ptr<DocumentWrites> documents_{};  ///< from the first term on; set on the scheduler
  ElectorView view_{};                           ///< empty until somebody asks
  std::shared_ptr<TermHandle> term_{};           ///< the term whose work was not told to stop yet
  std::shared_ptr<TermHandle> endedLast_{};      ///< the last one whose work was told to stop
  bool abandoned_{false};                        ///< the handle was destroyed where nothing may wait
};

/// How long stop() may take, counted from its call.
[[nodiscard]] inline Patience patienceOfStop(const LeaseTiming& timing) {
  return Patience{timing.drainTimeout() + timing.duration() + std::chrono::seconds{1}};
}

}  // namespace tenure
