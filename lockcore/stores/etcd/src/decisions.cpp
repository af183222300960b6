#include "decisions.hpp"

#include <algorithm>
#include <utility>

#include "token_rule.hpp"

namespace tenure::etcd_store {
namespace {

using std::chrono::milliseconds;
using Purpose = WriteRequest::Purpose;

bool isExpected(const WriteRequest& request, const std::optional<LeaseRecord>& told) {
  const auto& expected = request.expected;
  if (!told) return expected.empty();
  return std::find(expected.begin(), expected.end(), told->version) != expected.end();
}

/// The request's whole state, except the payload that it leaves as it is.
StoredRecord merged(const WriteRequest& request, const std::optional<StoredRecord>& stored) {
  StoredRecord next{request.record};
  next.record.data = mergedData(request.dataRule, request.record.data, stored ? &stored->record.data : nullptr);
  if (stored && next.record.attributes.empty()) next.record.attributes = stored->record.attributes;
  return next;
}

/// Where there is neither key, an acquisition would be carried out whenever that is so again: if somebody deletes both
/// while a copy of it is out. So it makes the counter first, whose revision never comes back.
Decision decideAcquisition(const std::string& where, const WriteRequest& request, const State& state) {
  if (state.counter.has_error()) return Rejected{state.counter.error()};
  const bool neither = !state.recordSlot.value && !state.counterSlot.value;
  if (neither) return Change{.counter = Counter{}, .keepsRecord = true, .isFirst = true};
  auto plan = planToken(where, request, state);
  if (plan.has_error()) return Rejected{plan.error()};
  StoredRecord next = merged(request, *state.record);
  next.record.token = plan->token;
  next.record.released = false;
  return Change{.record = std::move(next),
                .counter = Counter{plan->token, request.record.leaseDuration},
                .applied = Applied{plan->token, false, std::move(plan->warning)}};
}

/// The counter as the last to know of a record that goes.
Counter counterBehind(const State& state, bool over) {
  const LeaseRecord& record = (*state.record)->record;
  const bool same = state.counter->token == record.token;
  const milliseconds open = same ? std::max(record.leaseDuration, state.counter->openLease) : record.leaseDuration;
  return {std::max(state.counter->token, record.token), over ? milliseconds{0} : open};
}

/// The counter with the longer lease; empty: it states it already.
std::optional<Counter> lengthened(const State& state, milliseconds lease) {
  const FencingToken token = (*state.record)->record.token;
  const Counter& counter = *state.counter;
  const Counter next{std::max(counter.token, token), std::max(counter.openLease, lease)};
  return next == counter ? std::nullopt : std::optional{next};
}

/// A renewal or a release.
Decision decideOwnTerm(const WriteRequest& request, const State& state) {
  const StoredRecord& stored = **state.record;
  const FencingToken token = stored.record.token;
  const bool releases = request.purpose == Purpose::release;
  const bool needsCounter = (releases && request.removes) || (!releases && request.lengthens);
  if (needsCounter && state.counter.has_error()) return Rejected{state.counter.error()};
  Change change{.applied = Applied{token, stored.stepDown == token}};
  if (releases && request.removes) {
    change.counter = counterBehind(state, true);
    return change;
  }
  StoredRecord next = merged(request, stored);
  next.record.token = token;
  next.record.released = releases;
  next.stepDown = stored.stepDown;
  change.record = std::move(next);
  if (needsCounter) change.counter = lengthened(state, request.record.leaseDuration);
  return change;
}

}  // namespace

Decision decideWrite(const std::string& where, const WriteRequest& request, const State& state) {
  ReadOutcome told = state.told();
  if (told.has_error()) return Rejected{told.error()};
  const bool acquires = request.purpose == Purpose::acquire;
  const bool own = acquires || (*told && !(*told)->vanished && (*told)->holder == request.record.holder);
  if (!own || !isExpected(request, *told)) return Conflict{std::move(*told)};
  return acquires ? decideAcquisition(where, request, state) : decideOwnTerm(request, state);
}

Decision decideRemoval(const RecordVersion& version, const State& state) {
  ReadOutcome told = state.told();
  if (told.has_error()) return Rejected{told.error()};
  if (!*told || (*told)->vanished || (*told)->version != version) return Conflict{std::move(*told)};
  if (state.counter.has_error()) return Rejected{state.counter.error()};
  return Change{.counter = counterBehind(state, (*told)->released), .applied = Applied{(*told)->token}};
}

Decision decideStepDown(FencingToken token, const State& state) {
  ReadOutcome told = state.told();
  if (told.has_error()) return Rejected{told.error()};
  const bool current = *told && !(*told)->vanished && !(*told)->released && (*told)->token == token;
  if (!current) return Conflict{std::move(*told)};
  const Applied applied{token, true};
  StoredRecord next = **state.record;
  if (std::exchange(next.stepDown, token) == token) return applied;
  return Change{.record = std::move(next), .applied = applied};
}

StoreResult<StoredTokens> tokensOf(const Place& place, const State& state) {
  return tokensFrom(place, state.recordSlot.value, state.counterSlot.value);
}

Decision decideTokens(const Place& place, const StoredTokens& expected, FencingToken token, const std::string& version,
                      const State& state) {
  const auto stored = tokensOf(place, state);
  if (stored.has_error()) return Rejected{stored.error()};
  if (*stored != expected) return Conflict{};
  Change change{.counter = Counter{token}, .keepsRecord = true, .applied = Applied{token}};
  if (stored->hasRecord()) change.rawRecord = corrected(*state.recordSlot.value, token, version);
  return change;
}

}  // namespace tenure::etcd_store
