// Which rare paths a step took, as seen from outside the machine.
#include "simulation/sim_world.hpp"

namespace tenure::test {
namespace {

template <class Action>
const Action* find(const LeaseActions& actions) {
  for (const LeaseAction& a : actions) {
    if (const auto* found = std::get_if<Action>(&a)) return found;
  }
  return nullptr;
}

bool holds(LeaseState state) { return state == LeaseState::leading || state == LeaseState::draining; }

bool logs(const LeaseActions& actions, std::string_view words) {
  for (const LeaseAction& a : actions) {
    const auto* log = std::get_if<action::Log>(&a);
    if (log != nullptr && log->line.find(words) != std::string::npos) return true;
  }
  return false;
}

SimPoint pointOf(RevokeReason reason) {
  switch (reason) {
    case RevokeReason::stopped:
      return SimPoint::revokedStopped;
    case RevokeReason::steppedDown:
      return SimPoint::revokedSteppedDown;
    case RevokeReason::expired:
      return SimPoint::revokedExpired;
    case RevokeReason::lost:
      return SimPoint::revokedLost;
    case RevokeReason::recordMissing:
      return SimPoint::revokedRecordMissing;
    case RevokeReason::storeUnreachable:
      return SimPoint::revokedUnreachable;
    case RevokeReason::fatal:
    case RevokeReason::notStarted:
      break;
  }
  return SimPoint::revokedFatal;
}

}  // namespace

/// Called before the actions are performed: the life still shows the state before the step.
void SimWorld::noteStep(Process& process, LeaseState before, bool wasInDoubt, const LeaseEvent& event,
                        const LeaseActions& actions) {
  PointCounts& points = report_.points;
  const auto* renewed = find<action::Renewed>(actions);
  const auto* revoked = find<action::Revoked>(actions);
  if (find<action::Elected>(actions) != nullptr) noteElected(process, before, event);
  if (revoked != nullptr) {
    noteEnd(process, before, event, *revoked);
    if (wasInDoubt && revoked->reason == RevokeReason::storeUnreachable) points.hit(SimPoint::expiredInDoubt);
  }
  if (renewed != nullptr && renewed->afterDoubt) points.hit(SimPoint::renewedAfterDoubt);
  if (const auto* write = std::get_if<event::WriteReply>(&event))
    noteReply(process, before, *write, renewed != nullptr);
  if (const auto* read = std::get_if<event::ReadReply>(&event)) noteRead(process, before, *read, renewed != nullptr);
  if (const auto* send = find<action::SendRead>(actions)) {
    if (holds(before) && revoked == nullptr && send != nullptr) points.hit(SimPoint::renewalPendingFull);
    if (std::holds_alternative<event::StoreHint>(event)) points.hit(SimPoint::hintTaken);
  }
  if (const auto* send = find<action::SendWrite>(actions)) {
    const bool several = send->request.expected.size() >= 3;
    if (several && send->request.purpose == WriteRequest::Purpose::renew) {
      points.hit(SimPoint::renewalOverSeveralVersions);
    }
    const bool first = std::holds_alternative<event::Start>(event);
    if (first) points.hit(SimPoint::lockTakenWithoutALook);
    if (several && send->request.purpose == WriteRequest::Purpose::release) points.hit(SimPoint::releaseAfterUnknown);
  }
  if (std::holds_alternative<event::Wakeup>(event) && process.life->unanswered &&
      find<action::InDoubt>(actions) != nullptr) {
    points.hit(SimPoint::gaveUpByItself);
  }
  if (before == LeaseState::draining && logs(actions, "was lost while")) points.hit(SimPoint::lostWhileDraining);
  if (logs(actions, "does not believe the report")) points.hit(SimPoint::reportRefused);
  if (logs(actions, "drain timeout")) points.hit(SimPoint::drainTimedOut);
  if (logs(actions, "acquired again for a higher one")) points.hit(SimPoint::acquireTokenTooLow);
  noteStop(process, before, event, actions);
}

void SimWorld::noteElected(Process& process, LeaseState before, const LeaseEvent& event) {
  PointCounts& points = report_.points;
  const auto* write = std::get_if<event::WriteReply>(&event);
  if (before == LeaseState::acquiring && write != nullptr && std::holds_alternative<Conflict>(write->outcome)) {
    points.hit(SimPoint::acquireRecoveredByImage);
  }
  if (std::holds_alternative<event::ReadReply>(event)) points.hit(SimPoint::acquireRecoveredByRead);
  const Process& old = *processes_[last_.process];
  if (report_.totals.acquisitions == 0) return points.hit(SimPoint::firstToken);
  if (process.lives > 1) points.hit(SimPoint::electedAfterRestart);
  if (last_.deleted && process.startedAt > last_.deletedAt) points.hit(SimPoint::electedAfterUnseenDeletion);
  if (last_.deleted) return points.hit(SimPoint::electedAfterDeletion);
  if (last_.foreign) return points.hit(SimPoint::electedAfterForeign);
  if (last_.released) return points.hit(SimPoint::electedAfterRelease);
  if (last_.crashed) {
    points.hit(now_ - lastWriteAt_ < lease_ / 3 ? SimPoint::electedByDeathNotice : SimPoint::electedAfterCrash);
    return;
  }
  if (&old == &process) return points.hit(SimPoint::electedAfterOwnTerm);
  if (now_ < old.pausedUntil) points.hit(old.asleep ? SimPoint::electedAfterSuspend : SimPoint::electedAfterPause);
  if (old.life && old.life->timing.duration() > process.life->timing.duration()) {
    points.hit(SimPoint::electedOverLongerLease);
  }
}

void SimWorld::noteEnd(Process& /*process*/, LeaseState before, const LeaseEvent& event,
                       const action::Revoked& revoked) {
  PointCounts& points = report_.points;
  points.hit(pointOf(revoked.reason));
  if (std::holds_alternative<event::TokenSeen>(event)) points.hit(SimPoint::revokedByToken);
  if (revoked.detail.find("no progress") != std::string::npos) points.hit(SimPoint::revokedWithoutProgress);
  if (revoked.detail.find("an operator, or a candidate") != std::string::npos) points.hit(SimPoint::operatorHeard);
  const auto* write = std::get_if<event::WriteReply>(&event);
  const bool late = write != nullptr && std::holds_alternative<Applied>(write->outcome);
  const bool over = revoked.reason == RevokeReason::expired || revoked.reason == RevokeReason::storeUnreachable;
  if (before == LeaseState::leading && late && over) points.hit(SimPoint::replyAfterTheEnd);
}

void SimWorld::noteReply(Process& process, LeaseState before, const event::WriteReply& reply, bool renewed) {
  PointCounts& points = report_.points;
  const LeaseState after = process.machine->state();
  const bool conflict = std::holds_alternative<Conflict>(reply.outcome);
  const bool unknown = std::holds_alternative<Unknown>(reply.outcome);
  if (before == LeaseState::acquiring) {
    if (conflict && after != LeaseState::leading) points.hit(SimPoint::acquireRaceLost);
    if (unknown) points.hit(SimPoint::acquireUnknown);
    const bool tooLate = std::holds_alternative<Applied>(reply.outcome) && after == LeaseState::candidate;
    if (tooLate) points.hit(SimPoint::acquireAnsweredTooLate);
  } else if (holds(before) && conflict && renewed) {
    points.hit(SimPoint::renewalRecoveredByImage);
  }
  const auto* rejected = std::get_if<Rejected>(&reply.outcome);
  if (rejected != nullptr && rejected->error.errorClass == ErrorClass::throttled) points.hit(SimPoint::throttledGiven);
}

void SimWorld::noteRead(Process& process, LeaseState before, const event::ReadReply& reply, bool renewed) {
  PointCounts& points = report_.points;
  if (!reply.outcome) {
    const ErrorClass kind = reply.outcome.error().errorClass;
    if (kind == ErrorClass::corrupt) points.hit(SimPoint::corruptGiven);
    if (kind == ErrorClass::credentials) points.hit(SimPoint::credentialsGiven);
    if (kind == ErrorClass::misconfigured) points.hit(SimPoint::misconfiguredGiven);
    return;
  }
  if (!holds(before)) return;
  if (renewed) points.hit(SimPoint::renewalRecoveredByRead);
  if (!renewed && process.machine->state() == before) points.hit(SimPoint::renewalNotArrived);
}

void SimWorld::noteStop(Process& process, LeaseState before, const LeaseEvent& event, const LeaseActions& actions) {
  PointCounts& points = report_.points;
  if (std::holds_alternative<event::Stop>(event)) {
    if (before == LeaseState::acquiring) points.hit(SimPoint::stoppedWhileAcquiring);
    if (before == LeaseState::candidate && process.machine->state() == LeaseState::releasing) {
      points.hit(SimPoint::stoppedWithPending);
    }
  }
  const LeaseState after = process.machine->state();
  const auto* stopped = find<action::Stopped>(actions);
  if (before == LeaseState::releasing && after != LeaseState::releasing) {
    const auto* write = std::get_if<event::WriteReply>(&event);
    if (write != nullptr && last_.process == process.number) {
      last_.released = true;
      if (std::holds_alternative<Conflict>(write->outcome)) points.hit(SimPoint::releaseFoundNothing);
    }
    if (stopped != nullptr && stopped->result == ReleaseResult::unknown) points.hit(SimPoint::releaseUnknown);
  }
  if (stopped != nullptr && stopped->result == ReleaseResult::notDrained) points.hit(SimPoint::stoppedNotDrained);
}

}  // namespace tenure::test
