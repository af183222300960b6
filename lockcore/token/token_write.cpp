#include "token_write.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/lock_errors.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/random_draws.hpp"

namespace tenure {
namespace {

/// An error that waiting for a moment cannot mend.
bool isLasting(const StoreError& error) {
  return error.errorClass != ErrorClass::transient && error.errorClass != ErrorClass::throttled;
}

std::string lockName(const LockTokenParts& token) { return "lock " + toString(token.key); }

}  // namespace

HolderInfo holderIn(const LeaseRecord& record, std::chrono::nanoseconds unchangedFor) {
  return {record.holder, record.token, record.leaseDuration, unchangedFor, record.acquiredAtMillis};
}

std::string holderText(const HolderInfo& holder) {
  return "is held by " + shown(nameOf(holder.holder), mostOfHolder) + " (" + shown(holder.holder, mostOfHolder) + ") " +
         withToken(holder.token);
}

LockError storeFailure(const StoreError& error) {
  return {lockErrcOf(error.errorClass), error.message, std::nullopt, error};
}

LockError lostError(RevokeReason reason, std::string message, std::optional<HolderInfo> holder) {
  return {LockErrc::lost, std::move(message), std::move(holder), std::nullopt, {}, reason};
}

LockError expiredError(const LeaseKey& key) {
  return lostError(RevokeReason::expired, "the lease of lock " + toString(key) +
                                              " is over, and an expired lock cannot be renewed; acquire it again");
}

LockError inheritedError(const LeaseKey& key) {
  return lostError(RevokeReason::lost,
                   "lock " + toString(key) +
                       " counts as lost: the store's history has changed since (a standby was promoted), and no clock "
                       "here knows that its lease still runs; acquire it again");
}

LockError unsentError(const LeaseKey& key, const std::string& what) {
  return {LockErrc::storeUnavailable, "the " + what + " of lock " + toString(key) +
                                          " was not sent, because its time was over before; allow it more"};
}

LockError powerless(const LockTokenParts& token, TokenStanding standing, const std::optional<LeaseRecord>& record) {
  const std::string name = lockName(token);
  switch (standing) {
    case TokenStanding::superseded:
      return {LockErrc::superseded,
              name +
                  " was renewed with this token before, so only the newer token counts; if you lost that one, resume " +
                  "the lock by its owner " + shown(token.owner, mostOfHolder),
              holderIn(*record)};
    case TokenStanding::released:
      return {LockErrc::notHeld, name + " was released; acquire it again"};
    case TokenStanding::taken:
      if (record->released)
        return lostError(RevokeReason::lost,
                         name + " was taken over by " + shown(record->holder, mostOfHolder) + " and released since");
      return lostError(RevokeReason::lost, name + " was lost: it " + holderText(holderIn(*record)), holderIn(*record));
    case TokenStanding::missing:
    case TokenStanding::current:
      break;
  }
  return lostError(RevokeReason::recordMissing,
                   name + " has no record in this store; it was pruned, or the token is from " + "another store (" +
                       token.store + ")");
}

std::chrono::nanoseconds TokenWrite::sureFor(std::string_view clockDomain, const Instant& now) const {
  using std::chrono::nanoseconds;
  if (anyHistory_ || seen_ == Seen::present) return nanoseconds::max();
  const nanoseconds left = remainingOf(token_, clockDomain, now).value_or(nanoseconds{0});
  if (attempts_.empty() || lease_ >= token_.lease) return left;
  LockTokenParts shorter = token_;  // all that an unanswered renewal may have left
  shorter.lease = lease_;
  shorter.sentAt = attempts_.front().sentAt;
  return std::min(left, remainingOf(shorter, clockDomain, now).value_or(nanoseconds{0}));
}

TokenWrite::Next TokenWrite::unsure() {
  return seen_ == Seen::inherited ? fail(inheritedError(token_.key)) : Next::read;
}

WriteRequest TokenWrite::nextWrite(const Instant& now, std::int64_t displayMillis) {
  WriteRequest request{token_.key,
                       kind_ == Kind::renew ? WriteRequest::Purpose::renew : WriteRequest::Purpose::release,
                       {RecordVersion{token_.version.text(), history_}},
                       {}};
  // A release may find the record released by another release of ours; a renewal may follow a renewal.
  for (const Attempt& attempt : attempts_) request.expected.emplace_back(attempt.version.text(), history_);
  LeaseRecord& record = request.record;
  record.holder = token_.owner;
  record.version = RecordVersion{uuid4(random_)};
  record.leaseDuration = lease_;
  record.token = token_.token;
  record.released = kind_ == Kind::release;
  request.lengthens = kind_ == Kind::renew && lease_ > token_.lease;
  record.acquiredAtMillis = token_.acquiredAtMillis;
  record.renewedAtMillis = displayMillis;
  attempts_.push_back({record.version, now});
  return request;
}

TokenWrite::Next TokenWrite::answered(const WriteOutcome& outcome) {
  if (std::holds_alternative<Applied>(outcome)) return land(Attempt{attempts_.back()});
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    // A write that was delivered twice conflicts with its own first copy, so the attempt may still have been applied.
    return conflict->current ? judge(*conflict->current) : Next::read;
  }
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    attempts_.pop_back();
    return failed(rejected->error, attempts_.empty() ? Next::write : Next::read);
  }
  lastError_ = std::get<Unknown>(outcome).error;
  return Next::read;
}

TokenWrite::Next TokenWrite::readBack(const ReadOutcome& outcome) {
  if (!outcome) return failed(outcome.error(), Next::read);
  return judge(*outcome);
}

TokenWrite::Next TokenWrite::judge(const std::optional<LeaseRecord>& record) {
  if (record && record->holder == token_.owner) {
    const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                    [&](const Attempt& attempt) { return attempt.version == record->version; });
    const bool asWritten = record->released == (kind_ == Kind::release);
    if (found != attempts_.end() && asWritten) return land(Attempt{*found});
  }
  const TokenStanding standing = standingOf(token_, record);
  if (standing != TokenStanding::current) return gone(record, standing);
  seen_ = record->inherited ? Seen::inherited : Seen::present;
  history_ = record->inherited ? std::string{} : record->version.history();
  return Next::write;
}

TokenWrite::Next TokenWrite::land(const Attempt& attempt) {
  token_.version = attempt.version;
  token_.sentAt = attempt.sentAt;
  token_.lease = lease_;
  release_ = ReleaseResult::released;
  return Next::done;
}

TokenWrite::Next TokenWrite::gone(const std::optional<LeaseRecord>& record, TokenStanding standing) {
  // With an unanswered release the lock may have been ours until then: it is given up all the same.
  const bool nothingLeft = standing == TokenStanding::released || standing == TokenStanding::missing;
  if (kind_ == Kind::release && nothingLeft) {
    release_ = ReleaseResult::notHeld;
    return Next::done;
  }
  return fail(powerless(token_, standing, record));
}

TokenWrite::Next TokenWrite::failed(const StoreError& error, Next otherwise) {
  lastError_ = error;
  if (!isLasting(error)) return otherwise;
  return fail(attempts_.empty() ? storeFailure(error) : giveUp());
}

TokenWrite::Next TokenWrite::fail(LockError error) {
  error_ = std::move(error);
  return Next::failed;
}

LockError TokenWrite::giveUp() const {
  const std::string what = kind_ == Kind::renew ? "renewal" : "release";
  if (attempts_.empty()) return lastError_ ? storeFailure(*lastError_) : unsentError(token_.key, what);
  const StoreError last = lastError_.value_or(StoreError{ErrorClass::transient, "the record kept changing"});
  const bool shortens = kind_ == Kind::renew && lease_ < token_.lease;
  const std::string most =
      shortens ? "; the old token counts only for " + std::to_string(lease_.count()) + " ms from the call on" : "";
  return {LockErrc::unknown,
          "it is not known whether the " + what + " of " + lockName(token_) + " arrived: " + last.message + most +
              "; the lock ends with its lease, or " +
              (kind_ == Kind::renew ? "resume it by its owner " + token_.owner : "release it once more"),
          std::nullopt, last};
}

}  // namespace tenure
