#include "ownership_write.hpp"

#include <algorithm>
#include <bit>

#include <sqlite3.h>

#include <tenure/lockcore/store_checks.hpp>

#include "attributes_json.hpp"
#include "record_codec.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

std::string nameOfCall(const WriteRequest& request) {
  const std::string lease = " lease " + toString(request.key);
  switch (request.purpose) {
    case WriteRequest::Purpose::acquire:
      return "acquiring" + lease;
    case WriteRequest::Purpose::renew:
      return "renewing" + lease;
    case WriteRequest::Purpose::release:
      return "releasing" + lease;
  }
  return "writing" + lease;
}

std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

void bindBeacon(Statement& statement, int first, const std::optional<Beacon>& beacon) {
  if (!beacon) return;  // unbound parameters are NULL
  statement.bind(first, beacon->id);
  statement.bind(first + 1, std::bit_cast<std::int64_t>(beacon->device));
  statement.bind(first + 2, std::bit_cast<std::int64_t>(beacon->inode));
  statement.bind(first + 3, beacon->bootId);
}

}  // namespace

OwnershipWrite::OwnershipWrite(Session& session, ClaimBook& claims, const WriteRequest& request)
    : session_{session}, claims_{claims}, request_{request}, what_{nameOfCall(request)} {}

WriteOutcome OwnershipWrite::perform(const Deadline& deadline) {
  if (auto refused = refusalOf(request_)) return Rejected{std::move(*refused)};
  return conclude(attempt(deadline));
}

WriteOutcome OwnershipWrite::conclude(WriteOutcome outcome) {
  updateClaim(outcome);
  applied_ = std::holds_alternative<Applied>(outcome);
  // Whoever waits for a lease comes before the one who gives it up.
  if (applied_ && releases()) touchWakeFile(session_.files().sidecar, request_.key);
  return outcome;
}

void OwnershipWrite::afterAnswer() {
  if (applied_ && !releases()) touchWakeFile(session_.files().sidecar, request_.key);
}

WriteOutcome OwnershipWrite::concludeCommitted(bool filesUnchanged) {
  return conclude(filesUnchanged ? applied() : stateOfNewFile());
}

OwnershipWrite::Trouble OwnershipWrite::writeInOpenTransaction() {
  if (auto refused = refusalOf(request_)) return Rejected{std::move(*refused)};
  return judgeAndChange();
}

WriteOutcome OwnershipWrite::applied() {
  const bool asked = !acquires() && current_->stepDown == token_;
  return Applied{token_, asked, std::move(warning_)};
}

WriteOutcome OwnershipWrite::attempt(const Deadline& deadline) {
  // Only an acquisition makes a database: a holder whose file was deleted must learn it, not bring it back to life.
  const StoreResult<bool> ready = session_.open(acquires() ? Session::Need::create : Session::Need::existing);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  if (auto trouble = inTransaction(deadline)) return std::move(*trouble);
  // The commit went into the file that was open. If the path names another one by now, nobody else sees it there.
  if (!session_.filesUnchanged()) return stateOfNewFile();
  return applied();
}

OwnershipWrite::Trouble OwnershipWrite::inTransaction(const Deadline& deadline) {
  Transaction transaction{session_, what_};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  if (auto trouble = judgeAndChange()) return trouble;
  if (auto trouble = stakeClaim()) return trouble;
  return transaction.commit();
}

OwnershipWrite::Trouble OwnershipWrite::judgeAndChange() {
  auto found = selectLease(session_, request_.key, what_);
  if (found.has_error()) return Rejected{found.error()};
  current_ = std::move(*found);
  if (auto refused = judge()) return refused;
  return change();
}

bool OwnershipWrite::expects(const RecordVersion& version) const {
  return std::find(request_.expected.begin(), request_.expected.end(), version) != request_.expected.end();
}

Conflict OwnershipWrite::conflict() const {
  return {current_ ? std::optional{current_->record} : std::optional<LeaseRecord>{}};
}

OwnershipWrite::Trouble OwnershipWrite::judge() {
  if (acquires() && (!current_ || current_->record.released)) return judgeClaims();
  if (!current_ || !expects(current_->record.version)) return conflict();
  if (!acquires() && current_->record.holder != request_.record.holder) return conflict();
  return std::nullopt;
}

/// Nobody has the lease by the row, or there is none: a living process may still hold a term that the row does not
/// know.
OwnershipWrite::Trouble OwnershipWrite::judgeClaims() {
  const FencingToken known = current_ ? current_->record.token : FencingToken{};
  if (auto claim = claims_.strongest(session_.files().sidecar, request_.key, known, request_.record.holder)) {
    if (!expects(claim->version)) return Conflict{std::optional{std::move(*claim)}};
    claimed_ = claim->token;
    return std::nullopt;
  }
  // The one that was waited for may be gone meanwhile, which is all the better.
  for (const RecordVersion& version : request_.expected)
    claimed_ = std::max(claimed_, claimedTokenIn(version).value_or(FencingToken{}));
  if (claimed_ > known) return std::nullopt;
  if (current_ ? expects(current_->record.version) : request_.expected.empty()) return std::nullopt;
  return conflict();
}

OwnershipWrite::Trouble OwnershipWrite::change() {
  if (acquires()) {
    if (auto trouble = advanceFence()) return trouble;
  } else {
    token_ = current_->record.token;
    if (auto trouble = lengthenClaim()) return trouble;
  }
  return writeRow();
}

OwnershipWrite::Trouble OwnershipWrite::advanceFence() {
  Statement& select = session_.statements().selectFence;
  select.bind(1, request_.key.name);
  select.bind(2, request_.key.sortKey);
  const int found = select.step();
  const std::int64_t counter = found == SQLITE_ROW ? select.integer(0) : 0;
  select.reset();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return Rejected{session_.failed(what_, found)};

  const FencingToken inRow = current_ ? current_->record.token : FencingToken{};
  const FencingToken seen = std::max({request_.tokenFloor, claimed_, inRow});
  const auto known = std::max(seen, FencingToken{static_cast<std::uint64_t>(std::max<std::int64_t>(counter, 0))});
  if (known >= maxFencingToken) return Rejected{tokensExhausted(request_.key)};
  if (counter < signedToken(seen)) {
    warning_ = session_.store() + ": the fencing counter of lease " + toString(request_.key) + " was " +
               (found == SQLITE_ROW ? "at " + std::to_string(counter) : "missing") + " and was restored to " +
               toString(seen) + "; somebody changed table tenure_fence or the file";
  }
  token_ = known.next();
  Statement& set = session_.statements().setFence;
  set.bind(1, request_.key.name);
  set.bind(2, request_.key.sortKey);
  set.bind(3, signedToken(token_));
  if (const int code = set.run(); code != SQLITE_OK) return Rejected{session_.failed(what_, code)};
  return std::nullopt;
}

OwnershipWrite::Trouble OwnershipWrite::removeRow() {
  Statement& remove = session_.statements().removeLease;
  const StatementUse use{remove};
  remove.bind(1, request_.key.name);
  remove.bind(2, request_.key.sortKey);
  if (const int code = remove.step(); code != SQLITE_DONE) return Rejected{session_.failed(what_, code)};
  return std::nullopt;
}

OwnershipWrite::Trouble OwnershipWrite::writeRow() {
  if (releases() && request_.removes) return removeRow();
  const LeaseRecord& record = request_.record;
  const std::string attributes = *toJson(record.attributes);  // refusalOf() has seen that it can be done
  Statement& write = acquires() ? session_.statements().acquireLease : session_.statements().updateLease;
  const StatementUse use{write};
  write.bind(1, request_.key.name);
  write.bind(2, request_.key.sortKey);
  write.bind(3, releases() ? "released" : "held");
  write.bind(4, record.holder);
  write.bind(5, signedToken(token_));
  write.bind(6, std::int64_t{record.leaseDuration.count()});
  write.bind(7, record.version.text());
  write.bind(8, record.acquiredAtMillis);
  write.bind(9, record.renewedAtMillis);
  bindBeacon(write, 10, record.beacon);
  const bool replaces = request_.dataRule == DataRule::replace || !record.data.empty();
  const bool keeps = request_.dataRule == DataRule::keepIfAny && current_ && !current_->record.data.empty();
  if (replaces && !keeps) write.bindBlob(14, record.data);
  if (!record.attributes.empty()) write.bind(15, attributes);
  int code = write.step();
  while (code == SQLITE_ROW) code = write.step();
  if (code != SQLITE_DONE) return Rejected{session_.failed(what_, code)};
  return std::nullopt;
}

/// The last step before the commit, so that a claim stands only for what was about to be written.
OwnershipWrite::Trouble OwnershipWrite::stakeClaim() {
  if (!acquires()) return std::nullopt;
  const Claim claim{request_.key, request_.record.holder, token_, request_.record.leaseDuration};
  if (auto fault = claims_.stake(session_.files().sidecar, claim)) return Rejected{std::move(*fault)};
  staked_ = true;
  return std::nullopt;
}

OwnershipWrite::Trouble OwnershipWrite::lengthenClaim() {
  if (request_.purpose != WriteRequest::Purpose::renew) return std::nullopt;
  const LeaseRecord& record = request_.record;
  if (auto fault = claims_.lengthen(session_.files().sidecar, request_.key, record.holder, record.leaseDuration)) {
    return Rejected{std::move(*fault)};
  }
  return std::nullopt;
}

void OwnershipWrite::updateClaim(const WriteOutcome& outcome) {
  const std::string& holder = request_.record.holder;
  if (std::holds_alternative<Applied>(outcome)) {
    if (releases()) return claims_.drop(request_.key, holder);
    return claims_.settle(request_.key, holder);
  }
  if (std::holds_alternative<Rejected>(outcome) && staked_) claims_.drop(request_.key, holder);
  const auto* lost = std::get_if<Conflict>(&outcome);
  if (lost == nullptr) return;
  // An earlier acquisition whose answer was lost may be what stands there: then the term is this holder's after all.
  const bool isOwn =
      lost->current && *lost->current && (*lost->current)->holder == holder && !(*lost->current)->released;
  if (!isOwn) claims_.drop(request_.key, holder);
}

WriteOutcome OwnershipWrite::stateOfNewFile() {
  const StoreResult<bool> ready = session_.open(Session::Need::existing);
  if (ready.has_error()) return Conflict{};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  auto found = selectLease(session_, request_.key, what_);
  if (found.has_error()) return Conflict{};
  current_ = std::move(*found);
  return conflict();
}

}  // namespace tenure::sqlite_store
