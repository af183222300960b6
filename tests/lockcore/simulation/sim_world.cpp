#include "lockcore/simulation/sim_world.hpp"

#include <utility>

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

std::string eventText(const LeaseEvent& event) {
  static constexpr const char* names[] = {
      "Start",  "StepDown",  "Stop",       "WorkEnded", "WorkFailed",       "WorkProgressed",
      "Wakeup", "ReadReply", "WriteReply", "StoreHint", "HolderProvenDead", "TokenSeen"};
  return names[event.index()];
}

struct ActionText {
  std::string operator()(const action::SendRead& a) const { return "read #" + std::to_string(a.attempt); }
  std::string operator()(const action::SendWrite& a) const {
    static constexpr const char* names[] = {"acquire", "renew", "release"};
    std::string out = std::string{names[static_cast<int>(a.request.purpose)]} + " #" + std::to_string(a.attempt) + " " +
                      a.request.record.version.text().substr(0, 8) + " if";
    for (const RecordVersion& v : a.request.expected) out += " " + v.text().substr(0, 8);
    return out;
  }
  std::string operator()(const action::Publish& a) const {
    return "publish token " + toString(a.term.token) + " leads " + std::to_string(a.term.leadsFor.count()) + " valid " +
           std::to_string(a.term.validFor.count());
  }
  std::string operator()(const action::Elected& a) const { return "ELECTED " + toString(a.token); }
  std::string operator()(const action::Renewed&) const { return "renewed"; }
  std::string operator()(const action::InDoubt& a) const { return "in doubt: " + a.error.message; }
  std::string operator()(const action::Revoked& a) const {
    return "REVOKED " + std::string{toString(a.reason)} + ": " + a.detail;
  }
  std::string operator()(const action::LeaderChanged& a) const {
    return "leader " + (a.leader ? a.leader->holder : "none");
  }
  std::string operator()(const action::FollowHolder&) const { return "follow"; }
  std::string operator()(const action::Stopped& a) const { return "stopped " + std::string{toString(a.result)}; }
  std::string operator()(const action::Log& a) const { return "log " + a.line; }
};

LeaseTiming timingFor(SeededRandom& random, std::chrono::milliseconds lease) {
  LeaseOptions options;
  constexpr int halves[] = {2, 2, 2, 4, 1};  // some candidates are configured otherwise than the rest
  options.duration = std::max(lease * halves[random.below(5)] / 2, minLeaseDuration);
  if (random.chance(0.3)) options.heartbeat = std::max(options.duration / 5, std::chrono::milliseconds{10});
  if (random.chance(0.2)) options.stopMargin = 0ms;
  if (random.chance(0.3)) options.drainTimeout = options.duration / 4;
  return LeaseTiming::from(options).value();
}

}  // namespace

SimWorld::SimWorld(const SimOptions& options)
    : options_{options},
      chance_{options.seed},
      plan_{chance_},
      lease_{plan_.lease},
      store_{options.sabotage},
      checker_{now_} {
  for (std::size_t i = 0; i < plan_.candidates; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->number = i;
    at(upTo(lease_), [this, i] { start(*processes_[i]); });
  }
}

SimReport SimWorld::run() {
  at(lease_ / 3, [this] { tick(); });
  runUntil(60 * lease_);
  faults_ = false;  // what is under way still arrives, late as it may be
  for (auto& process : processes_) process->pausedUntil = now_;
  runUntil(now_ + 30 * lease_);
  checker_.calmBegins(lives());
  runUntil(now_ + 8 * lease_);
  restarts_ = false;
  checker_.calmEnds();
  for (auto& process : processes_) tell(*process, now_, event::Stop{});
  runUntil(now_ + 12 * lease_);
  for (auto& process : processes_) {
    if (process->life && !process->life->stopped) checker_.violation(*process->life, "does not end after Stop");
  }
  return {checker_.violations(), checker_.counts(), digest_, trace_.str()};
}

void SimWorld::at(TrueTime when, std::function<void()> what) {
  queue_.push({std::max(when, now_), ++order_, std::make_shared<std::function<void()>>(std::move(what))});
}

void SimWorld::runUntil(TrueTime end) {
  while (!queue_.empty() && queue_.top().when <= end) {
    const Planned next = queue_.top();
    queue_.pop();
    now_ = next.when;
    (*next.what)();
  }
  now_ = end;
}

void SimWorld::start(Process& process) {
  if (process.life) graveyard_.push_back(std::move(process.life));
  const std::string name = "p" + std::to_string(process.number) + "#" + std::to_string(++process.lives);
  SeededRandom own = chance_.split(process.number * 1000 + process.lives);
  process.life = std::make_unique<SimLife>(
      SimLife{.name = name, .clock = SimClock{own, now_, plan_.slewedClocks}, .timing = timingFor(own, plan_.lease)});
  process.machineRandom = std::make_unique<SeededRandom>(own.next());
  MachineOptions machine{LeaseKey{"lease"}, name, process.life->timing};
  machine.priority = static_cast<unsigned>(own.chance(0.2) ? own.below(6) : 0);
  process.machine = std::make_unique<LeaseMachine>(std::move(machine), *process.machineRandom);
  process.pausedUntil = now_;
  process.restartWhenStopped = false;
  step(process, event::Start{Beacon{name, "boot", 1, 1}});
}

/// The process is gone in the middle of whatever it did. Its beacon tells, where death notices work.
void SimWorld::kill(Process& process) {
  note(process, "CRASHED");
  checker_.count("crash");
  process.life->published = TermState{};
  process.machine.reset();
  const std::string beacon = process.life->name;
  for (auto& other : processes_) {
    if (plan_.deathNotices && other->machine) tell(*other, now_ + upTo(lease_ / 100), event::HolderProvenDead{beacon});
  }
  at(now_ + upTo(2 * lease_), [this, &process] { start(process); });
}

void SimWorld::tell(Process& process, TrueTime when, LeaseEvent event) {
  at(when, [this, &process, life = process.life.get(), event = std::move(event)] {
    if (process.life.get() != life || !process.machine) return;
    if (now_ < process.pausedUntil) return tell(process, process.pausedUntil, event);
    step(process, event);
  });
}

void SimWorld::step(Process& process, const LeaseEvent& event) {
  SimLife& life = *process.life;
  shown(life, event);
  const LeaseState before = process.machine->state();
  const LeaseActions actions = process.machine->step(life.clock.at(now_), event);
  const LeaseState after = process.machine->state();
  digest_ =
      (digest_ ^ (event.index() * 64 + actions.size() * 8 + static_cast<std::uint64_t>(after))) * 1099511628211ULL;
  digest_ = (digest_ ^ static_cast<std::uint64_t>(now_.count())) * 1099511628211ULL;
  if (options_.trace) note(process, eventText(event) + " -> " + std::string{toString(after)});
  const bool wasHolder = before == LeaseState::leading || before == LeaseState::draining;
  const bool dropsOld = wasHolder && after == LeaseState::candidate;
  if (!actions.empty()) checker_.acted(life);
  for (const LeaseAction& a : actions) perform(process, a, dropsOld);
  planWakeup(process);
}

void SimWorld::perform(Process& process, const LeaseAction& a, bool dropsOld) {
  SimLife& life = *process.life;
  if (options_.trace) note(process, "    " + std::visit(ActionText{}, a));
  if (const auto* read = std::get_if<action::SendRead>(&a)) {
    checker_.requestSent(life, read->attempt, read->timeout, dropsOld);
    sendRead(process, *read);
  } else if (const auto* write = std::get_if<action::SendWrite>(&a)) {
    checker_.requestSent(life, write->attempt, write->timeout, dropsOld);
    if (write->request.purpose == WriteRequest::Purpose::release) checker_.releaseSent(life);
    sendWrite(process, *write);
  } else if (const auto* publish = std::get_if<action::Publish>(&a)) {
    checker_.published(life, publish->term, lives());
  } else if (const auto* elected = std::get_if<action::Elected>(&a)) {
    checker_.elected(life, elected->token);
    if (faults_ && chance_.chance(plan_.workFails)) {
      tell(process, now_ + upTo(3 * lease_), event::WorkFailed{"the work failed"});
    }
  } else if (const auto* revoked = std::get_if<action::Revoked>(&a)) {
    checker_.revoked(life, *revoked, store_.record());
    const bool slow = faults_ && chance_.chance(plan_.slowWork);
    at(now_ + upTo(slow ? 2 * lease_ : lease_ / 50), [this, &process, owner = &life] {
      if (process.life.get() != owner || !process.machine) return;
      owner->working = false;
      tell(process, now_, event::WorkEnded{});
    });
  } else if (std::holds_alternative<action::Stopped>(a)) {
    checker_.stopped(life);
    if (restarts_ && process.restartWhenStopped) at(now_ + upTo(lease_), [this, &process] { start(process); });
  }
}

void SimWorld::planWakeup(Process& process) {
  SimLife& life = *process.life;
  const std::uint64_t id = ++process.wakeup;
  const auto until = process.machine->untilWakeup(life.clock.at(now_));
  if (!until) return;
  checker_.askedToBeWoken(life, *until);
  TrueTime late{0};
  if (faults_ && chance_.chance(plan_.lateTimer)) {
    late = upTo(lease_ / 5);
    life.troubledUntil(now_ + late);
  }
  at(now_ + life.clock.trueTimeFor(*until) + late, [this, &process, owner = &life, id] {
    if (process.life.get() != owner || !process.machine || process.wakeup != id) return;
    tell(process, now_, event::Wakeup{});
  });
}

void SimWorld::note(const Process& process, const std::string& text) {
  if (!options_.trace) return;
  trace_ << now_.count() << ' ' << process.life->name << ' ' << text << '\n';
}

SimChecker::Lives SimWorld::lives() const {
  SimChecker::Lives all;
  for (const auto& process : processes_) {
    if (process->machine) all.push_back(process->life.get());
  }
  return all;
}

SimReport simulate(const SimOptions& options) { return SimWorld{options}.run(); }

}  // namespace tenure::test
