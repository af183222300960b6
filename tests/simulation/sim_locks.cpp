// Processes that compete for locks as LockClient does: candidacies of one term, one after another. What each has seen
// is passed to the next.
#include <utility>

#include "simulation/sim_world.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

/// As LockSession does: the machine can report more about the end of a wait, and gets a moment for it.
constexpr std::chrono::milliseconds answerGrace{25};
constexpr std::chrono::milliseconds longestLook{5'000};

}  // namespace

std::string SimWorld::livenessFileOf(const Process& process) {
  return process.clients.empty() ? process.life->name : process.clients.front().name;
}

/// Two clients that share a line.
void SimWorld::startLocks(Process& process) {
  const std::string name = process.life->name;
  process.clients = {{name}, {name + "b"}};
  process.left = nullptr;
  beginCandidacy(process, {});
}

SimLock SimWorld::drawLock(Nanos waited) {
  SeededRandom& random = stream(FaultKind::locks);
  SimLock lock{.mustExist = random.chance(0.1), .removes = random.chance(0.2), .waited = waited};
  const std::uint64_t kind = random.below(4);
  if (kind == 0) lock.patience = lock.waited = Nanos{0};  // it joins no line
  if (kind >= 2) lock.patience = waited + upTo(random, (kind == 2 ? 1 : 6) * lease_);
  return lock;
}

OneTerm SimWorld::oneTermOf(const SimLock& lock, SimLockClient& client) {
  SeededRandom& random = stream(FaultKind::locks);
  OneTerm options{.patience = lock.patience, .mustExist = lock.mustExist};
  options.memory = std::exchange(client.memory, nullptr);
  if (random.chance(0.2)) {
    options.maxConsecutiveHold = upTo(random, 2 * lease_);
    options.yieldFor = upTo(random, lease_ / 2);
  }
  return options;
}

/// The process continues: its clock, what its clients have seen, and a term that it has lost, whose work may still be
/// ending.
void SimWorld::beginCandidacy(Process& process, Turn turn) {
  SeededRandom& random = stream(FaultKind::locks);
  SimLockClient& client = process.clients[turn.client];
  const SimLife& old = *process.life;
  auto life = std::make_unique<SimLife>(
      SimLife{.name = client.name, .clock = old.clock, .timing = plan_.timingFor(random, false), .wild = old.wild});
  life->manual = happens(FaultKind::manualHeartbeat);
  life->lock = drawLock(turn.waited);
  life->lastToken = client.lastToken;
  life->highestShown = client.highestShown, life->shownLease = client.shownLease, life->topShown = client.topShown;
  life->heldShown = client.heldShown, life->heldIn = client.heldIn;
  life->toldOf = client.toldOf;
  life->mayBelieve = client.mayBelieve;
  life->disturbedAt = old.disturbedAt, life->misledAt = old.misledAt, life->stalledAt = old.stalledAt;
  const bool winds = old.published.validAt(old.clock.at(now_));
  if (winds) report_.points.hit(SimPoint::lockBesideItsLastTerm);
  std::erase_if(process.ended, [&](const SimLife* one) { return !one->published.validAt(one->clock.at(now_)); });
  process.endpoint.reset();
  if (winds) process.ended.push_back(process.life.get());
  graveyard_.push_back(std::exchange(process.life, std::move(life)));
  MachineOptions machine{LeaseKey{"lease"}, client.name, process.life->timing};
  machine.manualHeartbeat = process.life->manual;
  machine.oneTerm = oneTermOf(*process.life->lock, client);
  if (random.chance(0.2)) machine.poll = Nanos{process.life->timing.heartbeat()} / 2;
  process.machine = std::make_unique<LeaseMachine>(std::move(machine), *process.machineRandom);
  if (service_) process.endpoint = service_->connect(*this, process.number, *process.life);
  watch(process);
  process.alarmAt = process.wakeAt = TrueTime{-1};
  boundWait(process);
  SimLock& lock = *process.life->lock;
  if (lock.patience == 0ns) turn.predecessor = nullptr;
  lock.startedAt = process.life->clock.at(now_);
  step(process, event::Start{.livenessFile = LivenessFile{livenessFileOf(process), "boot", 1, 1},
                             .waited = lock.waited,
                             .predecessor = std::move(turn.predecessor)});
}

/// The wait is ended by its session, or by a caller that loses patience earlier. If neither does it, the machine ends
/// the wait by itself.
void SimWorld::boundWait(Process& process) {
  SeededRandom& random = stream(FaultKind::locks);
  const SimLife& life = *process.life;
  const SimLock& lock = *life.lock;
  if (random.chance(0.5)) return;
  TrueTime until = upTo(random, 8 * lease_);
  if (lock.patience) {
    const Nanos most = *lock.patience > 0ns ? *lock.patience - lock.waited : Nanos{longestLook};
    until = life.clock.trueTimeFor(most + answerGrace);
  }
  tellTask(process, &life, now_ + until, [this, &process] { withdraw(process); });
}

void SimWorld::withdraw(Process& process) {
  if (process.life->lock->answer != SimLock::Answer::none) return;
  report_.points.hit(SimPoint::lockWithdrawn);
  step(process, event::Stop{});
}

void SimWorld::hold(Process& process) {
  SeededRandom& random = stream(FaultKind::locks);
  const TrueTime most = random.chance(0.5) ? lease_ / 20 : 3 * lease_;
  const SimLife* const life = process.life.get();
  tellTask(process, life, now_ + upTo(random, most), [this, &process, life] { letGo(process, life); });
}

/// The work has ended, whatever happened to the lock meanwhile. A second call has no effect.
void SimWorld::letGo(Process& process, const SimLife* life) {
  SimLife& own = *process.life;
  if (&own != life || !std::exchange(own.working, false) || own.stopped) return;
  event::Release release{.removes = own.lock->removes};
  if (stream(FaultKind::locks).chance(0.1)) release.data = "left";
  step(process, release);
}

void SimWorld::endCandidacy(Process& process, const action::Stopped& stopped) {
  SimLife& life = *process.life;
  checker_.candidacyEnded(life, stopped.result, truth_->record());
  const bool isFirst = process.clients.front().name == life.name;
  SimLockClient& client = process.clients[isFirst ? 0 : 1];
  if (stopped.result == ReleaseResult::notDrained) report_.points.hit(SimPoint::lockLeftUndrained);
  SeededRandom& random = stream(FaultKind::locks);
  const bool forgets = random.chance(0.05);  // its memory was dropped in favour of newer keys
  client.memory = forgets ? nullptr : stopped.memory;
  client.lastToken = forgets ? FencingToken{} : life.lastToken;
  client.highestShown = forgets ? FencingToken{} : life.highestShown;
  client.shownLease = life.shownLease;
  client.topShown = forgets ? FencingToken{} : life.topShown;
  client.heldShown = forgets ? FencingToken{} : life.heldShown;
  client.heldIn = forgets ? std::nullopt : life.heldIn;
  client.toldOf = forgets ? FencingToken{} : life.toldOf;
  client.mayBelieve = forgets ? FencingToken{} : life.mayBelieve;
  process.left = stopped.memory;
  process.leftBy = isFirst ? 0 : 1;
  const bool inLine = random.chance(0.5);
  const std::size_t next = random.chance(0.3) ? 1 : 0;
  const TrueTime gap = inLine ? TrueTime{0} : upTo(random, lease_);
  tellTask(process, &life, now_ + gap, [this, &process, next, inLine] { nextCandidacy(process, next, inLine); });
}

/// A candidacy that comes from the line has waited. If another client was before it, it learns what that one left.
void SimWorld::nextCandidacy(Process& process, std::size_t client, bool inLine) {
  if (!restarts_) return;
  if (process.restartWhenStopped) return start(process);
  Turn turn{.client = client};
  if (inLine) {
    turn.waited = upTo(stream(FaultKind::locks), 6 * lease_);
    if (client != process.leftBy) turn.predecessor = process.left;
  }
  beginCandidacy(process, std::move(turn));
}

void SimWorld::endLocks(Process& process) {
  if (process.clients.empty() || !process.machine) return;
  process.restartWhenStopped = true;
  tell(process, now_, event::Stop{});
}

}  // namespace tenure::test
