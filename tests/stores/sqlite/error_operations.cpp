#include "error_operations.hpp"

#include <utility>

namespace tenure::sqlite_test {
namespace {

const char* const writer = "tenure-sqlite-w";
const char* const reader = "tenure-sqlite-r";

Answer fromError(const StoreError& error) { return {Answer::Kind::error, error.message}; }

Answer answerOf(const WriteOutcome& outcome, std::string storedIf) {
  Answer out{Answer::Kind::applied, describe(outcome), std::move(storedIf)};
  if (const auto* applied = std::get_if<Applied>(&outcome)) out.token = applied->token.value();
  if (std::holds_alternative<Conflict>(outcome)) out.kind = Answer::Kind::conflict;
  if (std::holds_alternative<Rejected>(outcome)) out.kind = Answer::Kind::rejected;
  if (std::holds_alternative<Unknown>(outcome)) out.kind = Answer::Kind::unknown;
  return out;
}

std::string both(const WriteRequest& request, const std::string& condition) {
  return "SELECT count(*) FROM tenure_lease AS l JOIN tenure_fence AS f USING(name, sort_key) WHERE l.token = f.token "
         "AND l.record_version = '" +
         request.record.version.text() + "' AND " + condition;
}

Answer writes(Store& store, const WriteRequest& request, const std::string& condition) {
  return answerOf(store->write(request), both(request, condition));
}

void hold(const std::string& path) {
  Store store{path};
  store->apply(acquire(errorKey(), "a"));
}

void holdAndRelease(const std::string& path) {
  Store store{path};
  store->apply(acquire(errorKey(), "b"));
  store->apply(release(errorKey(), "b", {store->record(errorKey()).version}));
}

/// A file of a release that did not store in the counter's row whether a term is open.
void holdAsOlderRelease(const std::string& path) {
  hold(path);
  Shell{path}.run("ALTER TABLE tenure_fence DROP COLUMN lease_ms");
}

const std::string isHeld = "l.state = 'held' AND f.lease_ms >= l.lease_ms";

Answer renewLonger(Store& store, const Before& before) {
  WriteRequest request = renew(errorKey(), "a", {before.version});
  request.record.leaseDuration *= 2;
  request.lengthens = true;
  return writes(store, request, isHeld + " AND l.lease_ms = 20000");
}

/// Leaves the cache and the first page of the log behind.
Answer renewWithMuchData(Store& store, const Before& before) {
  WriteRequest request = renew(errorKey(), "a", {before.version});
  request.record.data.assign(60'000, 'x');
  return writes(store, request, isHeld + " AND length(l.data) = 60000");
}

Answer releaseAndRemove(Store& store, const Before& before) {
  WriteRequest request = release(errorKey(), "a", {before.version});
  request.removes = true;
  return answerOf(store->write(request),
                  "SELECT (SELECT count(*) FROM tenure_lease) = 0 AND (SELECT lease_ms FROM tenure_fence) IS NULL");
}

Answer remove(Store& store, const Before& before) {
  return answerOf(store->remove(errorKey(), before.version),
                  "SELECT (SELECT count(*) FROM tenure_lease) = 0 AND (SELECT lease_ms FROM tenure_fence) = 10000");
}

Answer setTokens(Store& store, const Before& before) {
  return answerOf(
      store->setTokens(errorKey(), before.tokens, 7),
      "SELECT count(*) FROM tenure_lease AS l JOIN tenure_fence AS f USING(name, sort_key) WHERE l.token = 7 "
      "AND f.token = 7 AND f.lease_ms IS NULL AND l.state = 'released'");
}

Answer ensure(Store& store, const Before&) {
  const StoreStatus status = store->startEnsureSchema()->get();
  return status ? Answer{Answer::Kind::told, "5"} : fromError(status.error());
}

Answer read(Store& store, const Before&) {
  const ReadOutcome outcome = store->startRead(errorKey())->get();
  if (outcome.has_error()) return fromError(outcome.error());
  const auto& record = *outcome;
  return {Answer::Kind::told,
          record ? record->version.text() + '|' + record->holder + '|' + toString(record->token) : ""};
}

Answer list(Store& store, const Before&) {
  const ListOutcome outcome = store->startList("")->get();
  if (outcome.has_error()) return fromError(outcome.error());
  std::string text;
  for (const ListedLease& lease : *outcome) {
    text += lease.key.name + '|' + (lease.record ? lease.record->version.text() : lease.record.error().message) +
            lease.warning;
  }
  return {Answer::Kind::told, text};
}

Answer readTokens(Store& store, const Before&) {
  const auto call = std::make_shared<contract::Reply<StoreResult<StoredTokens>>>("readTokens");
  extended(store.raw())->readTokens(errorKey(), {.timeout = patience}, [call](auto found) {
    call->answer(std::move(found));
  });
  const StoreResult<StoredTokens> found = call->get();
  if (found.has_error()) return fromError(found.error());
  return {Answer::Kind::told, found->counter + '|' + found->copy + '|' + found->version + '|' + found->holder};
}

Answer acquireFirst(Store& store, const Before&) { return writes(store, acquire(errorKey(), "a"), isHeld); }

Answer acquireAgain(Store& store, const Before& before) {
  return writes(store, acquire(errorKey(), "a", {before.version}), isHeld + " AND l.token = 2");
}

Answer renewAsBefore(Store& store, const Before& before) {
  return writes(store, renew(errorKey(), "a", {before.version}), isHeld);
}

Answer giveUp(Store& store, const Before& before) {
  return writes(store, release(errorKey(), "a", {before.version}), "l.state = 'released' AND f.lease_ms IS NULL");
}

Answer askToStepDown(Store& store, const Before&) {
  return answerOf(store->requestStepDown(errorKey(), FencingToken{1}), "SELECT step_down_token = 1 FROM tenure_lease");
}

}  // namespace

const LeaseKey& errorKey() {
  static const LeaseKey key{"lease"};
  return key;
}

const std::vector<ErrorOperation>& errorOperations() {
  const std::string schema =
      "SELECT (SELECT count(*) FROM sqlite_schema WHERE name IN ('tenure_lease', 'tenure_fence', 'tenure_meta')) + "
      "(SELECT count(*) FROM tenure_meta) + (SELECT count(*) FROM pragma_table_info('tenure_fence') "
      "WHERE name = 'lease_ms')";
  static const std::vector<ErrorOperation> all = {
      {"ensureSchemaOfANewFile", writer, {}, ensure, schema},
      {"ensureSchemaOfAnOlderRelease", writer, holdAsOlderRelease, ensure, schema},
      {"acquireInANewFile", writer, {}, acquireFirst},
      {"acquireAReleasedLease", writer, holdAndRelease, acquireAgain},
      {"renew", writer, hold, renewAsBefore},
      {"renewOnAnOpenConnection", writer, hold, renewAsBefore, "", false},
      {"renewLonger", writer, hold, renewLonger, "", false},
      {"renewWithMuchData", writer, hold, renewWithMuchData, "", false},
      {"release", writer, hold, giveUp, "", false},
      {"releaseAndRemove", writer, hold, releaseAndRemove, "", false},
      {"requestStepDown", writer, hold, askToStepDown, "", false},
      {"remove", writer, hold, remove, "", false},
      {"setTokens", writer, hold, setTokens, "", false},
      {"read", reader, hold, read, "SELECT record_version || '|' || holder || '|' || token FROM tenure_lease"},
      {"readOfACandidate", reader, hold, read,
       "SELECT record_version || '|' || holder || '|' || token FROM tenure_lease", false},
      {"list", reader, hold, list, "SELECT name || '|' || record_version FROM tenure_lease"},
      {"readTokens", reader, hold, readTokens,
       "SELECT f.token || '|' || l.token || '|' || l.record_version || '|' || l.holder FROM tenure_lease AS l JOIN "
       "tenure_fence AS f USING(name, sort_key)"},
  };
  return all;
}

}  // namespace tenure::sqlite_test
