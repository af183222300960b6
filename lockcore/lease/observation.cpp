#include "observation.hpp"

#include <algorithm>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/name_text.hpp"

namespace tenure {

Observation::Sighting::Sighting(const LeaseRecord& record)
    : version{record.version},
      holder{record.holder},
      leaseDuration{record.leaseDuration},
      token{record.token},
      released{record.released},
      vanished{record.vanished},
      inherited{record.inherited},
      keptAtRelease{record.keptAtRelease},
      releasedFor{record.released ? record.successor : Successor{}},
      livenessFileId{record.livenessFile ? record.livenessFile->id : std::string{}},
      acquiredAtMillis{record.acquiredAtMillis} {
  releasedFor.heartbeat = std::min(releasedFor.heartbeat, leaseDuration);
}

bool Observation::Sighting::shows(const LeaseRecord& record) const noexcept {
  return version == record.version && version.history() == record.version.history() && holder == record.holder &&
         released == record.released && token == record.token && leaseDuration == record.leaseDuration;
}

bool Observation::Sighting::renewedBy(const LeaseRecord& record) const noexcept {
  return token == record.token && holder == record.holder && !record.released && !(version == record.version);
}

bool Observation::confirm(const Instant& now, const std::optional<LeaseRecord>& record, bool written) {
  const auto next = record ? std::make_shared<Sighting>(*record) : nullptr;
  const bool same = (record_ != nullptr) == record.has_value() && (!record || record_->shows(*record));
  if (next) next->releasedFor = leftBy(*next, same);
  const bool news = !known_ || !same;
  if (news) {
    if (next) noteLoss(now, *next, written);
    renewed_ = record && record_ && record_->renewedBy(*record);
    firstSeen_ = now;
    // What this candidate has acquired from this state, and removed, has no other owner.
    vanishedLease_ = !record && written && tried_ ? std::chrono::milliseconds{0} : leaseToWaitOut(record);
    afterAnother_ = record && record->vanished && record_ && record_->keptAtRelease;
  }
  if (!same) tried_ = false;
  record_ = next;
  if (record) newestToken_ = std::max(newestToken_, record->token);
  if (record && record->released) overToken_ = std::max(overToken_, record->token);
  // The counter may state this candidate's own last term, because the client that has led since counts nothing.
  written_ = written && !afterAnother_ && !(record && record->inherited);
  known_ = true;
  confirmedAt_ = now;
  return news;
}

/// Who did not see the term held does not know how long ago it was released, so it waits for nobody: the candidate that
/// is named may be dead, and a process that tries for a moment, again and again, would never get past it.
Successor Observation::leftBy(const Sighting& next, bool same) const {
  if (same) return record_->releasedFor;
  const bool seenHeld = record_ && !record_->released && record_->token == next.token && record_->holder == next.holder;
  return {next.releasedFor.name, seenHeld ? next.releasedFor.heartbeat : std::chrono::milliseconds{0}};
}

/// The store has gone back behind a term that held the lease when it was seen last, or whose record had vanished. That
/// term may still run, and it may be an operator's pause; only this candidate's memory knows of it. So what is owed to
/// it is kept until its lease has passed, its end is shown, or a later term shows that somebody was free to begin one.
void Observation::noteLoss(const Instant& now, const Sighting& next, bool written) {
  if (lost_ && ends(*lost_, next, written)) lost_.reset();
  const auto lost = lostBehind(now, next, written);
  if (!lost) return;
  // The next failover may lose a short term that began while a longer one was waited out.
  const auto left = [&](const LostTerm& term) { return term.lease - elapsedForChallenger(term.from, now); };
  if (!lost_ || left(*lost) > left(*lost_)) lost_ = std::make_shared<const LostTerm>(*lost);
}

/// A release is a term's last write, whichever history shows it. A late acquisition of this candidate's own is a later
/// term only within one history.
bool Observation::ends(const LostTerm& term, const Sighting& next, bool written) const {
  if (next.token == term.token) return next.released || goesOn(next);
  return next.token > term.token && (tried_ || !written || next.version.history() == term.history);
}

/// What the holder has written since, and not an older state of its term.
bool Observation::goesOn(const Sighting& next) const {
  return record_ && !record_->vanished && record_->version.history() == next.version.history();
}

/// The term that may hold the lease by the state that was seen last. A state of a term that is known to be over is an
/// old one.
std::optional<LostTerm> Observation::owed() const {
  if (record_ && (record_->released || written_ || record_->token <= overToken_)) return std::nullopt;
  const bool gone = !record_ || record_->vanished;
  const auto lease = gone ? vanishedLease_ : record_->leaseDuration;
  if (lease.count() == 0) return std::nullopt;
  if (record_) return LostTerm{record_->holder, record_->token, firstSeen_, lease, history()};
  return LostTerm{vanishedRecord(newestToken_, lease).holder, newestToken_, firstSeen_, lease};
}

/// A candidate's own acquisition follows the state on which it was conditioned, under a higher token. If it arrives
/// later, what came between has ended, or was removed; but in another history it may be lost (a promotion has brought
/// the state before it back). Then the acquisition is no later term: it shows nothing of the one between.
///
/// A lost term may have been renewed since it was seen, and then all of its lease is ahead. Only of a pause nobody
/// renews: it ends when it was to end, if it was seen without a change for half of its lease.
std::optional<LostTerm> Observation::lostBehind(const Instant& now, const Sighting& next, bool written) const {
  const bool rises = next.token.isNone() || next.token > newestToken_;
  const bool follows = written && rises && (tried_ || history() == next.version.history());
  if (follows) return std::nullopt;
  auto term = owed();
  // A record without a token is that of another client, which counts nothing.
  if (!term || term->token.isNone()) return std::nullopt;
  if (!written && (next.token.isNone() || next.token > term->token)) return std::nullopt;
  // Of a term that the store has kept, the renewal that made its lease longer may be lost.
  const bool kept = next.token == term->token && (goesOn(next) || next.leaseDuration >= term->lease);
  if (kept || ends(*term, next, written)) return std::nullopt;
  const bool seenForLong = elapsedForChallenger(firstSeen_, confirmedAt_) * 2 >= term->lease;
  const bool isPause = nameOf(term->holder).starts_with(pauseNamePrefix);
  if (renewed_ || !seenForLong || !isPause) term->from = now;
  return term;
}

bool Observation::mayHideATerm(const Instant& now, const LeaseRecord& own) const {
  const bool waits = lost_ && elapsedForChallenger(lost_->from, now) < lost_->lease;
  return waits || lostBehind(now, Sighting{own}, true);
}

/// A record that vanishes (TTL, an operator, a restored table) says nothing about its holder, nor about a process that
/// took over since: both find out only at their next renewal. So the challenger waits for the lease that was seen in
/// the record, or for the lease that the store's counter states, whichever is longer.
///
/// A record without a token was written by a client that releases by deleting, unless it says otherwise. The last term
/// of this library is over then, unless it was not known when that record was seen: such a term may have begun since.
/// That goes by tokens. So it does not go for a counter of a standby that was promoted and lacks terms: its token is
/// lower than that of a term which may be valid. (A release that this candidate wrote has no token here, either.)
std::chrono::milliseconds Observation::leaseToWaitOut(const std::optional<LeaseRecord>& record) const {
  using std::chrono::milliseconds;
  const bool vanished = record && record->vanished;
  if (record && !vanished) return milliseconds{0};
  const bool foreign = known_ && record_ && record_->token.isNone() && !record_->keptAtRelease;
  const bool came = vanished && (record->token > newestToken_ || record->inherited);
  if (foreign && !came) return milliseconds{0};
  const milliseconds seen = record_ ? std::max(record_->leaseDuration, vanishedLease_) : vanishedLease_;
  return vanished ? std::max(seen, record->leaseDuration) : seen;
}

void Observation::adopt(const LeaseSighting& sighting) {
  record_ = sighting.record ? std::make_unique<const Sighting>(*sighting.record) : nullptr;
  written_ = tried_ = false;
  vanishedLease_ = sighting.vanishedLease;
  if (record_)
    vanishedLease_ =
        record_->vanished ? std::max(vanishedLease_, record_->leaseDuration) : std::chrono::milliseconds{0};
  newestToken_ = std::max({newestToken_, sighting.tokenFloor, record_ ? record_->token : FencingToken{}});
  firstSeen_ = sighting.since;
  confirmedAt_ = sighting.since;
  renewed_ = false;
  lost_ = sighting.lost;
  known_ = true;
}

bool Observation::adoptReleased(const Instant& now, const Observation& other) {
  if (!other.known_ || !other.record_ || !other.record_->released || other.record_->inherited) return false;
  noteLoss(now, *other.record_, false);
  record_ = other.record_;
  written_ = tried_ = false;
  vanishedLease_ = std::chrono::milliseconds{0};
  firstSeen_ = now;
  known_ = true;
  return true;
}

void Observation::provenDead(const Instant& now, const std::string& livenessFileId) {
  if (deadLivenessFile_ == livenessFileId) return;
  deadLivenessFile_ = livenessFileId;
  deadSince_ = now;
}

std::vector<RecordVersion> Observation::expected() const {
  if (!record_) return {};
  return {record_->version};
}

bool Observation::heldBySelf() const noexcept { return record_ && !record_->released && written_; }

bool Observation::heldByOther() const noexcept {
  return record_ && !record_->released && !record_->vanished && !written_;
}

const Successor& Observation::releasedFor() const noexcept {
  static const Successor nobody;
  return known_ && record_ ? record_->releasedFor : nobody;
}

std::optional<HolderInfo> Observation::holderSeen(const Instant& now) const {
  if (!record_ || record_->released) return std::nullopt;
  const auto unchanged = std::max(elapsedForChallenger(firstSeen_, now), std::chrono::nanoseconds{0});
  return HolderInfo{record_->holder, record_->token, record_->leaseDuration, unchanged, record_->acquiredAtMillis};
}

void Observation::leave(const Instant& anchor, std::chrono::nanoseconds validFor) noexcept {
  leftFrom_ = anchor;
  leftFor_ = validFor;
}

void Observation::forget(FencingToken own) noexcept {
  overToken_ = std::max(overToken_, own);
  known_ = tried_ = false;
  record_.reset();
  lost_.reset();
  vanishedLease_ = std::chrono::milliseconds{0};
}

bool Observation::lacksTerms(FencingToken newest) const noexcept {
  return record_ && (record_->inherited || (!record_->token.isNone() && record_->token < newest));
}

std::optional<std::chrono::nanoseconds> Observation::untilFree(const Instant& now,
                                                               std::chrono::nanoseconds politeness) const {
  if (!known_) return std::nullopt;
  const auto byRecord = untilFreeByRecord(now, politeness);
  if (!lost_) return byRecord;
  return std::max(byRecord, lost_->lease + politeness - elapsedForChallenger(lost_->from, now));
}

std::chrono::nanoseconds Observation::untilFreeByRecord(const Instant& now, std::chrono::nanoseconds politeness) const {
  // This candidate may have written a record by which it does not lead: its term ran out, or the acquiring write was
  // answered too late. Such a record has no other owner to wait for, only the work of the term that ran out. The
  // candidate's name alone does not prove this: a virtual machine that was cloned while it ran is another candidate
  // with the same name, and it leads by what it wrote.
  if (heldBySelf()) {
    const auto left = leftFor_ - elapsedForChallenger(leftFrom_, now);
    return std::max(left, std::chrono::nanoseconds{0});
  }
  const auto since = elapsedForChallenger(firstSeen_, now);
  if (absent()) return vanishedLease_ + politeness - since;
  const auto byLease = record_->leaseDuration + politeness - since;
  if (record_->inherited) return byLease;
  if (record_->released) return politeness - since;
  const bool dead = !deadLivenessFile_.empty() && record_->livenessFileId == deadLivenessFile_;
  if (!dead) return byLease;
  return std::min(byLease, politeness - elapsedForChallenger(deadSince_, now));
}

}  // namespace tenure
