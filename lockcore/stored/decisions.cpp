#include "decisions.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/port/store_checks.hpp"

namespace tenure::stored {
namespace {

using std::chrono::milliseconds;
using Purpose = WriteRequest::Purpose;

RecordVersion vanishedVersionOf(const StoredLease& stored) {
  return RecordVersion{vanishedVersion(stored.counter->token, stored.counter->openLease).text(), stored.history};
}

/// Of what StoredLease::answer() answers, without a copy of it: a heartbeat asks. A holder knows what it wrote in any
/// history, so its versions have none. Whoever takes a lease has waited for a version in one history, and a version
/// without any knows nothing of what is inherited.
bool isExpected(const WriteRequest& request, const StoredLease& stored) {
  const bool acquires = request.purpose == Purpose::acquire;
  const auto expects = [&](const RecordVersion& told, bool inherited) {
    return std::any_of(request.expected.begin(), request.expected.end(), [&](const RecordVersion& version) {
      if (version != told) return false;
      return version.history().empty() ? !acquires || !inherited : version.history() == told.history();
    });
  };
  if (const auto& record = *stored.record) return expects(record->record.version, record->record.inherited);
  if (stored.counter->openLease.count() == 0) return request.expected.empty();
  return expects(vanishedVersionOf(stored), stored.inherited);
}

/// The request's whole state, except the payload that it leaves as it is.
StoredRecord merged(const WriteRequest& request, const std::optional<StoredRecord>& stored) {
  StoredRecord next{request.record};
  next.record.data = mergedData(request.dataRule, request.record.data, stored ? &stored->record.data : nullptr);
  if (stored && next.record.attributes.empty()) next.record.attributes = stored->record.attributes;
  return next;
}

/// Which token an acquisition gets (invariant I7). It is above the counter, the record's copy and the caller's floor,
/// and above the store's revision. Each acquisition consumes a revision, so no earlier token of any lease is above it,
/// unless it was given a floor: tokens rise even where somebody deleted everything. Only a store that was restored from
/// a copy without raising its revisions begins below. An error if the token would be greater than maxFencingToken.
StoreResult<Applied> planToken(const std::string& where, const WriteRequest& request, const StoredLease& stored) {
  const FencingToken copy = *stored.record ? (*stored.record)->record.token : FencingToken{};
  const FencingToken counter = stored.counter->token;
  const FencingToken highest = std::max(copy, counter);
  const FencingToken revision{stored.revision};
  // Where somebody deleted everything, or commits may be lost, the revision knows more of the tokens.
  if (auto refused = errorOfFloor(request, std::max(highest, revision))) return *std::move(refused);
  const FencingToken known = std::max({highest, request.tokenFloor, revision});
  if (known >= maxFencingToken) return tokensExhausted(request.key);
  Applied plan{known.next()};
  if (!stored.warning.empty()) {
    plan.warning = stored.warning + ", so the tokens continue from " + toString(plan.token);
  } else if (counter < std::max(request.tokenFloor, copy)) {
    plan.warning = where + ": the fencing counter of lease " + toString(request.key) + " was " +
                   (counter.isNone() ? "missing" : "at " + toString(counter)) + " and was restored to " +
                   toString(plan.token) + "; it was changed or deleted, or a resource has seen a higher token";
  }
  return plan;
}

/// Where nothing is stored, an acquisition would be carried out whenever that is so again: if somebody deletes all of
/// it while a copy of the request is out. So the counter is made first, which is told apart from every later one.
Decision decideAcquisition(const std::string& where, const WriteRequest& request, const StoredLease& stored) {
  if (stored.counter.has_error()) return Rejected{stored.counter.error()};
  if (stored.nothing) return Change{.counter = Counter{}, .keepsRecord = true, .isFirst = true};
  auto plan = planToken(where, request, stored);
  if (plan.has_error()) return Rejected{plan.error()};
  StoredRecord next = merged(request, *stored.record);
  next.record.token = plan->token;
  next.record.released = false;
  next.record.successor = {};  // what the last term left to somebody
  return Change{.record = std::move(next),
                .counter = Counter{plan->token, request.record.leaseDuration},
                .applied = *std::move(plan)};
}

/// The counter as the last to know of a record that goes. If the holder was not seen to end its term, newcomers wait as
/// the record would have made them wait. The end of a term that the counter has left behind, as where somebody put an
/// older record back, does not end a later one. Where no token is known, the counter keeps what an acquisition now
/// would have counted on.
Counter counterBehind(const StoredLease& stored, bool over) {
  const LeaseRecord& record = (*stored.record)->record;
  const Counter& counter = *stored.counter;
  const bool isLater = !record.token.isNone() && counter.token > record.token;
  const milliseconds open = std::max(over ? milliseconds{0} : record.leaseDuration, counter.openLease);
  const FencingToken known = std::max(counter.token, record.token);
  return {known.isNone() ? FencingToken{stored.revision} : known, over && !isLater ? milliseconds{0} : open};
}

/// What a renewal or a release makes of the counter, where it is read in the same step; empty: it stays. It states no
/// shorter lease than the record, and none once the term has ended. That it is behind the record's token is for an
/// acquisition to report, unless the holder knows that it has to state the longer lease.
std::optional<Counter> counterDuring(const WriteRequest& request, const StoredLease& stored) {
  if (stored.counter.has_error()) return std::nullopt;
  const FencingToken token = (*stored.record)->record.token;
  const Counter& counter = *stored.counter;
  Counter next = counter;
  if (request.purpose == Purpose::release) {
    if (counter.token <= token) next.openLease = milliseconds{0};
  } else if (request.lengthens || counter.token >= token) {
    next = {std::max(counter.token, token), std::max(counter.openLease, request.record.leaseDuration)};
  }
  return next == counter ? std::nullopt : std::optional{next};
}

/// A renewal or a release.
Decision decideOwnTerm(const WriteRequest& request, const StoredLease& stored) {
  const StoredRecord& before = **stored.record;
  const FencingToken token = before.record.token;
  const bool releases = request.purpose == Purpose::release;
  const bool removes = releases && request.removes;
  if (!releases && stored.over) return Rejected{*stored.over};
  const bool needsCounter = removes || (!releases && request.lengthens);
  if (needsCounter && stored.counter.has_error()) return Rejected{stored.counter.error()};
  Change change{.counter = removes ? counterBehind(stored, true) : counterDuring(request, stored),
                .applied = Applied{token, before.stepDown == token}};
  if (removes) return change;
  change.inHistory = std::any_of(request.expected.begin(), request.expected.end(), [&](const RecordVersion& version) {
    return version == before.record.version && !version.history().empty();
  });
  StoredRecord next = merged(request, before);
  next.record.token = token;
  next.record.released = releases;
  if (next.record.successor.name.empty()) next.record.successor = before.record.successor;
  next.stepDown = before.stepDown;
  change.record = std::move(next);
  return change;
}

}  // namespace

ReadOutcome StoredLease::answer() const {
  if (record.has_error()) return record.error();
  if (*record) return std::optional{(*record)->record};
  if (counter.has_error()) return counter.error();
  if (counter->openLease.count() == 0) return std::optional<LeaseRecord>{};
  LeaseRecord vanished = vanishedRecord(counter->token, counter->openLease);
  vanished.version = vanishedVersionOf(*this);
  vanished.inherited = inherited;
  return std::optional{std::move(vanished)};
}

void apply(Change&& change, StoredLease& lease) {
  lease.nothing = false;
  if (change.counter) lease.counter = *change.counter;
  if (!change.keepsRecord) *lease.record = std::move(change.record);
  if (auto& by = change.correction) {
    LeaseRecord& record = (*lease.record)->record;
    record.token = by->token;
    record.version = RecordVersion{std::move(by->version)};
    record.released = true;
    record.successor = {};
    record.livenessFile = {};
    (*lease.record)->stepDown = {};
  }
}

StoredTokens tokensOf(const StoredLease& lease) {
  const FencingToken counter = lease.counter->token;
  StoredTokens out{.counter = counter.isNone() ? "" : toString(counter), .lease = lease.counter->openLease};
  if (!*lease.record) return out;
  const LeaseRecord& record = (*lease.record)->record;
  out.copy = toString(record.token);
  out.version = record.version.text();
  out.holder = record.holder;
  out.released = record.released;
  out.lease = std::max(out.lease, record.leaseDuration);
  return out;
}

Decision decideWrite(const std::string& where, const WriteRequest& request, const StoredLease& stored) {
  if (stored.record.has_error()) return Rejected{stored.record.error()};
  if (!*stored.record && stored.counter.has_error()) return Rejected{stored.counter.error()};
  const bool acquires = request.purpose == Purpose::acquire;
  const LeaseRecord* record = *stored.record ? &(*stored.record)->record : nullptr;
  // A record without a token is another client's. Nobody here holds a term by it, whatever name is in it.
  const bool own = record != nullptr && !record->token.isNone() && record->holder == request.record.holder;
  if ((!acquires && !own) || !isExpected(request, stored)) return Conflict{stored.answer().value()};
  return acquires ? decideAcquisition(where, request, stored) : decideOwnTerm(request, stored);
}

Decision decideRemoval(const RecordVersion& version, const StoredLease& stored) {
  ReadOutcome told = stored.answer();
  if (told.has_error()) return Rejected{told.error()};
  if (!*told || (*told)->vanished || (*told)->version != version) return Conflict{std::move(*told)};
  if (stored.counter.has_error()) return Rejected{stored.counter.error()};
  return Change{.counter = counterBehind(stored, (*told)->released), .applied = Applied{(*told)->token}};
}

Decision decideStepDown(const StepDownRequest& request, const StoredLease& stored) {
  const FencingToken token = request.token;
  ReadOutcome told = stored.answer();
  if (told.has_error()) return Rejected{told.error()};
  const bool held = *told && !(*told)->vanished && !(*told)->released;
  if (!held || token.isNone() || (*told)->token != token) return Conflict{std::move(*told)};
  const Applied applied{token, true};
  StoredRecord next = **stored.record;
  next.stepDown = token;
  next.record.successor = request.successor;
  if (next == **stored.record) return applied;
  return Change{.record = std::move(next), .applied = applied};
}

Decision decideTokens(const StoreResult<StoredTokens>& stored, const StoredTokens& expected, FencingToken token,
                      const std::string& version) {
  if (stored.has_error()) return Rejected{stored.error()};
  if (*stored != expected) return Conflict{};
  Change change{.counter = Counter{token}, .keepsRecord = true, .applied = Applied{token}};
  if (stored->hasRecord()) change.correction = Correction{token, version};
  return change;
}

}  // namespace tenure::stored
