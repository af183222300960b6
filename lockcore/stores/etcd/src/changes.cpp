#include "changes.hpp"

#include <algorithm>
#include <utility>

#include "requests.hpp"

namespace tenure::etcd_store {
namespace {

/// How often one call meets a state that was changed since it was read. Each time another process has written.
constexpr int mostTries = 8;

void decideFrom(const WriteCallPtr& call, const State& seen, int tries);

bool isCorrupt(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::corrupt;
}

/// Revisions tell every change, except where a cluster was restored from a snapshot: it counts some of them once more.
void requireAsSeen(Txn& txn, const std::string& key, const Slot& slot) {
  txn.require(key, slot.changedAt);
  if (slot.value) txn.requireValue(key, *slot.value);
}

void keepTerm(const WriteCall& call, State seen, const Change& change, std::int64_t revision) {
  if (!call.holds || !change.record) return call.core->terms.forget(call.key);
  seen.revision = static_cast<std::uint64_t>(revision);
  seen.recordSlot = {revision, textOf(*change.record)};
  seen.record = change.record;
  if (change.counter) {
    seen.counterSlot = {revision, textOf(*change.counter)};
    seen.counter = *change.counter;
  }
  call.core->terms.keep(call.key, std::make_shared<const State>(std::move(seen)));
}

/// What is stored was not as required, so this change was not carried out and never will be: a revision that has
/// passed does not come back. But a copy that is out at another member may have been, and have changed what this one
/// required. Only a record that is understood tells.
void answerRefused(const WriteCallPtr& call, const Reply& answer, const TxnReply& reply, int tries) {
  const CallName name = call->core->call(call->doing, call->key);
  const auto state = stateIn(*call->core, call->key, reply);
  if (state.has_error()) return call->handler(Unknown{notUnderstood(name, answer.member, state.error().what)});
  if (!answer.copiesOut) return decideFrom(call, *state, tries + 1);
  Decision decision = call->decide(*state);
  auto* outcome = std::get_if<WriteOutcome>(&decision);
  if (outcome == nullptr) return decideFrom(call, *state, tries + 1);
  if (isCorrupt(*outcome)) return call->handler(Unknown{std::get<Rejected>(*outcome).error});
  call->handler(std::move(*outcome));
}

void answered(const WriteCallPtr& call, const State& seen, const Change& change, const Outcome& outcome, int tries) {
  const CallName name = call->core->call(call->doing, call->key);
  if (auto fault = faultIn(name, outcome)) {
    if (fault->maybeApplied) return call->handler(Unknown{std::move(fault->error)});
    return call->handler(Rejected{std::move(fault->error)});
  }
  const auto reply = txnReplyFrom(outcome->body);
  if (reply.has_error()) return call->handler(Unknown{notUnderstood(name, outcome->member, reply.error().what)});
  if (!reply->succeeded) return answerRefused(call, *outcome, *reply, tries);
  if (!showsChange(seen, change, *reply)) {
    return call->handler(Unknown{notUnderstood(name, outcome->member, "the answer does not show what was written")});
  }
  if (change.isFirst) {
    State marked = seen;
    marked.revision = static_cast<std::uint64_t>(reply->revision);
    marked.nothing = false;
    marked.counterSlot = {reply->revision, textOf(*change.counter)};
    return decideFrom(call, marked, tries + 1);
  }
  keepTerm(*call, seen, change, reply->revision);
  call->handler(change.applied);
}

void sendChange(const WriteCallPtr& call, const State& seen, Change change, int tries) {
  const auto repeat = call->repeats && !change.erasesRecord() ? Gateway::Repeat::yes : Gateway::Repeat::no;
  std::string body = bodyOf(call->core->keys, call->key, seen, change);
  send(call->core, std::move(body), call->deadline, repeat,
       [call, seen, change = std::move(change), tries](const Outcome& outcome) {
         answered(call, seen, change, outcome, tries);
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
  call->core->terms.forget(call->key);
  call->handler(std::move(std::get<WriteOutcome>(decision)));
}

void readAndDecide(const WriteCallPtr& call) {
  readState(call->core, call->key, call->doing, call->deadline, [call](StoreResult<State> state) {
    if (state.has_error()) return call->handler(Rejected{state.error()});
    decideFrom(call, *state, 0);
  });
}

}  // namespace

std::string bodyOf(const Keys& keys, const LeaseKey& key, const State& seen, const Change& change) {
  const std::string recordKey = keys.recordOf(key);
  const std::string counterKey = keys.counterOf(key);
  Txn txn;
  requireAsSeen(txn, recordKey, seen.recordSlot);
  if (change.counter) requireAsSeen(txn, counterKey, seen.counterSlot);
  if (change.record) txn.put(recordKey, textOf(*change.record));
  if (const auto& by = change.correction) {
    txn.put(recordKey, corrected(*seen.recordSlot.value, by->token, by->version));
  }
  if (change.erasesRecord()) txn.erase(recordKey);
  if (change.counter) txn.put(counterKey, textOf(*change.counter));
  txn.elseRead(recordKey);
  txn.elseRead(counterKey);
  return txn.body();
}

bool showsChange(const State& seen, const Change& change, const TxnReply& reply) {
  const bool touchesRecord = change.record || change.correction || change.erasesRecord();
  const std::size_t expected = (touchesRecord ? 1U : 0U) + (change.counter ? 1U : 0U);
  const std::int64_t changedAt = std::max(seen.recordSlot.changedAt, seen.counterSlot.changedAt);
  const bool later = reply.revision > std::max(static_cast<std::int64_t>(seen.revision), changedAt);
  if (!later || reply.parts.size() != expected) return false;
  return std::all_of(reply.parts.begin(), reply.parts.end(), [&](const Part& part) {
    if (change.erasesRecord() && &part == &reply.parts.front())
      return part.kind == Part::Kind::erase && part.erased == 1;
    return part.kind == Part::Kind::put;
  });
}

void perform(const WriteCallPtr& call) {
  const auto known = call->core->terms.find(call->key);
  if (!known) return readAndDecide(call);
  // What was known may be out of date, so it decides nothing but what to try.
  Decision decision = call->decide(*known);
  auto* change = std::get_if<Change>(&decision);
  if (change == nullptr) return readAndDecide(call);
  sendChange(call, *known, std::move(*change), 0);
}

}  // namespace tenure::etcd_store
