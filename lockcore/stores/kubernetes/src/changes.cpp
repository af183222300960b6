#include "changes.hpp"

#include <utility>

#include "names.hpp"
#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {
namespace {

/// How often one call decides. Each time but the first, somebody else has written the object since it was read.
constexpr int mostTries = 4;

void decideFrom(const WriteCallPtr& call, const State& seen, int tries);

/// After a conflict, or where nothing was known (no try yet). What conflicted never will be carried out: a
/// resourceVersion that has passed does not come back. But it may have been: a proxy may send a PUT twice, and the
/// second one conflicts with the first. Only what is stored tells.
void readAndDecide(const WriteCallPtr& call, int tries) {
  readState(call->core, call->key, {call->doing}, call->deadline, [call, tries](StoreResult<State> state) {
    if (state.has_value()) return decideFrom(call, *state, tries);
    if (tries > 0) return call->handler(Unknown{state.error()});
    call->handler(Rejected{state.error()});
  });
}

/// The clock of the term to which the change belongs, if this process knows it.
std::optional<RenewClock> clockFor(const WriteCall& call, const State& seen, const Change& change) {
  const auto& record = change.record ? change.record : seen.record.has_value() ? *seen.record : std::nullopt;
  if (!record) return std::nullopt;
  for (const State* state : {&seen, call.known.get()}) {
    if (state != nullptr && state->clock && isTermOf(*state, record->record)) return state->clock;
  }
  return std::nullopt;
}

/// A lease that the process holds is renewed next, by one request if its state is known.
void keepTerm(const WriteCall& call, State shown, const std::optional<RenewClock>& clock) {
  const bool held = shown.record.has_value() && *shown.record && !(*shown.record)->record.released;
  if (!held || (!call.own && !clock)) return call.core->terms.forget(call.key);
  shown.clock = clock;
  call.core->terms.keep(call.key, std::make_shared<const State>(std::move(shown)));
}

/// What decides something; a liveness file or a time that the server writes in another way is no matter.
bool showsRecord(const stored::StoredRecord& written, const stored::StoredRecord& shown) {
  const LeaseRecord& a = written.record;
  const LeaseRecord& b = shown.record;
  return a.version == b.version && a.holder == b.holder && a.token == b.token && a.released == b.released &&
         a.leaseDuration == b.leaseDuration && a.data == b.data && a.attributes == b.attributes &&
         written.stepDown == shown.stepDown;
}

struct Sent {
  State seen;
  Change change;
  std::optional<RenewClock> clock{};  ///< of the term, if this is carried out
};

void updateAnswered(const WriteCallPtr& call, const Sent& sent, const Outcome& outcome, int tries) {
  const CallName name = call->core->call(call->doing, call->key);
  const std::string object = objectNameOf(call->key);
  if (outcome && (saysConflict(*outcome) || saysAbsent(*outcome, object))) return readAndDecide(call, tries + 1);
  if (auto fault = faultIn(name, outcome)) {
    if (fault->maybeApplied) return call->handler(Unknown{std::move(fault->error)});
    return call->handler(Rejected{std::move(fault->error)});
  }
  auto read = leaseFrom(outcome->body, object);
  if (read.has_error()) return call->handler(Unknown{notUnderstood(name, read.error().what)});
  State shown = stateOf(*call->core, call->key, std::move(*read));
  if (!showsChange(sent.seen, sent.change, shown)) {
    return call->handler(Unknown{notUnderstood(name, "the answer does not show what was written")});
  }
  keepTerm(*call, std::move(shown), sent.clock);
  call->handler(sent.change.applied);
}

/// The object that is created has no record, whenever the request arrives. So the write itself is certainly not carried
/// out if this fails. But an operator's counter may be in it.
void creationAnswered(const WriteCallPtr& call, const Change& change, const Outcome& outcome, int tries) {
  const CallName name = call->core->call(call->doing, call->key);
  if (outcome && saysConflict(*outcome)) return readAndDecide(call, tries + 1);
  const auto failed = [&](StoreError error, bool maybeApplied) {
    if (maybeApplied && !change.isFirst) return call->handler(Unknown{std::move(error)});
    call->handler(Rejected{std::move(error)});
  };
  if (auto fault = faultIn(name, outcome)) return failed(std::move(fault->error), fault->maybeApplied);
  auto read = leaseFrom(outcome->body, objectNameOf(call->key));
  if (read.has_error()) return failed(notUnderstood(name, read.error().what), true);
  const State shown = stateOf(*call->core, call->key, std::move(*read));
  if (change.isFirst) return decideFrom(call, shown, tries + 1);
  if (!showsChange(absentState(), change, shown)) {
    return failed(notUnderstood(name, "the answer does not show what was written"), true);
  }
  call->handler(change.applied);
}

void sendChange(const WriteCallPtr& call, const State& seen, Change change, int tries) {
  const CorePtr& core = call->core;
  if (!seen.object) {
    std::string body = creationText(core->settings, call->key, change.counter.value_or(stored::Counter{}));
    return send(core, core->requests.create(std::move(body)), call->deadline,
                [call, change = std::move(change), tries](const Outcome& outcome) {
                  creationAnswered(call, change, outcome, tries);
                });
  }
  WriteTime time{clockFor(*call, seen, change), core->scheduler->now()};
  Edited edited = changeText(core->settings, call->key, *seen.object, seen, change, time);
  if (!time.clock && edited.renewMicros != 0) time.clock = RenewClock{edited.renewMicros, time.now};
  Request request = core->requests.update(seen.object->name, std::move(edited.text));
  send(core, std::move(request), call->deadline,
       [call, sent = Sent{seen, std::move(change), time.clock}, tries](const Outcome& outcome) {
         updateAnswered(call, sent, outcome, tries);
       });
}

void decideFrom(const WriteCallPtr& call, const State& seen, int tries) {
  Decision decision = call->decide(seen);
  auto* change = std::get_if<Change>(&decision);
  if (change != nullptr && tries >= mostTries) {
    return call->handler(Rejected{{ErrorClass::transient, call->core->call(call->doing, call->key).text() +
                                                              ": others change it all the time; it is tried again"}});
  }
  if (change != nullptr) return sendChange(call, seen, std::move(*change), tries);
  if (call->own) call->core->terms.forget(call->key);
  call->handler(std::move(std::get<WriteOutcome>(decision)));
}

}  // namespace

bool showsChange(const State& seen, const Change& change, const State& shown) {
  if (!shown.object) return false;
  const LeaseObject& now = *shown.object;
  if (seen.object && (now.uid != seen.object->uid || now.revision <= seen.object->revision)) return false;
  if (change.counter && (shown.counter.has_error() || *shown.counter != *change.counter)) return false;
  if (const auto& by = change.correction) return isCorrected(now, by->token, by->version);
  if (shown.record.has_error()) return false;
  const auto& record = *shown.record;
  if (change.record) return record && showsRecord(*change.record, *record);
  return change.keepsRecord || !record;
}

void perform(const WriteCallPtr& call) {
  call->core->watched.forget(call->key);  // whoever has written looks at the server
  call->known = call->core->terms.find(call->key);
  if (!call->known) return readAndDecide(call, 0);
  // What was known may be out of date, so it decides nothing but what to try.
  Decision decision = call->decide(*call->known);
  auto* change = std::get_if<Change>(&decision);
  if (change == nullptr) return readAndDecide(call, 0);
  sendChange(call, *call->known, std::move(*change), 0);
}

}  // namespace tenure::kubernetes_store
