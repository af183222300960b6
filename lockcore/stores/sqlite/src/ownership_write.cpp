#include "ownership_write.hpp"

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/liveness/local_death_notice.hpp"
#include "lockcore/port/store_checks.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {

OwnershipWrite::OwnershipWrite(Session& session, const WriteRequest& request)
    : session_{session},
      request_{request},
      term_{request.key, request.record.holder},
      what_{std::string{doing(request.purpose)} + " lease " + toString(request.key)} {}

WriteOutcome OwnershipWrite::perform(const Deadline& deadline) {
  if (auto refused = errorOf(request_)) return Rejected{std::move(*refused)};
  return conclude(attempt(deadline));
}

WriteOutcome OwnershipWrite::conclude(WriteOutcome outcome) {
  if (liveness::endsTerm(request_, opensTerm_, outcome)) session_.sidecar().endTerm(term_);
  applied_ = std::holds_alternative<Applied>(outcome);
  // On a release, the candidates that wait for the lease are notified before the releasing holder gets its answer.
  if (applied_ && releases()) session_.sidecar().notify(session_.files(), request_.key);
  return outcome;
}

void OwnershipWrite::afterAnswer() {
  if (applied_ && !releases()) session_.sidecar().notify(session_.files(), request_.key);
}

WriteOutcome OwnershipWrite::concludeCommitted(WriteOutcome applied, bool filesUnchanged) {
  return conclude(filesUnchanged ? std::move(applied) : stateOfNewFile());
}

WriteOutcome OwnershipWrite::writeInOpenTransaction() {
  if (auto refused = errorOf(request_)) return Rejected{std::move(*refused)};
  return decideAndWrite(
      session_, request_.key, what_,
      [this](const stored::StoredLease& lease) { return decideWrite(session_.store(), request_, lease); },
      [this] { return openTerm(); });
}

WriteOutcome OwnershipWrite::attempt(const Deadline& deadline) {
  // Only an acquisition creates a database: a holder whose file was deleted must notice that, and must not create it
  // again.
  const StoreResult<bool> ready = session_.open(acquires() ? Session::Need::create : Session::Need::existing, &term_);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  WriteOutcome outcome = inTransaction(deadline);
  // The commit went into the file that was open. If the path now names another file, nobody else sees the write there.
  if (std::holds_alternative<Applied>(outcome) && !session_.filesUnchanged()) return stateOfNewFile();
  return outcome;
}

WriteOutcome OwnershipWrite::inTransaction(const Deadline& deadline) {
  Transaction transaction{session_, what_};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  WriteOutcome outcome = writeInOpenTransaction();
  if (!std::holds_alternative<Applied>(outcome)) return outcome;
  auto fault = transaction.commit();
  return fault ? *std::move(fault) : outcome;
}

std::optional<WriteOutcome> OwnershipWrite::openTerm() {
  if (releases()) return std::nullopt;
  const StoreResult<bool> isNew = session_.sidecar().openTerm(term_, request_.record.leaseDuration);
  if (isNew.has_error()) return Rejected{isNew.error()};
  opensTerm_ = *isNew;
  return std::nullopt;
}

WriteOutcome OwnershipWrite::stateOfNewFile() {
  const StoreResult<bool> ready = session_.open(Session::Need::existing);
  if (ready.has_error()) return Conflict{};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  const auto found = selectLease(session_, request_.key, what_);
  if (found.has_error()) return Conflict{};
  ReadOutcome told = found->answer();
  if (told.has_error()) return Rejected{told.error()};
  return Conflict{std::move(*told)};
}

}  // namespace tenure::sqlite_store
