// Requests and their replies: lost, late, doubled, in another order, refused, or answered with nothing certain.
#include <utility>

#include "lockcore/simulation/sim_world.hpp"

namespace tenure::test {

namespace {

const StoreError busy{ErrorClass::transient, "the store is busy"};
const StoreError timedOut{ErrorClass::transient, "timed out"};

}  // namespace

SimWorld::Fate SimWorld::drawFate() {
  const auto draw = [this](double p) { return faults_ && chance_.chance(p); };
  Fate fate{draw(plan_.loseRequest), draw(plan_.loseReply), draw(plan_.twiceRequest), draw(plan_.twiceReply),
            draw(plan_.lateRequest), draw(plan_.lateReply), draw(plan_.reject),       draw(plan_.reportUnknown),
            draw(plan_.hideCurrent), draw(plan_.corrupt)};
  fate.lost = fate.lost || now_ < outageUntil_;
  return fate;
}

TrueTime SimWorld::delay() { return plan_.leastDelay + upTo(plan_.mostDelay - plan_.leastDelay); }

void SimWorld::sendRead(Process& process, const action::SendRead& read) {
  const Fate fate = drawFate();
  deliver(
      process, fate, read.timeout,
      [this, fate, id = read.attempt]() -> LeaseEvent {
        return event::ReadReply{id, readAtStore(fate)};
      },
      event::ReadReply{read.attempt, timedOut});
}

void SimWorld::sendWrite(Process& process, const action::SendWrite& write) {
  const Fate fate = drawFate();
  deliver(
      process, fate, write.timeout,
      [this, fate, id = write.attempt, request = write.request]() -> LeaseEvent {
        return event::WriteReply{id, writeAtStore(fate, request)};
      },
      event::WriteReply{write.attempt, Unknown{timedOut}});
}

void SimWorld::deliver(Process& process, const Fate& fate, Nanos timeout, const std::function<LeaseEvent()>& atStore,
                       LeaseEvent gaveUp) {
  SimLife& life = *process.life;
  if (fate.troubled()) life.troubledUntil(now_);
  const auto arrive = [this, &process, owner = &life, fate, atStore] {
    const LeaseEvent reply = atStore();
    if (fate.replyLost || process.life.get() != owner) return;
    const TrueTime when = now_ + delay() + (fate.replyLate ? upTo(2 * lease_) : TrueTime{0});
    tell(process, when, reply);
    if (fate.replyTwice) tell(process, when + upTo(lease_), reply);
  };
  if (!fate.lost) {
    const TrueTime when = now_ + delay() + (fate.late ? upTo(3 * lease_) : TrueTime{0});
    at(when, arrive);
    if (fate.twice) at(when + upTo(lease_ / 2), arrive);
  }
  if (plan_.clientAnswersAtTimeout) tell(process, now_ + life.clock.trueTimeFor(timeout), std::move(gaveUp));
}

ReadOutcome SimWorld::readAtStore(const Fate& fate) const {
  if (fate.rejected) return busy;
  if (fate.corrupt) return StoreError{ErrorClass::corrupt, "the record is not understood"};
  return store_.record();
}

WriteOutcome SimWorld::writeAtStore(const Fate& fate, const WriteRequest& request) {
  if (fate.rejected) return Rejected{busy};
  if (fate.corrupt) return Rejected{{ErrorClass::corrupt, "the record is not understood"}};
  WriteOutcome outcome = store_.write(request);
  if (std::holds_alternative<Applied>(outcome)) hintAll();
  if (fate.unknown) return Unknown{busy};
  if (fate.hidden && std::holds_alternative<Conflict>(outcome)) return Conflict{};
  return outcome;
}

void SimWorld::hintAll() {
  for (auto& process : processes_) {
    if (process->machine && chance_.chance(plan_.hint)) tell(*process, now_ + delay(), event::StoreHint{});
  }
}

/// Keeps what a process has been shown, so that the checker can hold it to that.
void SimWorld::shown(SimLife& life, const LeaseEvent& event) {
  // The machine gives a request up after a while; a reply that comes later shows it nothing.
  const Nanos patience = life.timeout + life.timeout / 8 + std::chrono::milliseconds{5};
  const bool awaited = life.unanswered && elapsedForHolder(life.clock.at(life.sentAt), life.clock.at(now_)) < patience;
  const auto show = [&](const std::optional<LeaseRecord>& record) {
    if (!record || record->holder == life.name || record->token <= life.highestShown) return;
    life.highestShown = record->token;
    life.highestShownAt = life.clock.at(now_);
  };
  if (const auto* told = std::get_if<event::TokenSeen>(&event)) life.toldOf = std::max(life.toldOf, told->token);
  if (const auto* read = std::get_if<event::ReadReply>(&event)) {
    if (read->attempt != life.attempt || !awaited) return;
    life.unanswered = false;
    if (read->outcome) show(*read->outcome);
  } else if (const auto* write = std::get_if<event::WriteReply>(&event)) {
    if (write->attempt != life.attempt || !awaited) return;
    life.unanswered = false;
    if (std::holds_alternative<Applied>(write->outcome)) checker_.count("applied");
    if (std::holds_alternative<Unknown>(write->outcome)) checker_.count("unknown");
    const auto* conflict = std::get_if<Conflict>(&write->outcome);
    if (conflict != nullptr) checker_.count("conflict");
    if (conflict != nullptr && conflict->current) show(*conflict->current);
  }
}

}  // namespace tenure::test
