// The simulated processes, the network between them and the store, and the faults.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_machine.hpp>

#include "lockcore/simulation/sim_checker.hpp"
#include "lockcore/simulation/sim_plan.hpp"
#include "lockcore/simulation/simulation.hpp"

namespace tenure::test {

/// Single-threaded: one queue of things to happen, ordered by true time and then by when they were planned.
class SimWorld {
 public:
  explicit SimWorld(const SimOptions& options);

  [[nodiscard]] SimReport run();

 private:
  using Nanos = std::chrono::nanoseconds;

  /// A process slot: one candidate after another lives in it.
  struct Process {
    std::size_t number{0};
    std::uint64_t lives{0};
    std::unique_ptr<SimLife> life;
    std::unique_ptr<SeededRandom> machineRandom;
    std::unique_ptr<LeaseMachine> machine;  // null: dead
    TrueTime pausedUntil{0};
    std::uint64_t wakeup{0};  // the one that counts; older ones are cancelled
    bool restartWhenStopped{false};
  };

  /// How one request fares.
  struct Fate {
    bool lost, replyLost, twice, replyTwice, late, replyLate, rejected, unknown, hidden, corrupt;
    [[nodiscard]] bool troubled() const {
      return lost || replyLost || late || replyLate || rejected || unknown || corrupt || twice || hidden;
    }
  };

  // sim_world.cpp: time, lives, the machines
  void at(TrueTime when, std::function<void()> what);
  void runUntil(TrueTime end);
  void start(Process& process);
  void kill(Process& process);
  /// An event for the present life of a process; it waits while the process is paused, and is lost with it.
  void tell(Process& process, TrueTime when, LeaseEvent event);
  void step(Process& process, const LeaseEvent& event);
  void perform(Process& process, const LeaseAction& action, bool dropsOld);
  void planWakeup(Process& process);
  void note(const Process& process, const std::string& text);
  [[nodiscard]] SimChecker::Lives lives() const;

  // sim_network.cpp: requests and replies
  void sendRead(Process& process, const action::SendRead& read);
  void sendWrite(Process& process, const action::SendWrite& write);
  void deliver(Process& process, const Fate& fate, Nanos timeout, const std::function<LeaseEvent()>& atStore,
               LeaseEvent gaveUp);
  [[nodiscard]] ReadOutcome readAtStore(const Fate& fate) const;
  [[nodiscard]] WriteOutcome writeAtStore(const Fate& fate, const WriteRequest& request);
  [[nodiscard]] Fate drawFate();
  [[nodiscard]] TrueTime delay();
  [[nodiscard]] TrueTime upTo(TrueTime most) {
    return TrueTime{chance_.below(static_cast<std::uint64_t>(most.count()) + 1)};
  }
  void hintAll();
  void shown(SimLife& life, const LeaseEvent& event);

  // sim_faults.cpp
  void tick();
  void tickProcess(Process& process);

  const SimOptions options_;
  SeededRandom chance_;
  SimPlan plan_;
  TrueTime now_{0};
  TrueTime lease_;
  SimStore store_;
  SimChecker checker_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<SimLife>> graveyard_;
  bool faults_{true};
  bool restarts_{true};
  TrueTime outageUntil_{0};

  struct Planned {
    TrueTime when;
    std::uint64_t order;
    std::shared_ptr<std::function<void()>> what;
    friend bool operator<(const Planned& a, const Planned& b) {
      return a.when != b.when ? a.when > b.when : a.order > b.order;  // priority_queue: the least on top
    }
  };
  std::priority_queue<Planned> queue_;
  std::uint64_t order_{0};
  std::uint64_t digest_{14695981039346656037ULL};
  std::ostringstream trace_;
};

}  // namespace tenure::test
