#include "simulation/sim_world.hpp"

#include <utility>

#include "simulation/sim_etcd.hpp"
#include "simulation/sim_kubernetes.hpp"
#include "simulation/sim_postgresql.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

/// The time from the end of the faults to a leader, in the longest leases of the run. Three seconds are added for the
/// backoff of errors that do not pass by themselves, which is at least one second. The parts: messages and pauses that
/// are still under way (3), the lease of a holder that is gone (1), work that ends late (2), a candidate that has
/// stepped down and lets others come first (2 and the rest of its lease), a backoff (1), a poll and a race (1), a lease
/// that is left to a candidate that is dead (1).
constexpr int healLeases = 12;
constexpr std::uint64_t mostAtOnce = 100'000;  // events at the same moment

}  // namespace

SimWorld::SimWorld(const SimOptions& options)
    : options_{options},
      streams_{options.seed},
      plan_{options, streams_},
      lease_{plan_.lease},
      longest_{plan_.lease},
      checker_{now_, report_.points},
      foreignLease_{std::max<TrueTime>(lease_, 1s)} {
  makeStore();
  if (plan_.has(FaultKind::mixedLeases) || plan_.has(FaultKind::changedLease)) longest_ = 2 * lease_;
  if (plan_.has(FaultKind::foreign) || plan_.has(FaultKind::overwrite)) longest_ = std::max(longest_, foreignLease_);
  if (plan_.candidates >= 20) report_.points.hit(SimPoint::crowdOfTwenty);
  report_.configuration = plan_.text();
  report_.timeline.processes = plan_.candidates;
  for (std::size_t i = 0; i < plan_.candidates; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->number = i;
    at(upTo(streams_.process, lease_), [this, i] { start(*processes_[i]); });
  }
}

/// A store that ends with its stream posts a last task.
SimWorld::~SimWorld() {
  for (auto& process : processes_) process->endpoint.reset();
}

SimReport SimWorld::run() {
  at(lease_ / 3, [this] { tick(); });
  if (service_ && service_->streams() && plan_.has(FaultKind::streamLies)) at(lease_ / 5, [this] { talk(); });
  runUntil(options_.leases * lease_);
  if (!failed()) plan_.mode == SimMode::liveness ? runLiveness() : runSafety();
  if (!failed()) stopAll();
  report_.totals.hours = std::chrono::duration<double, std::ratio<3600>>(now_).count();
  report_.totals.leases = static_cast<double>(now_.count()) / static_cast<double>(lease_.count());
  report_.timeline.end = now_.count();
  report_.violations = checker_.violations();
  if (options_.canary && options_.seed % 100 == 0) {
    report_.violations.push_back({"canary", "each hundredth seed fails in canary mode"});
  }
  return std::move(report_);
}

void SimWorld::makeStore() {
  switch (plan_.store) {
    case StoreKind::dynamodb:
      service_ = makeSimDynamoDb();
      break;
    case StoreKind::postgresql: {
      SeededRandom& random = stream(FaultKind::failover);
      const bool synchronous = random.chance(0.3);
      const bool pooled = random.chance(0.5);
      service_ = makeSimPostgreSql({synchronous, pooled, drawCounter(), random.next(),
                                    plan_.has(FaultKind::staleWriters) ? lease_ / 4 : TrueTime{0}});
      break;
    }
    case StoreKind::etcd:
      service_ = makeSimEtcd(stream(FaultKind::unknown).next());
      break;
    case StoreKind::kubernetes:
      service_ = makeSimKubernetes(stream(FaultKind::unknown).next());
      break;
    case StoreKind::memory:
      simple_ = makeMemoryTableStore();
      break;
    case StoreKind::drawn:
    case StoreKind::model:
      simple_ = makeModelStore(options_.sabotage, plan_.has(FaultKind::failover), drawCounter());
      break;
  }
  truth_ = service_ ? static_cast<SimTruth*>(service_.get()) : simple_.get();
}

/// Where promotions happen, an operator may have set the tokens before.
FencingToken SimWorld::drawCounter() {
  SeededRandom& random = stream(FaultKind::failover);
  if (!plan_.has(FaultKind::failover) || !random.chance(0.2)) return {};
  const FencingToken counter{(random.below(4) << 40U) + 1 + random.below(100)};
  checker_.counterWasSet(counter);
  return counter;
}

void SimWorld::runSafety() {
  runUntil(now_ + lease_ * (options_.leases / 2));
  faults_ = false;
  endFork(true);
  endForeign();
  runUntil(now_ + 4 * lease_);
}

/// Some candidates may stay cut off for good: the others must manage without them.
void SimWorld::runLiveness() {
  faults_ = false;
  endFork(true);
  endForeign();
  noteWorld("THE FAULTS END");
  for (auto& process : processes_) {
    const bool cut = process->number > 0 && plan_.has(FaultKind::cutOff) &&
                     streams_.faults[static_cast<std::size_t>(FaultKind::cutOff)].chance(0.5);
    process->cutOff = cut;
    if (cut) note(*process, "CUT OFF FOR GOOD");
    if (process->machine && process->life->wild) kill(*process);
    endLocks(*process);
  }
  const TrueTime from = now_;
  watchHeal(from);
  runUntil(from + healLeases * longest_ + 3s);
  if (failed()) return;
  checker_.calmBegins(lives());
  runUntil(now_ + 8 * longest_);
  checker_.calmEnds();
  expectAdmittedLeaders();
  if (healedAt_ >= TrueTime{0}) {
    report_.totals.slowestHeal =
        static_cast<double>((healedAt_ - from).count()) / static_cast<double>(longest_.count());
  }
  for (const auto& process : processes_) {
    if (process->cutOff) report_.points.hit(SimPoint::healedBesideCutOff);
  }
}

/// A leader whose work may not write is none.
void SimWorld::expectAdmittedLeaders() {
  for (const SimLife* life : lives()) {
    const TermState& term = life->published;
    if (!term.leadsAt(life->clock.at(now_)) || truth_->admits(term.token)) continue;
    checker_.violation(*life, "liveness", "leads long after the last fault, and the record does not admit its writes");
  }
}

void SimWorld::watchHeal(TrueTime from) {
  for (const SimLife* life : lives()) {
    if (!life->published.leadsAt(life->clock.at(now_))) continue;
    healedAt_ = now_;
    return;
  }
  if (now_ - from < healLeases * longest_ + 3s) at(now_ + lease_ / 5, [this, from] { watchHeal(from); });
}

void SimWorld::stopAll() {
  restarts_ = false;
  noteWorld("ALL ARE STOPPED");
  for (auto& process : processes_) tell(*process, now_, event::Stop{});
  runUntil(now_ + 12 * longest_);
  if (failed()) return;
  for (auto& process : processes_) {
    if (process->life && process->machine && !process->life->stopped) {
      checker_.violation(*process->life, "liveness", "does not end after Stop");
    }
  }
}

void SimWorld::runUntil(TrueTime end) {
  while (!failed() && queue_.hasBy(end)) {
    auto [when, task] = queue_.pop();
    atOnce_ = when == now_ ? atOnce_ + 1 : 0;
    if (atOnce_ == mostAtOnce) checker_.violation("requests", "time stands still: something goes on without a pause");
    now_ = when;
    task();
  }
  if (!failed()) now_ = end;
}

void SimWorld::start(Process& process) {
  if (!restarts_) return;
  process.endpoint.reset();
  if (process.life) graveyard_.push_back(std::move(process.life));
  const std::string name = "p" + std::to_string(process.number) + "#" + std::to_string(++process.lives);
  SeededRandom own = streams_.process.split(process.number * 1000 + process.lives);
  ClockRates rates = ClockRates::draw(own, plan_.rateBound, plan_.has(FaultKind::slew));
  const bool wild = happens(FaultKind::wildRate);
  if (wild) rates.raw *= own.chance(0.5) ? 1.3 : 0.7;
  process.life = std::make_unique<SimLife>(
      SimLife{.name = name, .clock = SimClock{own, now_, rates}, .timing = plan_.timingFor(own, true), .wild = wild});
  process.machineRandom = std::make_unique<SeededRandom>(own.next());
  process.clients.clear();
  process.ended.clear();
  process.startedAt = process.pausedUntil = now_;
  process.alarmAt = TrueTime{-1};
  process.restartWhenStopped = false;
  if (wild) note(process, "ITS CLOCK RUNS WILD");
  if (happens(FaultKind::locks)) return startLocks(process);
  MachineOptions machine{LeaseKey{"lease"}, name, process.life->timing};
  machine.manualHeartbeat = process.life->manual = happens(FaultKind::manualHeartbeat);
  if (!plan_.has(FaultKind::refusedData)) machine.data = process.life->data = "work of " + name;
  machine.priority = static_cast<unsigned>(own.chance(0.2) ? own.below(6) : 0);
  process.machine = std::make_unique<LeaseMachine>(std::move(machine), *process.machineRandom);
  if (service_) process.endpoint = service_->connect(*this, process.number, *process.life);
  watch(process);
  const event::Start begin{LivenessFile{name, "boot", 1, 1}};
  if (simple_ && happens(FaultKind::sighting)) return startWithSighting(process, begin);
  step(process, begin);
}

/// Like an elector that begins to compete for a lease that it watched in listings: what it saw is already old.
void SimWorld::startWithSighting(Process& process, event::Start begin) {
  SimLife& life = *process.life;
  const Instant since = life.clock.at(now_);
  begin.sighting = LeaseSighting{.record = truth_->told(), .since = since};
  life.bySighting = truth_->record() && !truth_->record()->released;
  tell(process, now_ + upTo(stream(FaultKind::sighting), lease_), std::move(begin));
}

/// The process dies in the middle of anything. If deaths are reported in this run, its liveness file shows the death.
void SimWorld::kill(Process& process, TrueTime mostDown) {
  note(process, "CRASHED");
  mark(process, "crash");
  ++report_.totals.crashes;
  drawTerm(process, TermState{});
  if (last_.process == process.number) last_.crashed = true;
  if (process.life->wild) checker_.lawlessUntil(now_ + 3 * longest_);
  process.life->published = TermState{};
  for (SimLife* const life : process.ended) life->published = TermState{};
  process.ended.clear();
  process.machine.reset();
  process.endpoint.reset();
  const std::string livenessFile = livenessFileOf(process);
  for (auto& other : processes_) {
    if (plan_.has(FaultKind::deathNotices) && other->machine) {
      tell(*other, now_ + upTo(streams_.process, lease_ / 100), event::HolderProvenDead{livenessFile});
    }
  }
  at(now_ + upTo(streams_.process, mostDown), [this, &process] { start(process); });
}

void SimWorld::tell(Process& process, TrueTime when, LeaseEvent event) {
  tellTask(process, process.life.get(), when, [this, &process, event = std::move(event)] { step(process, event); });
}

void SimWorld::runFor(std::size_t process, const SimLife& life, Nanos localDelay, Task task) {
  tellTask(*processes_[process], &life, now_ + life.clock.trueTimeFor(std::max(localDelay, Nanos{0})), std::move(task));
}

const SimChecker::Lives& SimWorld::lives() {
  lives_.clear();
  for (const auto& process : processes_) {
    if (!process->machine) continue;
    lives_.push_back(process->life.get());
    for (SimLife* const ended : process->ended) lives_.push_back(ended);
  }
  return lives_;
}

void SimWorld::note(const Process& process, const std::string& text) {
  if (!options_.trace) return;
  report_.trace += std::to_string(now_.count()) + ' ' +
                   (process.life ? process.life->name : "p" + std::to_string(process.number)) + ' ' + text + '\n';
}

void SimWorld::noteWorld(const std::string& text) {
  if (options_.trace) report_.trace += std::to_string(now_.count()) + " " + text + '\n';
  if (options_.timeline) report_.timeline.world.push_back({0, now_.count(), text});
}

void SimWorld::mark(const Process& process, const std::string& what) {
  if (options_.timeline) report_.timeline.marks.push_back({process.number, now_.count(), what});
}

void SimWorld::span(const Process& process, TrueTime length, const std::string& what) {
  if (!options_.timeline) return;
  report_.timeline.spans.push_back({process.number, now_.count(), (now_ + length).count(), what, false});
}

void SimTotals::add(const SimTotals& other) {
  acquisitions += other.acquisitions, renewals += other.renewals, ambiguous += other.ambiguous;
  requests += other.requests, steps += other.steps, crashes += other.crashes, pauses += other.pauses;
  hours += other.hours, leases += other.leases;
  slowestHeal = std::max(slowestHeal, other.slowestHeal);
}

SimReport simulate(const SimOptions& options) { return SimWorld{options}.run(); }

std::string_view toString(SimMode mode) noexcept {
  constexpr std::string_view names[] = {"drawn", "safety", "liveness"};
  return names[static_cast<std::size_t>(mode)];
}

std::string_view toString(StoreKind store) noexcept {
  constexpr std::string_view names[] = {"drawn", "model", "memory", "dynamodb", "postgresql", "etcd", "kubernetes"};
  return names[static_cast<std::size_t>(store)];
}

}  // namespace tenure::test
