#include "state.hpp"

#include <algorithm>
#include <utility>

#include "requests.hpp"

namespace tenure::etcd_store {
namespace {

/// Empty: the part is not the read of this key alone.
std::optional<Slot> slotIn(const Part& part, const std::string& key) {
  if (part.kind != Part::Kind::read || part.more || part.found.size() > 1) return std::nullopt;
  if (part.found.empty()) return Slot{};
  const KeyValue& entry = part.found.front();
  if (entry.key != key) return std::nullopt;
  return Slot{entry.changedAt, entry.value};
}

}  // namespace

State stateOf(const Keys& keys, const std::string& where, const LeaseKey& key, Slot record, Slot counter,
              std::int64_t revision) {
  State state;
  state.revision = static_cast<std::uint64_t>(revision);
  state.recordSlot = std::move(record);
  state.counterSlot = std::move(counter);
  state.nothing = !state.recordSlot.value && !state.counterSlot.value;
  if (state.recordSlot.value) {
    auto read = recordFrom({where, key, keys.recordOf(key)}, *state.recordSlot.value);
    if (read.has_error()) state.record = read.error();
    if (read.has_value()) state.record = std::optional{std::move(*read)};
  }
  if (state.counterSlot.value) state.counter = counterFrom({where, key, keys.counterOf(key)}, *state.counterSlot.value);
  return state;
}

boost::system::result<State, Misunderstood> stateIn(const Core& core, const LeaseKey& key, const TxnReply& reply) {
  if (reply.parts.size() != 2) return Misunderstood{"the answer does not have what was asked for"};
  auto record = slotIn(reply.parts[0], core.keys.recordOf(key));
  auto counter = slotIn(reply.parts[1], core.keys.counterOf(key));
  if (!record || !counter) return Misunderstood{"the answer has another key than was asked for"};
  return stateOf(core.keys, core.where, key, *std::move(record), *std::move(counter), reply.revision);
}

StoreResult<StoredTokens> tokensIn(const Core& core, const LeaseKey& key, const State& state) {
  return tokensFrom({core.where, key, core.keys.recordOf(key)}, state.recordSlot.value, state.counterSlot.value);
}

void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler) {
  Txn txn;
  txn.read(core->keys.recordOf(call.key));
  txn.read(core->keys.counterOf(call.key));
  send(core, txn.body(), call.deadline, Gateway::Repeat::yes,
       [core, key = call.key, doing = call.text(), handler = std::move(handler)](const Outcome& outcome) {
         const CallName name{core->where, doing};
         if (auto fault = faultIn(name, outcome)) return handler(std::move(fault->error));
         const auto reply = txnReplyFrom(outcome->body);
         if (reply.has_error()) return handler(notUnderstood(name, outcome->member, reply.error().what));
         if (!reply->succeeded) return handler(notUnderstood(name, outcome->member, "nothing was read"));
         auto state = stateIn(*core, key, *reply);
         if (state.has_error()) return handler(notUnderstood(name, outcome->member, state.error().what));
         handler(std::make_shared<const State>(std::move(*state)));
       });
}

namespace {

/// Revisions tell every change, except where a cluster was restored from a snapshot: it counts some of them once more.
void requireAsSeen(Txn& txn, const std::string& key, const Slot& slot) {
  txn.require(key, slot.changedAt);
  if (slot.value) txn.requireValue(key, *slot.value);
}

struct Sent {
  CorePtr core;
  LeaseKey key;
  CallName name;
  std::shared_ptr<const State> seen;
  Change change;
};

/// All that the transaction wrote was written at its revision.
State stateAfter(const Sent& sent, std::int64_t revision) {
  State now = *sent.seen;
  stored::apply(Change{sent.change}, now);
  now.revision = static_cast<std::uint64_t>(revision);
  if (sent.change.record) now.recordSlot = {revision, textOf(*sent.change.record)};
  if (sent.change.erasesRecord()) now.recordSlot = {};
  if (sent.change.counter) now.counterSlot = {revision, textOf(*sent.change.counter)};
  return now;
}

/// What is stored was not as required, so this change was not carried out and never will be: a revision that has
/// passed does not come back. But a copy that is out at another member may have been, and have changed what this one
/// required.
stored::SwapOutcome outcomeOfFailure(const Sent& sent, const Reply& answer, const TxnReply& reply) {
  auto state = stateIn(*sent.core, sent.key, reply);
  if (state.has_error()) return Unknown{notUnderstood(sent.name, answer.member, state.error().what)};
  return stored::Differs{std::make_shared<const State>(std::move(*state)), answer.copiesOut};
}

stored::SwapOutcome outcomeOf(const Sent& sent, const Outcome& outcome) {
  if (auto fault = faultIn(sent.name, outcome)) {
    if (fault->maybeApplied) return Unknown{std::move(fault->error)};
    return Rejected{std::move(fault->error)};
  }
  const auto reply = txnReplyFrom(outcome->body);
  if (reply.has_error()) return Unknown{notUnderstood(sent.name, outcome->member, reply.error().what)};
  if (!reply->succeeded) return outcomeOfFailure(sent, *outcome, *reply);
  if (!showsChange(*sent.seen, sent.change, *reply))
    return Unknown{notUnderstood(sent.name, outcome->member, "the answer does not show what was written")};
  if (sent.change.correction) return stored::Swapped{sent.seen};  // nobody decides from what an operator has written
  return stored::Swapped{std::make_shared<const State>(stateAfter(sent, reply->revision))};
}

}  // namespace

void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler) {
  const auto repeat = call.own && !change.erasesRecord() ? Gateway::Repeat::yes : Gateway::Repeat::no;
  std::string body = bodyOf(core->keys, call.key, *seen, change);
  auto sent = std::make_shared<const Sent>(
      Sent{core, call.key, {core->where, call.text()}, std::move(seen), std::move(change)});
  send(core, std::move(body), call.deadline, repeat,
       [sent = std::move(sent), handler = std::move(handler)](const Outcome& outcome) {
         handler(outcomeOf(*sent, outcome));
       });
}

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

void send(const CorePtr& core, std::string body, const CallDeadline& deadline, Gateway::Repeat repeat,
          OutcomeHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  const auto gateway = core->gateway.lock();
  if (gateway && left.count() > 0) return gateway->call(txnPath, std::move(body), left, repeat, std::move(handler));
  const char* why = gateway ? "the call timed out before a request was sent" : "the store was closed";
  core->post(std::move(handler), Outcome{CallFault{{ErrorClass::transient, why}, false}});
}

}  // namespace tenure::etcd_store
