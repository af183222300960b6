#include "state.hpp"

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

boost::system::result<State, Misunderstood> stateIn(const Core& core, const LeaseKey& key, const TxnReply& reply) {
  const std::string recordKey = core.keys.recordOf(key);
  const std::string counterKey = core.keys.counterOf(key);
  if (reply.parts.size() != 2) return Misunderstood{"the answer does not have what was asked for"};
  auto record = slotIn(reply.parts[0], recordKey);
  auto counter = slotIn(reply.parts[1], counterKey);
  if (!record || !counter) return Misunderstood{"the answer has another key than was asked for"};
  State state;
  state.revision = static_cast<std::uint64_t>(reply.revision);
  state.recordSlot = std::move(*record);
  state.counterSlot = std::move(*counter);
  state.nothing = !state.recordSlot.value && !state.counterSlot.value;
  if (state.recordSlot.value) {
    auto read = recordFrom({core.where, key, recordKey}, *state.recordSlot.value);
    if (read.has_error()) state.record = read.error();
    if (read.has_value()) state.record = std::optional{std::move(*read)};
  }
  if (state.counterSlot.value) state.counter = counterFrom({core.where, key, counterKey}, *state.counterSlot.value);
  return state;
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

}  // namespace tenure::etcd_store
