#include "decisions.hpp"

#include <algorithm>
#include <utility>

#include "token_rule.hpp"

namespace tenure::stored {
namespace {

using std::chrono::milliseconds;
using Purpose = WriteRequest::Purpose;

/// A holder knows what it wrote in any history. Whoever takes a lease has waited for a version in one history, and a
/// version without any knows nothing of what is inherited.
bool isExpected(const WriteRequest& request, const std::optional<LeaseRecord>& told) {
  const auto& expected = request.expected;
  if (!told) return expected.empty();
  const bool acquires = request.purpose == Purpose::acquire;
  return std::any_of(expected.begin(), expected.end(), [&](const RecordVersion& version) {
    if (version != told->version) return false;
    if (!acquires) return true;
    return version.history().empty() ? !told->inherited : version.history() == told->version.history();
  });
}

/// A record without a token is another client's. Nobody here holds a term by it, whatever name is in it.
bool isTermOf(const std::string& holder, const std::optional<LeaseRecord>& told) {
  return told && !told->vanished && !told->token.isNone() && told->holder == holder;
}

/// The request's whole state, except the payload that it leaves as it is.
StoredRecord merged(const WriteRequest& request, const std::optional<StoredRecord>& stored) {
  StoredRecord next{request.record};
  next.record.data = mergedData(request.dataRule, request.record.data, stored ? &stored->record.data : nullptr);
  if (stored && next.record.attributes.empty()) next.record.attributes = stored->record.attributes;
  return next;
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
  return Change{.record = std::move(next),
                .counter = Counter{plan->token, request.record.leaseDuration},
                .applied = Applied{plan->token, false, std::move(plan->warning)}};
}

/// The counter as the last to know of a record that goes.
Counter counterBehind(const StoredLease& stored, bool over) {
  const LeaseRecord& record = (*stored.record)->record;
  const bool same = stored.counter->token == record.token;
  const milliseconds open = same ? std::max(record.leaseDuration, stored.counter->openLease) : record.leaseDuration;
  return {std::max(stored.counter->token, record.token), over ? milliseconds{0} : open};
}

/// The counter with the longer lease; empty: it states it already.
std::optional<Counter> lengthened(const StoredLease& stored, milliseconds lease) {
  const FencingToken token = (*stored.record)->record.token;
  const Counter& counter = *stored.counter;
  const Counter next{std::max(counter.token, token), std::max(counter.openLease, lease)};
  return next == counter ? std::nullopt : std::optional{next};
}

/// A renewal or a release.
Decision decideOwnTerm(const WriteRequest& request, const StoredLease& stored) {
  const StoredRecord& before = **stored.record;
  const FencingToken token = before.record.token;
  const bool releases = request.purpose == Purpose::release;
  if (!releases && stored.over) return Rejected{*stored.over};
  const bool needsCounter = (releases && request.removes) || (!releases && request.lengthens);
  if (needsCounter && stored.counter.has_error()) return Rejected{stored.counter.error()};
  Change change{.applied = Applied{token, before.stepDown == token}};
  if (releases && request.removes) {
    change.counter = counterBehind(stored, true);
    return change;
  }
  StoredRecord next = merged(request, before);
  next.record.token = token;
  next.record.released = releases;
  next.stepDown = before.stepDown;
  change.record = std::move(next);
  if (needsCounter) change.counter = lengthened(stored, request.record.leaseDuration);
  return change;
}

}  // namespace

StoredLease after(const StoredLease& seen, const Change& change) {
  StoredLease next = seen;
  next.nothing = false;
  if (change.counter) next.counter = *change.counter;
  if (!change.keepsRecord) next.record = change.record;
  if (const auto& by = change.correction) {
    LeaseRecord& record = (*next.record)->record;
    record.token = by->token;
    record.version = RecordVersion{by->version};
    record.released = true;
    record.livenessFile = {};
    (*next.record)->stepDown = {};
  }
  return next;
}

Decision decideWrite(const std::string& where, const WriteRequest& request, const StoredLease& stored) {
  ReadOutcome told = stored.told();
  if (told.has_error()) return Rejected{told.error()};
  const bool acquires = request.purpose == Purpose::acquire;
  const bool own = acquires || isTermOf(request.record.holder, *told);
  if (!own || !isExpected(request, *told)) return Conflict{std::move(*told)};
  return acquires ? decideAcquisition(where, request, stored) : decideOwnTerm(request, stored);
}

Decision decideRemoval(const RecordVersion& version, const StoredLease& stored) {
  ReadOutcome told = stored.told();
  if (told.has_error()) return Rejected{told.error()};
  if (!*told || (*told)->vanished || (*told)->version != version) return Conflict{std::move(*told)};
  if (stored.counter.has_error()) return Rejected{stored.counter.error()};
  return Change{.counter = counterBehind(stored, (*told)->released), .applied = Applied{(*told)->token}};
}

Decision decideStepDown(FencingToken token, const StoredLease& stored) {
  ReadOutcome told = stored.told();
  if (told.has_error()) return Rejected{told.error()};
  const bool held = *told && !(*told)->vanished && !(*told)->released;
  if (!held || token.isNone() || (*told)->token != token) return Conflict{std::move(*told)};
  const Applied applied{token, true};
  StoredRecord next = **stored.record;
  if (std::exchange(next.stepDown, token) == token) return applied;
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
