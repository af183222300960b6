// The simulated processes, the network between them and the store, and the faults.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockcore/lease/lease_machine.hpp"
#include "simulation/sim_checker.hpp"
#include "simulation/sim_endpoint.hpp"
#include "simulation/sim_plan.hpp"
#include "simulation/sim_queue.hpp"

namespace tenure::test {

/// Single-threaded: one queue of events.
class SimWorld final : public SimSurroundings {
 public:
  explicit SimWorld(const SimOptions& options);
  ~SimWorld() override;
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  [[nodiscard]] SimReport run();

  // For the client of a simulated service (SimSurroundings).
  [[nodiscard]] Instant localNow(const SimLife& life) const override { return life.clock.at(now_); }
  [[nodiscard]] std::int64_t trueSeconds() const override { return now_ / std::chrono::seconds{1}; }
  [[nodiscard]] TrueTime trueTime() const override { return now_; }
  void runFor(std::size_t process, const SimLife& life, Nanos localDelay, Task task) override;
  void exchange(std::size_t process, SimLife& life, Nanos timeout, AtStore atStore, Task gaveUp) override;
  TrueTime deliver(std::size_t process, const SimLife& life, TrueTime notBefore, Task task) override;
  [[nodiscard]] StreamLie streamLie() override;
  void stored(SimLife& writer, const RecordVersion& version) override { stored(writer, version, truth_); }
  void stored(SimLife& writer, const RecordVersion& version, const SimTruth* store);
  void storedAtOldPrimary(SimLife& writer, const RecordVersion& version, FencingToken token) override;
  [[nodiscard]] bool isAtOldPrimary(std::size_t process) const override { return processes_[process]->atOld; }
  [[nodiscard]] std::size_t staleness() override { return 1 + streams_.load.below(3); }
  [[nodiscard]] bool weakReadIsStale() override { return faults_ && streams_.load.chance(0.8); }
  void misled(SimLife& life) override;
  void announced(const SimLife& challenger, FencingToken token) override {
    report_.points.hit(SimPoint::takeoverAnnounced);
    checker_.announced(challenger, token, lives());
  }
  void renewedAfterAnnouncement(const SimLife& holder) override {
    checker_.violation(holder, "announced", "renews a term whose takeover was announced");
  }
  void taken() override {
    if (truth_->record() && truth_->record()->released) last_.released = true;
  }

 private:
  /// A process slot: one candidate after another lives in it.
  struct Process {
    std::size_t number{0};
    std::uint64_t lives{0};
    std::unique_ptr<SimLife> life{};
    std::unique_ptr<SeededRandom> machineRandom{};
    std::unique_ptr<LeaseMachine> machine{};  // null: dead
    std::unique_ptr<SimEndpoint> endpoint{};  // its own store object, where it has one
    TrueTime startedAt{0};
    TrueTime pausedUntil{0};
    TrueTime wakeAt{-1};   // the next time when it wants to be woken; negative: never
    TrueTime alarmAt{-1};  // when the alarm checks that
    bool restartWhenStopped{false};
    bool cutOff{false};
    bool atOld{false};  // the old primary answers it
    TrueTime oneWayUntil{0};
    bool asleep{false};
    std::int64_t ledFrom{-1};                   // start of its leadership, for the timeline
    std::vector<SimLockClient> clients{};       // empty: its candidates are electors
    std::shared_ptr<const LeaseMemory> left{};  // by the previous candidacy
    std::size_t leftBy{0};                      // the index of that client
    std::vector<SimLife*> ended{};              // candidacies whose terms may still be valid
  };

  /// The last term that was given to a candidate, for the points.
  struct LastTerm {
    std::size_t process{0};
    bool crashed{false}, released{false}, foreign{false}, deleted{false};
    TrueTime deletedAt{-1};
  };

  // sim_world.cpp: time, lives, phases
  void at(TrueTime when, Task what) { queue_.push(std::max(when, now_), std::move(what)); }
  void runUntil(TrueTime end);
  /// A run ends at the first broken rule: what comes after it has no meaning.
  [[nodiscard]] bool failed() const { return !checker_.violations().empty(); }
  void makeStore();
  [[nodiscard]] FencingToken drawCounter();
  void runSafety();
  void runLiveness();
  void stopAll();
  void watchHeal(TrueTime from);
  void expectAdmittedLeaders();
  void start(Process& process);
  void startWithSighting(Process& process, event::Start begin);
  void kill(Process& process) { kill(process, 2 * lease_); }
  void kill(Process& process, TrueTime mostDown);
  /// Plans work for the present life of a process. The work waits while the process is paused, and is lost with it.
  template <class Work>
  void tellTask(Process& process, const SimLife* life, TrueTime when, Work task) {
    at(when, [this, &process, life, task = std::move(task)]() mutable {
      if (process.life.get() != life || !process.machine) return;
      if (now_ < process.pausedUntil) return tellTask(process, life, process.pausedUntil, std::move(task));
      task();
    });
  }
  void tell(Process& process, TrueTime when, LeaseEvent event);
  [[nodiscard]] const SimChecker::Lives& lives();
  [[nodiscard]] bool happens(FaultKind kind) { return faults_ && drawn(kind); }
  [[nodiscard]] bool drawn(FaultKind kind) {
    return plan_.has(kind) && streams_.faults[static_cast<std::size_t>(kind)].chance(plan_.rate(kind));
  }
  [[nodiscard]] SeededRandom& stream(FaultKind kind) { return streams_.faults[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] static TrueTime upTo(SeededRandom& random, TrueTime most) {
    return TrueTime{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.count()) + 1))};
  }
  void note(const Process& process, const std::string& text);
  void noteWorld(const std::string& text);
  void mark(const Process& process, const std::string& what);
  void span(const Process& process, TrueTime length, const std::string& what);

  // sim_actions.cpp: the machines, and what they ask for
  void step(Process& process, const LeaseEvent& event);
  void perform(Process& process, const LeaseAction& action, bool dropsOld);
  void performElected(Process& process, const action::Elected& elected);
  void performRevoked(Process& process, const action::Revoked& revoked);
  void planWakeup(Process& process);
  void setAlarm(Process& process);
  void work(Process& process, const SimLife* life, FencingToken token);
  void askToRenew(Process& process, std::optional<LeaseTiming> timing, std::optional<std::string> data = {});
  void renewByHand(Process& process, const SimLife* life, FencingToken token);
  void shown(Process& process, const LeaseEvent& event);
  void drawTerm(Process& process, const TermState& term);

  // sim_locks.cpp: candidacies of one term
  struct Turn {
    std::size_t client{0};
    std::shared_ptr<const LeaseMemory> predecessor{};
    Nanos waited{0};
  };
  void startLocks(Process& process);
  /// From now on the process competes as an elector does, as soon as it has released its lock.
  void endLocks(Process& process);
  [[nodiscard]] static std::string livenessFileOf(const Process& process);
  void beginCandidacy(Process& process, Turn turn);
  [[nodiscard]] SimLock drawLock(Nanos waited);
  [[nodiscard]] OneTerm oneTermOf(const SimLock& lock, SimLockClient& client);
  void boundWait(Process& process);
  void withdraw(Process& process);
  void hold(Process& process);
  void letGo(Process& process, const SimLife* life);
  void endCandidacy(Process& process, const action::Stopped& stopped);
  void nextCandidacy(Process& process, std::size_t client, bool inLine);

  // sim_points.cpp
  void noteStep(Process& process, LeaseState before, bool wasInDoubt, const LeaseEvent& event,
                const LeaseActions& actions);
  void noteElected(Process& process, LeaseState before, const LeaseEvent& event);
  void noteEnd(Process& process, LeaseState before, const LeaseEvent& event, const action::Revoked& revoked);
  void noteReply(Process& process, LeaseState before, const event::WriteReply& reply, bool renewed);
  void noteRead(Process& process, LeaseState before, const event::ReadReply& reply, bool renewed);
  void noteStop(Process& process, LeaseState before, const LeaseEvent& event, const LeaseActions& actions);

  // sim_network.cpp: requests and replies
  struct Fate {
    bool lost{false}, replyLost{false}, twice{false}, replyTwice{false}, late{false}, replyLate{false};
    AnswerFate answer{};
    [[nodiscard]] bool failed() const {
      return lost || replyLost || late || replyLate || twice || replyTwice || answer.failed();
    }
  };
  void sendRead(Process& process, const action::SendRead& read);
  void sendWrite(Process& process, const action::SendWrite& write);
  [[nodiscard]] Task givesUp(const Process& process, Attempt attempt, Task timeout) const;
  [[nodiscard]] ReadOutcome readAtStore(SimLife& life, const AnswerFate& fate);
  [[nodiscard]] WriteOutcome writeAtStore(SimLife& life, const AnswerFate& fate, const WriteRequest& request);
  [[nodiscard]] Fate drawFate(const Process& process);
  [[nodiscard]] TrueTime delay() {
    return plan_.leastDelay + upTo(streams_.network, plan_.mostDelay - plan_.leastDelay);
  }
  void hintAll();
  void watch(Process& process);
  void talk();

  // sim_failover.cpp
  void tickFailover();
  void promoteStandby(std::size_t lag);
  void promoteSoon();
  void beginFork();
  [[nodiscard]] bool losesTerms(const SimTruth::Promotion& promotion);
  void endFork(bool over);
  [[nodiscard]] SimStore& storeOf(SimLife& life);

  // sim_faults.cpp
  void tick();
  void tickRecord();
  void eraseRecord();
  void startNewcomer();
  void tellNonsense(Process& process);
  void tickForeign();
  void endForeign();
  void tickProcess(Process& process);
  void halt(Process& process);
  void haltInStep(Process& process);
  [[nodiscard]] LeaseRecord foreignRecord();
  [[nodiscard]] Successor drawSuccessor();

  const SimOptions options_;
  SimStreams streams_;
  const SimPlan plan_;
  TrueTime now_{0};
  const TrueTime lease_;
  TrueTime longest_;  // of any lease in this world
  SimReport report_;
  SimChecker checker_;
  std::unique_ptr<SimStore> simple_{};
  std::unique_ptr<SimService> service_{};
  SimTruth* truth_{nullptr};
  std::unique_ptr<SimStore> old_{};  // a primary that lives on after a promotion; a service keeps its own
  bool forked_{false};
  TrueTime forkUntil_{0};
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<SimLife>> graveyard_;
  SimChecker::Lives lives_;
  bool faults_{true};
  bool restarts_{true};
  TrueTime outageUntil_{0};
  TrueTime healedAt_{-1};
  LastTerm last_{};
  TrueTime lastWriteAt_{0};
  std::uint64_t nonsense_{1};  // the last token that was invented

  // The foreign client.
  RecordVersion foreignVersion_{};  // version of its record while it holds the lease
  std::string foreignSaw_{};
  TrueTime foreignSawAt_{0};
  TrueTime foreignLease_;

  SimQueue queue_;
  std::uint64_t atOnce_{0};
};

}  // namespace tenure::test
