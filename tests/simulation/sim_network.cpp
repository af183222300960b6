// Requests and their replies: lost, late, duplicated, reordered, refused, or answered without certainty.
#include <algorithm>
#include <iterator>
#include <utility>

#include "simulation/sim_world.hpp"

namespace tenure::test {
namespace {

const StoreError busy{ErrorClass::transient, "the store is busy"};
const StoreError timedOut{ErrorClass::transient, "timed out"};

StoreError errorOf(AnswerFate::Rejection error) {
  switch (error) {
    case AnswerFate::Rejection::throttled:
      return {ErrorClass::throttled, "slow down"};
    case AnswerFate::Rejection::credentials:
      return {ErrorClass::credentials, "not allowed"};
    case AnswerFate::Rejection::misconfigured:
      return {ErrorClass::misconfigured, "there is no such table"};
    case AnswerFate::Rejection::corrupt:
      return {ErrorClass::corrupt, "the record is not understood"};
    case AnswerFate::Rejection::none:
    case AnswerFate::Rejection::transient:
      break;
  }
  return busy;
}

}  // namespace

SimWorld::Fate SimWorld::drawFate(const Process& process) {
  Fate fate;
  fate.lost = process.cutOff || now_ < outageUntil_;
  if (!faults_) return fate;
  fate.lost = happens(FaultKind::loseRequest) || fate.lost;
  fate.replyLost = happens(FaultKind::loseReply);
  fate.twice = happens(FaultKind::twiceRequest);
  fate.replyTwice = happens(FaultKind::twiceReply);
  fate.late = happens(FaultKind::lateRequest);
  fate.replyLate = happens(FaultKind::lateReply);
  using Rejection = AnswerFate::Rejection;
  if (happens(FaultKind::reject)) fate.answer.error = Rejection::transient;
  if (happens(FaultKind::throttle)) fate.answer.error = Rejection::throttled;
  if (happens(FaultKind::credentials)) fate.answer.error = Rejection::credentials;
  if (happens(FaultKind::misconfigured)) fate.answer.error = Rejection::misconfigured;
  if (happens(FaultKind::corrupt)) fate.answer.error = Rejection::corrupt;
  if (now_ < process.oneWayUntil) {
    fate.replyLost = true;
    fate.late = fate.late || streams_.network.chance(0.5);
  }
  fate.answer.unknown = happens(FaultKind::unknown);
  fate.answer.deferred = happens(FaultKind::deferred);
  fate.answer.hideImage = happens(FaultKind::hideImage);
  fate.answer.stale = happens(FaultKind::staleRead);
  fate.answer.lie = happens(FaultKind::lie);
  fate.answer.unconfirmed = happens(FaultKind::cancelledWait);
  return fate;
}

/// A client that answers at its deadline if nothing else does; or one that leaves it to the machine to give up.
SimWorld::Task SimWorld::givesUp(const Process& process, Attempt attempt, Task timeout) const {
  if (plan_.has(FaultKind::silentClient)) return {};
  return [life = process.life.get(), attempt, timeout = std::move(timeout)] {
    if (life->unanswered && life->attempt == attempt) timeout();
  };
}

void SimWorld::sendRead(Process& process, const action::SendRead& read) {
  SimLife& life = *process.life;
  const auto reply = [this, &process, id = read.attempt](ReadOutcome outcome) {
    step(process, event::ReadReply{id, std::move(outcome)});
  };
  if (process.endpoint) return process.endpoint->read(read.timeout, reply);
  exchange(
      process.number, life, read.timeout,
      [this, &life, reply](const AnswerFate& fate) -> Task {
        return [reply, outcome = readAtStore(life, fate)] { reply(outcome); };
      },
      givesUp(process, read.attempt, [reply] { reply(timedOut); }));
}

void SimWorld::sendWrite(Process& process, const action::SendWrite& write) {
  SimLife& life = *process.life;
  if (write.request.removes) checker_.removed(12 * longest_);
  const auto reply = [this, &process, id = write.attempt](WriteOutcome outcome) {
    step(process, event::WriteReply{id, std::move(outcome)});
  };
  if (process.endpoint) return process.endpoint->write(write.request, write.timeout, reply);
  exchange(
      process.number, life, write.timeout,
      [this, &life, reply, request = write.request](const AnswerFate& fate) -> Task {
        return [reply, outcome = writeAtStore(life, fate, request)] { reply(outcome); };
      },
      givesUp(process, write.attempt, [reply] { reply(Unknown{timedOut}); }));
}

void SimWorld::exchange(std::size_t process, SimLife& life, Nanos timeout, AtStore atStore, Task gaveUp) {
  ++report_.totals.requests;
  Process& sender = *processes_[process];
  const Fate fate = drawFate(sender);
  if (fate.failed()) life.disturbedUntil(now_);
  if (gaveUp) tellTask(sender, &life, now_ + life.clock.trueTimeFor(timeout), std::move(gaveUp));
  if (fate.lost) return;
  auto arrive = [this, &sender, owner = &life, fate, atStore] {
    Task reply = atStore(fate.answer);
    if (fate.replyLost || sender.life.get() != owner) return;
    const TrueTime when = now_ + delay() + (fate.replyLate ? upTo(streams_.network, 2 * lease_) : TrueTime{0});
    if (fate.replyTwice) tellTask(sender, owner, when + upTo(streams_.network, lease_), reply);
    tellTask(sender, owner, when, std::move(reply));
  };
  const TrueTime when = now_ + delay() + (fate.late ? upTo(streams_.network, 3 * lease_) : TrueTime{0});
  if (fate.answer.deferred) {
    at(when + upTo(streams_.network, lease_ / 4), [atStore] { static_cast<void>(atStore(AnswerFate{})); });
  }
  if (fate.twice) at(when + upTo(streams_.network, lease_ / 2), arrive);
  at(when, std::move(arrive));
}

ReadOutcome SimWorld::readAtStore(SimLife& life, const AnswerFate& fate) {
  if (fate.deferred) return busy;
  if (fate.error != AnswerFate::Rejection::none) return errorOf(fate.error);
  const SimStore& store = storeOf(life);
  if (!fate.stale) return store.told();
  misled(life);
  return store.earlier(staleness());
}

void SimWorld::misled(SimLife& life) {
  life.misledAt = now_ + 2 * lease_;
  report_.points.hit(SimPoint::staleReadGiven);
}

WriteOutcome SimWorld::writeAtStore(SimLife& life, const AnswerFate& fate, const WriteRequest& request) {
  if (fate.deferred) return Unknown{busy};
  if (fate.error != AnswerFate::Rejection::none) return Rejected{errorOf(fate.error)};
  const bool writesData = request.purpose != WriteRequest::Purpose::acquire && !request.record.data.empty();
  if (writesData) {  // no error of the lease's, so the checker is not told
    report_.points.hit(SimPoint::dataRefused);
    return Rejected{StoreError{ErrorClass::misconfigured, "the item is full"}};
  }
  const SentWrite* sent = life.find(request.record.version);
  const bool again = sent != nullptr && sent->applied;
  const bool overdue = life.attempt != 0 && sent != nullptr &&
                       elapsedForHolder(sent->anchor, life.clock.at(now_)) > life.timing.duration();
  SimStore& store = storeOf(life);
  const bool wasReleased = store.record() && store.record()->released;
  const bool inherited = store.told() && store.told()->inherited;
  const FencingToken before = store.record() ? store.record()->token : FencingToken{};
  WriteOutcome outcome = store.write(request);
  if (std::holds_alternative<Applied>(outcome)) {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    if (acquires && wasReleased) last_.released = true;
    if (acquires && inherited) report_.points.hit(SimPoint::inheritedTaken);
    const FencingToken token = std::get<Applied>(outcome).token;
    if (acquires && !before.isNone() && token.value() > before.value() + maxReportedStep + 1) {
      report_.points.hit(SimPoint::blockOfTokensBegun);
    }
    if (request.removes) report_.points.hit(SimPoint::lockRemovedTheRecord);
    stored(life, request.record.version, &store);
    if (overdue) report_.points.hit(SimPoint::lateRequestApplied);
  } else {
    if (again) report_.points.hit(SimPoint::secondCopyRefused);
    if (overdue) report_.points.hit(SimPoint::lateRequestRefused);
  }
  if (fate.unknown) return Unknown{busy};
  if (fate.hideImage && std::holds_alternative<Conflict>(outcome)) return Conflict{};
  return outcome;
}

void SimWorld::stored(SimLife& writer, const RecordVersion& version, const SimTruth* store) {
  if (store == old_.get() && store != nullptr) return storedAtOldPrimary(writer, version, store->record()->token);
  lastWriteAt_ = now_;
  checker_.applied(writer, version, truth_->record(), lives());
  if (plan_.has(FaultKind::hints) && !(service_ && service_->streams())) hintAll();
}

void SimWorld::storedAtOldPrimary(SimLife& writer, const RecordVersion& version, FencingToken token) {
  checker_.appliedAtOldPrimary(writer, version, token);
}

void SimWorld::hintAll() {
  for (auto& process : processes_) {
    if (process->machine && drawn(FaultKind::hints)) tell(*process, now_ + delay(), event::StoreHint{});
  }
}

void SimWorld::watch(Process& process) {
  if (!process.endpoint || !service_->streams() || !plan_.has(FaultKind::hints)) return;
  process.endpoint->watch([this, &process, life = process.life.get()](bool isLoss) {
    if (process.life.get() == life) tell(process, now_, event::StoreHint{isLoss});
  });
}

TrueTime SimWorld::deliver(std::size_t process, const SimLife& life, TrueTime notBefore, Task task) {
  const TrueTime when = std::max(now_ + delay(), notBefore);
  tellTask(*processes_[process], &life, when, std::move(task));
  return when;
}

StreamLie SimWorld::streamLie() {
  if (!drawn(FaultKind::streamLies)) return StreamLie::none;
  report_.points.hit(SimPoint::streamLied);
  SeededRandom& random = stream(FaultKind::streamLies);
  // A stream that stands still tells no more lies.
  if (random.chance(0.02)) return StreamLie::standsStill;
  constexpr StreamLie lies[] = {StreamLie::keepsBack, StreamLie::repeats,   StreamLie::repeats, StreamLie::invents,
                                StreamLie::invents,   StreamLie::elsewhere, StreamLie::ends};
  return lies[random.below(std::size(lies))];
}

void SimWorld::talk() {
  service_->talk();
  at(now_ + lease_ / 5, [this] { talk(); });
}

}  // namespace tenure::test
