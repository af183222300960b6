#include "lease_account.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

RenewalOutcome outcomeOf(const WriteOutcome& outcome) noexcept {
  if (std::holds_alternative<Applied>(outcome)) return RenewalOutcome::acknowledged;
  if (std::holds_alternative<Conflict>(outcome)) return RenewalOutcome::conflict;
  return std::holds_alternative<Rejected>(outcome) ? RenewalOutcome::rejected : RenewalOutcome::unknown;
}

}  // namespace

void LeaseAccount::sent(Attempt attempt, WriteRequest::Purpose purpose, const Instant& now) noexcept {
  if (renewal_ != 0) add(renewals_[static_cast<std::size_t>(RenewalOutcome::unknown)]);  // nobody waits for it now
  const bool renews = purpose == WriteRequest::Purpose::renew;
  renewal_ = renews ? attempt : 0;
  if (renews) renewalSentAt_ = now;
}

void LeaseAccount::took(const LeaseEvent& event, FencingToken term, const Instant& now) {
  if (const auto* reply = std::get_if<event::WriteReply>(&event)) {
    if (renewal_ == 0 || reply->attempt != renewal_) return;
    renewal_ = 0;
    answered(reply->outcome, elapsedForChallenger(renewalSentAt_, now));
  } else if (const auto* seen = std::get_if<event::TokenSeen>(&event)) {
    add(refusals_);
    note(TermEvent::Kind::refused, term, noReason, "a resource has seen token " + toString(seen->token));
  }
}

void LeaseAccount::answered(const WriteOutcome& outcome, nanoseconds time) noexcept {
  add(renewals_[static_cast<std::size_t>(outcomeOf(outcome))]);
  std::size_t bucket = 0;
  while (bucket < renewalTimeBounds.size() && time > milliseconds{renewalTimeBounds[bucket]}) ++bucket;
  add(renewalTimes_[bucket]);
  add(renewalTimeSum_, static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
}

void LeaseAccount::armed(const std::optional<Instant>& wakeup) noexcept {
  dueAt_.store(wakeup ? wakeup->boottime.count() : never, relaxed);
}

void LeaseAccount::told(const action::Elected& elected) {
  add(terms_);
  electedAt_.store(wallClockMillisForDisplay(), relaxed);
  note(TermEvent::Kind::elected, elected.token, noReason, {});
}

void LeaseAccount::told(const action::Renewed& renewed) {
  if (renewed.afterDoubt) note(TermEvent::Kind::doubtEnded, renewed.token, noReason, {});
}

void LeaseAccount::told(const action::InDoubt& doubt, FencingToken term) {
  add(doubts_);
  note(TermEvent::Kind::doubtBegan, term, noReason, doubt.error.message);
}

void LeaseAccount::told(const action::Revoked& revoked) {
  add(revocations_[static_cast<std::size_t>(revoked.reason)]);
  // Only the elector knows which of the two it was; see whyRevoked().
  const std::string detail =
      revoked.detail + (revoked.unstepped ? ", or the thread that renews the lease was blocked" : "");
  note(TermEvent::Kind::revoked, revoked.token, static_cast<std::uint16_t>(revoked.reason), detail);
}

void LeaseAccount::told(const action::LeaderChanged& changed, const Instant& now) noexcept {
  if (changed.leader) return leaderlessUntil(now);
  const std::int64_t from = leaderlessFrom_.load(relaxed);
  if (from < 0) leaderlessFrom_.store(now.boottime.count() + 1 + from, relaxed);
}

void LeaseAccount::told(const action::Stopped& /*stopped*/, const Instant& now) noexcept { leaderlessUntil(now); }

void LeaseAccount::leaderlessUntil(const Instant& now) noexcept {
  const std::int64_t from = leaderlessFrom_.load(relaxed);
  if (from >= 0) leaderlessFrom_.store(-1 - std::max<std::int64_t>(now.boottime.count() - from, 0), relaxed);
}

/// A reader's `now` may be later than the end that the writer is just about to note, so `value` alone could fall again.
nanoseconds LeaseAccount::risen(std::atomic<std::int64_t>& shown, nanoseconds value) noexcept {
  std::int64_t before = shown.load(relaxed);
  while (before < value.count() && !shown.compare_exchange_weak(before, value.count(), relaxed)) {
  }
  return std::max(value, nanoseconds{before});
}

/// One store moves the time of the present term into the sum, so a reader never counts it twice or not at all.
void LeaseAccount::effective(const TermState& term, const Instant& now) noexcept {
  if (!term.leadsAt(now) || effectiveFrom_.load(relaxed) >= 0) return;
  effectiveTerm_ = term.token;
  effectiveUntil_.store((term.anchor.boottime + term.leadsFor).count());
  effectiveFrom_.store(now.boottime.count() - static_cast<std::int64_t>(effective_.load(relaxed)));
}

/// Not beyond the deadline: a process that was paused finds out only later that its term was over.
void LeaseAccount::published(const TermState& term, const Instant& now) noexcept {
  if (effectiveFrom_.load(relaxed) < 0) return;
  if (term.token == effectiveTerm_ && term.leadsAt(now)) {
    return effectiveUntil_.store((term.anchor.boottime + term.leadsFor).count());
  }
  const auto sum = static_cast<std::int64_t>(effectiveAt(now).count());
  effectiveFrom_.store(-1 - sum);
  effective_.store(static_cast<std::uint64_t>(sum), relaxed);
}

nanoseconds LeaseAccount::effectiveAt(const Instant& now) const noexcept {
  std::int64_t from = effectiveFrom_.load(), until = effectiveUntil_.load();
  while (from != effectiveFrom_.load()) {  // another term has begun
    from = effectiveFrom_.load();
    until = effectiveUntil_.load();
  }
  if (from < 0) return nanoseconds{-1 - from};
  const auto before = static_cast<std::int64_t>(effective_.load(relaxed));
  return nanoseconds{std::max(std::min<std::int64_t>(now.boottime.count(), until) - from, before)};
}

void LeaseAccount::note(TermEvent::Kind kind, FencingToken token, std::uint16_t reason, std::string_view detail) {
  const std::string_view kept = fitting(detail, maxTermEventDetail);
  Entry entry;
  entry.atMillis = wallClockMillisForDisplay();
  entry.token = token.value();
  entry.kind = static_cast<std::uint32_t>(kind);
  entry.reason = reason;
  entry.length = static_cast<std::uint16_t>(kept.size());
  std::copy(kept.begin(), kept.end(), entry.detail.begin());
  ring_.push(entry);
}

LeaseCounts LeaseAccount::counts(const Instant& now) const noexcept {
  LeaseCounts out;
  const auto load = [](const auto& from, auto& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i].load(relaxed);
  };
  out.terms = terms_.load(relaxed);
  out.doubts = doubts_.load(relaxed);
  out.refusals = refusals_.load(relaxed);
  load(revocations_, out.revocations);
  load(renewals_, out.renewals);
  load(renewalTimes_, out.renewalTimes);
  const std::int64_t from = leaderlessFrom_.load(relaxed);
  out.leaderless = risen(leaderlessShown_, nanoseconds{from < 0 ? -1 - from : now.boottime.count() - from});
  out.effective = risen(effectiveShown_, effectiveAt(now));
  out.renewalTimeSum = nanoseconds{renewalTimeSum_.load(relaxed)};
  return out;
}

std::vector<TermEvent> LeaseAccount::events() const {
  std::vector<TermEvent> out;
  for (const Entry& entry : ring_.all()) {
    TermEvent event{static_cast<TermEvent::Kind>(entry.kind), entry.atMillis, FencingToken{entry.token}};
    if (entry.reason != noReason) event.reason = static_cast<RevokeReason>(entry.reason);
    event.detail.assign(entry.detail.data(), entry.length);
    out.push_back(std::move(event));
  }
  return out;
}

nanoseconds LeaseAccount::overdue(const Instant& now) const noexcept {
  const std::int64_t due = dueAt_.load(relaxed);
  return due == never ? nanoseconds{0} : std::max(now.boottime - nanoseconds{due}, nanoseconds{0});
}

}  // namespace tenure
