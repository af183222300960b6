// What happens to the processes and the store, drawn again three times in each lease.
#include "lockcore/port/random_draws.hpp"
#include "simulation/sim_world.hpp"

namespace tenure::test {

void SimWorld::tick() {
  if (!faults_) return;
  if (happens(FaultKind::outage)) {
    outageUntil_ = now_ + upTo(streams_.load, 3 * lease_);
    noteWorld("OUTAGE for " + std::to_string((outageUntil_ - now_).count()));
    for (auto& process : processes_) {
      if (process->life) process->life->disturbedUntil(outageUntil_);
    }
  }
  tickFailover();
  tickRecord();
  tickForeign();
  for (auto& process : processes_) {
    if (!process->machine) continue;
    checker_.boundHolds(*process->life);
    if (!process->life->stopped) tickProcess(*process);
  }
  at(now_ + lease_ / 3, [this] { tick(); });
}

void SimWorld::eraseRecord() {
  if (!truth_->record() || truth_->counterLost()) return;
  const LeaseRecord gone = *truth_->record();
  if (!truth_->erase()) return;
  checker_.erased(gone, 8 * longest_);
  promoteSoon();
  last_.deleted = true;
  last_.deletedAt = now_;
  foreignVersion_ = RecordVersion{};
  checker_.foreignHolds(TrueTime{0}, lives());
  noteWorld("RECORD DELETED");
  if (happens(FaultKind::newcomer)) startNewcomer();
}

/// A candidate that knows nothing of the record that was just deleted.
void SimWorld::startNewcomer() {
  for (auto& process : processes_) {
    if (!process->machine || process->life->published.validAt(process->life->clock.at(now_))) continue;
    return kill(*process, lease_ / 20);
  }
}

/// Reports by anybody who may write to a resource: any token, the last tokens that exist, or steps at the limit of what
/// is believed, each above the true token or above the last report.
void SimWorld::tellNonsense(Process& process) {
  SeededRandom& random = stream(FaultKind::nonsenseToken);
  const std::uint64_t few = random.below(5);
  const std::uint64_t truth = truth_->record() ? truth_->record()->token.value() : 0;
  const std::uint64_t drawn[] = {random.next(), maxFencingToken.value() - 2 + few, truth + maxReportedStep - 2 + few,
                                 nonsense_ + maxReportedStep, nonsense_};
  nonsense_ = std::max<std::uint64_t>(drawn[random.below(5)], 1);
  tell(process, now_ + upTo(streams_.load, lease_ / 10), event::TokenSeen{FencingToken{nonsense_}});
}

/// While the counter is lost, only the record's copy tells its value. So the record is not deleted until the counter is
/// back.
void SimWorld::tickRecord() {
  const std::optional<LeaseRecord>& record = truth_->record();
  const bool unused = now_ - lastWriteAt_ > 2 * longest_;
  if (record && !truth_->counterLost() && (happens(FaultKind::erase) || (unused && happens(FaultKind::ttl)))) {
    eraseRecord();
  }
  if (record && !truth_->counterLost() && happens(FaultKind::overwrite)) {
    const LeaseRecord gone = *record;
    if (truth_->put(foreignRecord())) {
      checker_.overwritten(gone);
      last_.foreign = true;
      foreignVersion_ = RecordVersion{};
      checker_.foreignHolds(TrueTime{0}, lives());
      noteWorld("RECORD OVERWRITTEN");
    }
  }
  if (record && !record->token.isNone() && happens(FaultKind::loseCounter) && truth_->loseCounter()) {
    report_.points.hit(SimPoint::counterRestored);
    noteWorld("COUNTER DELETED");
  }
  if (happens(FaultKind::operatorStepDown)) truth_->requestStepDown(drawSuccessor());
}

/// One of the processes, alive or not; or a name that nobody has.
Successor SimWorld::drawSuccessor() {
  if (!happens(FaultKind::namedSuccessor)) return {};
  SeededRandom& random = stream(FaultKind::namedSuccessor);
  const std::string one = "p" + std::to_string(random.below(plan_.candidates));
  return {random.chance(0.5) ? one : "gone", plan_.lease / 3};
}

LeaseRecord SimWorld::foreignRecord() {
  LeaseRecord record;
  record.holder = "another-make";
  record.version = RecordVersion{uuid4(streams_.load)};
  record.leaseDuration = std::chrono::duration_cast<std::chrono::milliseconds>(foreignLease_);
  return record;
}

/// The foreign client waits for a lease to end as every candidate does, renews at each tick, and ends by deleting the
/// record or just stops. It needs no guard, because its clock is perfect.
void SimWorld::tickForeign() {
  if (!plan_.has(FaultKind::foreign) || truth_->counterLost()) return;
  const std::optional<LeaseRecord>& record = truth_->record();
  const bool holds = record && !foreignVersion_.isNone() && record->version == foreignVersion_;
  if (!holds && !foreignVersion_.isNone()) endForeign();
  if (holds) {
    const bool ends = happens(FaultKind::foreign);
    if (ends && streams_.load.chance(0.5)) return endForeign();  // it crashed
    if (ends) {
      truth_->letGo();
      checker_.foreignErased();
      return endForeign();
    }
  } else {
    const SimTruth::ShownToForeign seen = truth_->shownToForeign();
    const bool released = record && seen.version.empty();
    if (seen.version != foreignSaw_ || released) {
      foreignSaw_ = seen.version;
      foreignSawAt_ = released ? now_ - maxRecordLease : now_;
    }
    if (record && now_ - foreignSawAt_ <= TrueTime{seen.lease}) return;
    if (!record && now_ - foreignSawAt_ <= longest_) return;  // it saw a holder a moment ago
    if (!happens(FaultKind::foreign)) return;
  }
  LeaseRecord next = foreignRecord();
  if (!truth_->put(next)) return;
  foreignVersion_ = truth_->record()->version;
  if (!holds) last_.foreign = true;
  report_.points.hit(SimPoint::foreignLed);
  if (!holds) noteWorld("ANOTHER MAKE TAKES THE LEASE");
  checker_.foreignHolds(now_ + foreignLease_, lives());
}

void SimWorld::endForeign() {
  if (foreignVersion_.isNone()) return;
  foreignVersion_ = RecordVersion{};
  checker_.foreignHolds(TrueTime{0}, lives());
  noteWorld("ANOTHER MAKE LETS GO");
}

void SimWorld::halt(Process& process) {
  SimLife& life = *process.life;
  const bool suspends = happens(FaultKind::suspend);
  const bool freezes = happens(FaultKind::freeze);
  if (!happens(FaultKind::pause) && !suspends && !freezes) return;
  const TrueTime length = upTo(streams_.load, 3 * lease_);
  const char* what = freezes ? "frozen" : suspends ? "suspended" : "paused";
  if (freezes) {
    life.clock.freeze(now_, length);
    checker_.lawlessUntil(now_ + length + 3 * longest_);
  } else if (suspends) {
    life.clock.suspend(now_, length);
  }
  process.asleep = suspends;
  process.pausedUntil = now_ + length;
  life.stalledUntil(now_ + length);
  ++report_.totals.pauses;
  if (options_.trace) note(process, std::string{what} + " for " + std::to_string(length.count()));
  span(process, length, what);
}

void SimWorld::haltInStep(Process& process) {
  if (happens(FaultKind::pauseInStep)) {
    const TrueTime length = upTo(streams_.load, 3 * lease_);
    process.pausedUntil = now_ + length;
    process.life->stalledUntil(now_ + length);
    ++report_.totals.pauses;
    if (options_.trace) note(process, "paused for " + std::to_string(length.count()));
    span(process, length, "paused");
  }
  if (happens(FaultKind::stopInStep)) {
    process.restartWhenStopped = true;
    tell(process, now_ + upTo(streams_.load, 2 * plan_.mostDelay), event::Stop{});
  }
  if (!happens(FaultKind::crashInStep)) return;
  at(now_, [this, &process, life = process.life.get()] {
    if (process.life.get() == life && process.machine) kill(process);
  });
}

void SimWorld::tickProcess(Process& process) {
  SimLife& life = *process.life;
  if (life.wild) checker_.lawlessUntil(now_ + 3 * longest_);
  halt(process);
  if (happens(FaultKind::oneWay)) {
    process.oneWayUntil = now_ + upTo(streams_.load, lease_);
    life.disturbedUntil(process.oneWayUntil);
    mark(process, "its replies are lost for a while");
    note(process, "ONE WAY");
  }
  if (happens(FaultKind::crash)) return kill(process);
  if (happens(FaultKind::stepDown) && !life.lock) {
    tell(process, now_, event::StepDown{"for a test", drawSuccessor().name});
  }
  if (happens(FaultKind::unready) && !life.lock) {
    const TrueTime until = now_ + upTo(stream(FaultKind::unready), 2 * lease_);
    life.disturbedUntil(until + longest_);  // a leader that stepped down leaves the lease to others for as long
    const event::SetReady unready{false, stream(FaultKind::unready).chance(0.5), "for a test"};
    // One after the other: a pause that is cut short would let the later one come first.
    tellTask(process, &life, now_, [this, &process, unready, until] {
      step(process, unready);
      tell(process, std::max(until, now_), event::SetReady{true});
    });
  }
  if (happens(FaultKind::changedLease)) {
    tellTask(process, &life, now_,
             [this, &process, timing = plan_.changedTiming(stream(FaultKind::changedLease), !life.lock)] {
               askToRenew(process, timing);
             });
  }
  if (happens(FaultKind::politeStop)) {
    process.restartWhenStopped = true;
    tell(process, now_, event::Stop{});
  }
  if (happens(FaultKind::nonsenseToken)) tellNonsense(process);
  // A resource that took this process's write reports the highest token that it has seen. Usually that is the process's
  // own, but a table that was restored from an older copy is behind it.
  if (happens(FaultKind::tokenTold) && truth_->record()) {
    const std::uint64_t ahead = streams_.load.chance(0.2) ? 1 + streams_.load.below(3) : 0;
    tell(process, now_ + upTo(streams_.load, lease_ / 10),
         event::TokenSeen{FencingToken{truth_->record()->token.value() + ahead}});
  }
}

}  // namespace tenure::test
