// Steps the machines, and does what they ask for.
#include <algorithm>
#include <utility>

#include "simulation/sim_world.hpp"

namespace tenure::test {
namespace {

std::string eventText(const LeaseEvent& event) {
  static constexpr const char* names[] = {
      "Start",     "StepDown",         "SetReady",       "Stop",   "Release",   "Renew",
      "WorkEnded", "WorkFailed",       "WorkProgressed", "Wakeup", "ReadReply", "WriteReply",
      "StoreHint", "HolderProvenDead", "TokenSeen"};
  static_assert(std::size(names) == std::variant_size_v<LeaseEvent>);
  return names[event.index()];
}

std::string recordText(const std::optional<LeaseRecord>& record) {
  if (!record) return "no record";
  std::string out = (record->vanished ? "no record of " : record->holder + ' ') + toString(record->token) + " lease " +
                    std::to_string(record->leaseDuration.count()) + " ms " + record->version.text().substr(0, 8);
  if (!record->version.history().empty()) out += " in " + record->version.history();
  return out + (record->released ? ", released" : "") + (record->inherited ? ", inherited" : "");
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
  std::string operator()(const action::Recorded& a) const {
    using Outcome = action::Recorded::Outcome;
    const char* what = a.outcome == Outcome::recorded  ? "recorded"
                       : a.outcome == Outcome::refused ? "refused"
                                                       : "not known to be recorded";
    return what + (" up to " + std::to_string(a.last));
  }
  std::string operator()(const action::InDoubt& a) const { return "in doubt: " + a.error.message; }
  std::string operator()(const action::Revoked& a) const {
    return "REVOKED " + std::string{toString(a.reason)} + ": " + a.detail;
  }
  std::string operator()(const action::LeaderChanged& a) const {
    return "leader " + (a.leader ? a.leader->holder : "none");
  }
  std::string operator()(const action::VacancyExpected& a) const {
    return "vacancy expected in " + std::to_string(a.remaining.count());
  }
  std::string operator()(const action::FollowHolder&) const { return "follow"; }
  std::string operator()(const action::GaveUp& a) const { return "gave up " + std::string{toString(a.reason)}; }
  std::string operator()(const action::Stopped& a) const { return "stopped " + std::string{toString(a.result)}; }
  std::string operator()(const action::Log& a) const { return "log " + a.line; }
};

}  // namespace

void SimWorld::step(Process& process, const LeaseEvent& event) {
  SimLife& life = *process.life;
  if (life.lock && std::holds_alternative<event::Stop>(event)) checker_.withdrawn(life);
  const FencingToken toldBefore = life.toldOf;
  if (!process.endpoint || !std::holds_alternative<event::Start>(event)) shown(process, event);
  const LeaseState before = process.machine->state();
  const bool wasInDoubt = process.machine->inDoubt();
  ++report_.totals.steps;
  if (const auto* progress = std::get_if<event::WorkProgressed>(&event)) {
    const Instant at = life.clock.at(now_) + -progress->ago;
    if (elapsedForHolder(life.progressedAt, at) > Nanos{0}) life.progressedAt = at;
  }
  const LeaseActions actions = process.machine->step(life.clock.at(now_), event);
  const LeaseState after = process.machine->state();
  // A candidacy that ends in this step for another reason has not taken in the token that it is told in this step.
  if (after == LeaseState::stopped) life.toldOf = toldBefore;
  std::uint64_t& digest = report_.digest;
  digest = (digest ^ (event.index() * 64 + actions.size() * 8 + static_cast<std::uint64_t>(after))) * 1099511628211ULL;
  digest = (digest ^ static_cast<std::uint64_t>(now_.count())) * 1099511628211ULL;
  if (options_.trace) note(process, eventText(event) + " -> " + std::string{toString(after)});
  if (!actions.empty()) {
    noteStep(process, before, wasInDoubt, event, actions);
    checker_.acted(life);
  }
  const bool wasHolder = before == LeaseState::leading || before == LeaseState::draining;
  const auto givesUp = [](const LeaseAction& a) { return std::holds_alternative<action::GaveUp>(a); };
  const bool dropsOld =
      (wasHolder && after == LeaseState::candidate) || std::any_of(actions.begin(), actions.end(), givesUp);
  for (const LeaseAction& a : actions) perform(process, a, dropsOld);
  checker_.stepped(life);
  planWakeup(process);
  if (!actions.empty() && !life.stopped) haltInStep(process);
}

void SimWorld::perform(Process& process, const LeaseAction& a, bool dropsOld) {
  SimLife& life = *process.life;
  if (options_.trace) note(process, "    " + std::visit(ActionText{}, a));
  if (const auto* read = std::get_if<action::SendRead>(&a)) {
    checker_.requestSent(life, read->attempt, read->timeout, dropsOld);
    sendRead(process, *read);
  } else if (const auto* write = std::get_if<action::SendWrite>(&a)) {
    checker_.requestSent(life, write->attempt, write->timeout, dropsOld);
    checker_.writeSent(life, write->request);
    sendWrite(process, *write);
  } else if (const auto* publish = std::get_if<action::Publish>(&a)) {
    drawTerm(process, publish->term);
    checker_.published(life, publish->term, lives());
  } else if (const auto* elected = std::get_if<action::Elected>(&a)) {
    performElected(process, *elected);
  } else if (const auto* revoked = std::get_if<action::Revoked>(&a)) {
    performRevoked(process, *revoked);
  } else if (const auto* renewed = std::get_if<action::Renewed>(&a)) {
    ++report_.totals.renewals;
    if (life.manual && renewed->ticket > life.ticketRenewed) report_.points.hit(SimPoint::renewedByHand);
    life.ticketRenewed = std::max(life.ticketRenewed, renewed->ticket);
  } else if (const auto* gaveUp = std::get_if<action::GaveUp>(&a)) {
    checker_.gaveUp(life, gaveUp->reason);
  } else if (const auto* stopped = std::get_if<action::Stopped>(&a)) {
    checker_.stopped(life, stopped->result, truth_->record());
    if (life.lock) {
      endCandidacy(process, *stopped);
    } else if (restarts_ && process.restartWhenStopped) {
      at(now_ + upTo(streams_.process, lease_), [this, &process] { start(process); });
    }
  }
}

void SimWorld::performElected(Process& process, const action::Elected& elected) {
  SimLife& life = *process.life;
  ++report_.totals.acquisitions;
  checker_.elected(life, elected.token);
  if (!process.machine->isReady()) checker_.violation(life, "ready", "a candidate that is not ready was elected");
  if (healedAt_ < TrueTime{0} && !faults_) healedAt_ = now_;
  last_ = LastTerm{process.number};
  if (happens(FaultKind::workFails)) {
    tell(process, now_ + upTo(streams_.load, 3 * lease_), event::WorkFailed{"the work failed"});
  }
  // While acquisitions of rivals are still under way.
  if (faults_ && plan_.has(FaultKind::erase) && streams_.load.chance(0.1)) {
    at(now_ + upTo(streams_.load, lease_ / 10), [this] { eraseRecord(); });
  }
  promoteSoon();
  const bool stuck = happens(FaultKind::stuckWork) && !life.lock;
  life.stuck = stuck;
  life.ticketRenewed = life.ticketAsked;
  if (life.bySighting && elected.token == life.highestShown.next()) report_.points.hit(SimPoint::electedBySighting);
  life.bySighting = false;
  if (life.manual) renewByHand(process, &life, elected.token);
  if (life.lock) hold(process);
  tellTask(process, &life, now_, [this, &process, owner = &life, token = elected.token, stuck] {
    work(process, owner, stuck ? FencingToken{} : token);
  });
}

/// While the work believes that it leads, it writes and reports that it is alive. Stuck work (no token) does neither.
void SimWorld::work(Process& process, const SimLife* life, FencingToken token) {
  SimLife& own = *process.life;
  if (!own.working || token.isNone() || own.lastToken != token) return;
  if (own.published.token == token && own.published.leadsAt(own.clock.at(now_))) {
    const TrueTime late = happens(FaultKind::lateRequest) ? upTo(streams_.load, 2 * lease_) : TrueTime{0};
    at(now_ + delay() + late, [this, &process, life, token] {
      const SimLife& writer = *life;
      if (checker_.fencedWrite(writer, token) || process.life.get() != life) return;
      if (!process.machine) return;
      tell(process, now_ + delay(), event::TokenSeen{checker_.fence()});
    });
  }
  if (plan_.has(FaultKind::stuckWork) && !own.lock) {
    own.stuck = own.stuck || (faults_ && stream(FaultKind::stuckWork).chance(0.02));
    if (own.stuck) return;
    const auto ago = own.timing.heartbeat() * static_cast<std::int64_t>(token.value() % 3) / 4;  // as of a probe
    tell(process, now_, event::WorkProgressed{ago});
  }
  if (drawn(FaultKind::refusedData)) {
    tellTask(process, life, now_, [this, &process] { askToRenew(process, std::nullopt, "refused"); });
  }
  tellTask(process, life, now_ + TrueTime{own.timing.heartbeat()} / 2 + upTo(streams_.load, own.timing.heartbeat()),
           [this, &process, life, token] { work(process, life, token); });
}

/// The machine accepts it only while it leads.
void SimWorld::askToRenew(Process& process, std::optional<LeaseTiming> timing, std::optional<std::string> data) {
  SimLife& life = *process.life;
  if (process.machine->state() != LeaseState::leading) return;
  if (timing) {
    const bool longer = timing->leadsFor() > life.published.leadsFor;
    report_.points.hit(longer ? SimPoint::leaseMadeLonger : SimPoint::leaseMadeShorter);
    life.changeTiming(*timing);
  }
  step(process, event::Renew{.ticket = ++life.ticketAsked, .timing = timing, .data = std::move(data)});
  if (timing && life.manual && life.term) renewByHand(process, &life, *life.term);  // from now on at the new rate
}

/// Acts as the owner of a lease with a manual heartbeat. It forgets some terms, and those end by themselves.
void SimWorld::renewByHand(Process& process, const SimLife* life, FencingToken token) {
  SimLife& own = *process.life;
  SeededRandom& random = stream(FaultKind::manualHeartbeat);
  if (faults_ && random.chance(0.01)) own.stuck = true;
  if (own.stuck) return;
  const Nanos beat = own.leastHeartbeat / 2;
  const std::uint64_t turn = ++own.handTurn;
  tellTask(process, life, now_ + beat + upTo(random, beat / 2), [this, &process, life, token, turn] {
    if (process.life->term != token || process.life->handTurn != turn) return;
    askToRenew(process, std::nullopt);
    renewByHand(process, life, token);
  });
}

void SimWorld::performRevoked(Process& process, const action::Revoked& revoked) {
  SimLife& life = *process.life;
  checker_.revoked(life, revoked, truth_->record());
  const bool slow = happens(FaultKind::slowWork);
  const TrueTime until = now_ + upTo(streams_.load, slow ? 2 * lease_ : lease_ / 50);
  if (life.lock) return tellTask(process, &life, until, [this, &process, own = &life] { letGo(process, own); });
  tellTask(process, &life, until, [this, &process] {
    process.life->working = false;
    step(process, event::WorkEnded{});
  });
}

void SimWorld::planWakeup(Process& process) {
  SimLife& life = *process.life;
  const auto until = process.machine->untilWakeup(life.clock.at(now_));
  process.wakeAt = TrueTime{-1};
  if (!until) {
    if (life.term) checker_.violation(life, "onTime", "leads and does not ask to be woken");
    return;
  }
  checker_.askedToBeWoken(life, *until);
  process.wakeAt = now_ + life.clock.trueTimeFor(*until);
  if (happens(FaultKind::lateTimer)) {
    process.wakeAt += upTo(streams_.load, lease_ / 5);
    life.stalledUntil(process.wakeAt);
  }
  if (process.alarmAt < TrueTime{0} || process.wakeAt < process.alarmAt) setAlarm(process);
}

/// One alarm for each process is enough: if it fires too early, it is set again.
void SimWorld::setAlarm(Process& process) {
  const TrueTime when = process.wakeAt;
  process.alarmAt = when;
  at(when, [this, &process, owner = process.life.get(), when] {
    if (process.life.get() != owner || !process.machine || process.alarmAt != when) return;
    process.alarmAt = TrueTime{-1};
    if (process.wakeAt < TrueTime{0}) return;
    if (process.wakeAt > now_) return setAlarm(process);
    if (now_ >= process.pausedUntil) return step(process, event::Wakeup{});
    tell(process, now_, event::Wakeup{});
  });
}

/// Keeps what a process has been shown, so that the checker can use it to judge what the process does.
void SimWorld::shown(Process& process, const LeaseEvent& event) {
  SimLife& life = *process.life;
  // The machine gives up a request after a while; a reply that comes later shows it nothing.
  const Nanos patience = life.timeout + life.timeout / 8 + std::chrono::milliseconds{5};
  const auto isAwaited = [&](Attempt attempt) {
    const bool current = life.unanswered && attempt == life.attempt;
    if (!current) report_.points.hit(SimPoint::lateReplyIgnored);
    return current && elapsedForHolder(life.sentAt, life.clock.at(now_)) < patience;
  };
  const auto show = [&](const std::optional<LeaseRecord>& record) {
    if (options_.trace) note(process, "    shown " + recordText(record));
    life.unreadable = false;
    if (record && record->holder == life.name) life.shownOwn = true;
    if (!record) {  // somebody may have taken the lease before the record vanished
      life.heldShown = std::max({life.heldShown, life.topShown, life.lastToken});
      if (life.lock) life.lock->shownFree = false;
      life.lastShown = {};
      life.lastHeld = {};
      return;
    }
    const FencingToken token = record->token;
    if (!(record->version == life.lastShown)) life.sawItHeld = !token.isNone() && life.lastHeld == token;
    life.lastShown = record->version;
    life.lastHeld = record->released ? FencingToken{} : token;
    life.topShown = std::max(life.topShown, token);
    const bool holds = !record->released && life.find(record->version) == nullptr;
    if (token > life.heldShown || (token == life.heldShown && !holds)) life.heldShown = holds ? token : FencingToken{};
    // A token that has fallen is that of an older state: the term that was shown before it is waited out.
    const bool fell = !token.isNone() && token < life.heldShown;
    // So is a term of another history, which this one may lack.
    if (!record->released) life.heldIn = record->version.history();
    const bool mayBeLost = life.heldIn && *life.heldIn != record->version.history();
    if (life.lock) life.lock->shownFree = record->released && !record->inherited && !fell && !mayBeLost;
    if (record->holder == life.name || token < life.highestShown) return;
    life.highestShown = token;
    life.shownLease = record->leaseDuration;
  };
  if (const auto* begin = std::get_if<event::Start>(&event)) {
    const auto& sighting = begin->sighting;
    if (sighting && sighting->record) {
      life.highestShown = sighting->record->token;
      life.shownLease = sighting->record->leaseDuration;
      if (!sighting->record->released) life.heldIn = sighting->record->version.history();
    }
  }
  if (const auto* told = std::get_if<event::TokenSeen>(&event)) checker_.told(life, told->token);
  if (const auto* read = std::get_if<event::ReadReply>(&event)) {
    if (!isAwaited(read->attempt)) return;
    life.unanswered = false;
    if (read->outcome) show(*read->outcome);
    const bool leads = life.term.has_value() || process.machine->state() == LeaseState::draining;
    if (!read->outcome && read->outcome.error().errorClass == ErrorClass::corrupt) life.unreadable = !leads;
  } else if (const auto* write = std::get_if<event::WriteReply>(&event)) {
    if (!isAwaited(write->attempt)) return;
    life.unanswered = false;
    if (std::holds_alternative<Unknown>(write->outcome)) ++report_.totals.ambiguous;
    const auto* conflict = std::get_if<Conflict>(&write->outcome);
    if (conflict == nullptr || !conflict->current) return;
    show(*conflict->current);
    SentWrite& answered = life.sent.at((life.nextSent + life.sent.size() - 1) % life.sent.size());
    answered.refused = !*conflict->current || (*conflict->current)->version != answered.version;
  }
}

void SimWorld::drawTerm(Process& process, const TermState& term) {
  if (!options_.timeline) return;
  const bool leads = !term.token.isNone() && term.leadsFor.count() > 0;
  if (leads && process.ledFrom < 0) process.ledFrom = now_.count();
  if (leads || process.ledFrom < 0) return;
  const std::string what = "token " + toString(process.life->published.token);
  report_.timeline.spans.push_back({process.number, process.ledFrom, now_.count(), what, true});
  process.ledFrom = -1;
}

}  // namespace tenure::test
