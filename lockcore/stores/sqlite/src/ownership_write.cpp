#include "ownership_write.hpp"

#include <algorithm>
#include <bit>

#include <sqlite3.h>

#include <tenure/lockcore/store_checks.hpp>

#include "lockcore/liveness/term_end.hpp"
#include "lockcore/port/attributes_json.hpp"
#include "lockcore/port/write_purpose.hpp"
#include "record_codec.hpp"

namespace tenure::sqlite_store {
namespace {

std::string nameOfCall(const WriteRequest& request) {
  return std::string{doing(request.purpose)} + " lease " + toString(request.key);
}

std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

void bindLivenessFile(Statement& statement, int first, const std::optional<LivenessFile>& livenessFile) {
  if (!livenessFile) return;  // unbound parameters are NULL
  statement.bind(first, livenessFile->id);
  statement.bind(first + 1, std::bit_cast<std::int64_t>(livenessFile->device));
  statement.bind(first + 2, std::bit_cast<std::int64_t>(livenessFile->inode));
  statement.bind(first + 3, livenessFile->bootId);
}

}  // namespace

OwnershipWrite::OwnershipWrite(Session& session, const WriteRequest& request)
    : session_{session}, request_{request}, term_{request.key, request.record.holder}, what_{nameOfCall(request)} {}

WriteOutcome OwnershipWrite::perform(const Deadline& deadline) {
  if (auto refused = refusalOf(request_)) return Rejected{std::move(*refused)};
  return conclude(attempt(deadline));
}

WriteOutcome OwnershipWrite::conclude(WriteOutcome outcome) {
  noteEnd(outcome);
  applied_ = std::holds_alternative<Applied>(outcome);
  // On a release, the candidates that wait for the lease are notified before the releasing holder gets its answer.
  if (applied_ && releases()) session_.sidecar().notify(session_.files(), request_.key);
  return outcome;
}

void OwnershipWrite::afterAnswer() {
  if (applied_ && !releases()) session_.sidecar().notify(session_.files(), request_.key);
}

WriteOutcome OwnershipWrite::concludeCommitted(bool filesUnchanged) {
  return conclude(filesUnchanged ? applied() : stateOfNewFile());
}

OwnershipWrite::Trouble OwnershipWrite::writeInOpenTransaction() {
  if (auto refused = refusalOf(request_)) return Rejected{std::move(*refused)};
  return judgeAndChange();
}

WriteOutcome OwnershipWrite::applied() {
  const bool asked = !acquires() && stored_.record->stepDown == token_;
  return Applied{token_, asked, std::move(warning_)};
}

WriteOutcome OwnershipWrite::attempt(const Deadline& deadline) {
  // Only an acquisition creates a database: a holder whose file was deleted must notice that, and must not create it
  // again.
  const StoreResult<bool> ready = session_.open(acquires() ? Session::Need::create : Session::Need::existing, &term_);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  if (auto trouble = inTransaction(deadline)) return std::move(*trouble);
  // The commit went into the file that was open. If the path now names another file, nobody else sees the write there.
  if (!session_.filesUnchanged()) return stateOfNewFile();
  return applied();
}

OwnershipWrite::Trouble OwnershipWrite::inTransaction(const Deadline& deadline) {
  Transaction transaction{session_, what_};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  if (auto trouble = judgeAndChange()) return trouble;
  return transaction.commit();
}

OwnershipWrite::Trouble OwnershipWrite::judgeAndChange() {
  auto found = selectLease(session_, request_.key, what_);
  if (found.has_error()) return Rejected{found.error()};
  stored_ = std::move(*found);
  if (auto refused = judge()) return refused;
  return change();
}

bool OwnershipWrite::expects(const RecordVersion& version) const {
  return std::find(request_.expected.begin(), request_.expected.end(), version) != request_.expected.end();
}

WriteOutcome OwnershipWrite::conflict() const {
  StoreResult<std::optional<LeaseRecord>> told = stored_.told();
  if (told.has_error()) return Rejected{told.error()};
  return Conflict{std::move(*told)};
}

OwnershipWrite::Trouble OwnershipWrite::judge() {
  if (acquires() && stored_.counter.has_error()) return Rejected{stored_.counter.error()};
  if (acquires() && !stored_.record) return judgeAbsence();
  if (!stored_.record || !expects(stored_.record->record.version)) return conflict();
  if (!acquires() && stored_.record->record.holder != request_.record.holder) return conflict();
  return std::nullopt;
}

/// The counter says whether the last term has ended.
OwnershipWrite::Trouble OwnershipWrite::judgeAbsence() {
  const StoredCounter counter = stored_.counter->value_or(StoredCounter{});
  const bool holds =
      counter.isOpen() ? expects(vanishedVersion(counter.token, counter.openLease)) : request_.expected.empty();
  if (holds) return std::nullopt;
  return conflict();
}

OwnershipWrite::Trouble OwnershipWrite::change() {
  if (!acquires()) token_ = stored_.record->record.token;
  if (auto trouble = openTerm()) return trouble;
  if (auto trouble = changeCounter()) return trouble;
  return writeRow();
}

/// To be called before anything of the write can be committed.
OwnershipWrite::Trouble OwnershipWrite::openTerm() {
  if (releases()) return std::nullopt;
  const StoreResult<bool> isNew = session_.sidecar().openTerm(term_, request_.record.leaseDuration);
  if (isNew.has_error()) return Rejected{isNew.error()};
  opensTerm_ = *isNew;
  return std::nullopt;
}

OwnershipWrite::Trouble OwnershipWrite::changeCounter() {
  if (acquires()) return advanceCounter();
  const std::int64_t lease = request_.record.leaseDuration.count();
  const auto& counter = stored_.counter;
  const bool longer = counter && *counter && lease > (*counter)->openLease.count();
  if (!releases() && !longer) return std::nullopt;
  Statement& statement = releases() ? session_.statements().endOpenLease : session_.statements().lengthenOpenLease;
  const StatementUse use{statement};
  statement.bind(1, request_.key.name);
  statement.bind(2, request_.key.sortKey);
  statement.bind(3, releases() ? signedToken(token_) : lease);
  if (const int code = statement.step(); code != SQLITE_DONE) return Rejected{session_.failed(what_, code)};
  return std::nullopt;
}

OwnershipWrite::Trouble OwnershipWrite::advanceCounter() {
  const std::optional<StoredCounter>& counter = *stored_.counter;
  const FencingToken inRow = stored_.record ? stored_.record->record.token : FencingToken{};
  const FencingToken seen = std::max(request_.tokenFloor, inRow);
  const FencingToken counted = counter ? counter->token : FencingToken{};
  if (auto refused = refusalOfFloor(request_, std::max(inRow, counted))) return Rejected{std::move(*refused)};
  const FencingToken known = std::max(seen, counted);
  if (known >= maxFencingToken) return Rejected{tokensExhausted(request_.key)};
  if (counted < seen) {
    warning_ = session_.store() + ": the fencing counter of lease " + toString(request_.key) + " was " +
               (counter ? "at " + toString(counted) : "missing") + " and was restored to " + toString(seen) +
               "; somebody changed table tenure_fence or the file, or a resource has seen a higher token";
  }
  token_ = known.next();
  const int code = setCounter(session_, request_.key, {token_, request_.record.leaseDuration});
  if (code != SQLITE_OK) return Rejected{session_.failed(what_, code)};
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
  const std::string attributes =
      *attributesToJson(record.attributes);  // refusalOf() has made sure that this is possible
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
  bindLivenessFile(write, 10, record.livenessFile);
  const bool replaces = request_.dataRule == DataRule::replace || !record.data.empty();
  const bool hasData = stored_.record && !stored_.record->record.data.empty();
  const bool keeps = request_.dataRule == DataRule::keepIfAny && hasData;
  if (replaces && !keeps) write.bindBlob(14, record.data);
  if (!record.attributes.empty()) write.bind(15, attributes);
  int code = write.step();
  while (code == SQLITE_ROW) code = write.step();
  if (code != SQLITE_DONE) return Rejected{session_.failed(what_, code)};
  return std::nullopt;
}

void OwnershipWrite::noteEnd(const WriteOutcome& outcome) {
  if (liveness::endsTerm(request_, opensTerm_, outcome)) session_.sidecar().endTerm(term_);
}

WriteOutcome OwnershipWrite::stateOfNewFile() {
  const StoreResult<bool> ready = session_.open(Session::Need::existing);
  if (ready.has_error()) return Conflict{};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  auto found = selectLease(session_, request_.key, what_);
  if (found.has_error()) return Conflict{};
  stored_ = std::move(*found);
  return conflict();
}

}  // namespace tenure::sqlite_store
