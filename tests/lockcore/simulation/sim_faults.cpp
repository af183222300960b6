// What befalls the processes and the store, drawn anew three times in each lease.
#include "lockcore/simulation/sim_world.hpp"

namespace tenure::test {

void SimWorld::tick() {
  if (!faults_) return;
  if (chance_.chance(plan_.outage)) {
    outageUntil_ = now_ + upTo(3 * lease_);
    checker_.count("outage");
    for (auto& process : processes_) {
      if (process->life) process->life->troubledUntil(outageUntil_);
    }
  }
  if (chance_.chance(plan_.erase) && store_.record()) {
    checker_.erased(*store_.record());
    checker_.count("record deleted");
    store_.erase();
    if (options_.trace) trace_ << now_.count() << " RECORD DELETED\n";
  }
  if (chance_.chance(plan_.operatorStepDown)) store_.requestStepDown();
  for (auto& process : processes_) {
    if (process->machine && !process->life->stopped) tickProcess(*process);
  }
  at(now_ + lease_ / 3, [this] { tick(); });
}

void SimWorld::tickProcess(Process& process) {
  SimLife& life = *process.life;
  if (chance_.chance(plan_.pause) || chance_.chance(plan_.suspend)) {
    const TrueTime length = upTo(3 * lease_);
    const bool asleep = chance_.chance(plan_.suspend / (plan_.pause + plan_.suspend));
    if (asleep) life.clock.suspend(now_, length);
    process.pausedUntil = now_ + length;
    life.troubledUntil(now_ + length);
    checker_.count(asleep ? "suspend" : "pause");
    note(process, (asleep ? "SUSPENDED for " : "PAUSED for ") + std::to_string(length.count()));
  }
  if (chance_.chance(plan_.crash)) return kill(process);
  if (chance_.chance(plan_.stepDown)) tell(process, now_, event::StepDown{"for a test"});
  if (chance_.chance(plan_.politeStop)) {
    process.restartWhenStopped = true;
    tell(process, now_, event::Stop{});
  }
  // A resource that had this process's write tells of the highest token that it has seen; mostly that is its own.
  if (chance_.chance(plan_.tokenTold) && store_.record()) {
    tell(process, now_ + upTo(lease_ / 10), event::TokenSeen{store_.record()->token});
  }
}

}  // namespace tenure::test
