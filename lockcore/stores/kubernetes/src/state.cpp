#include "state.hpp"

#include <utility>

#include "names.hpp"
#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {

State stateOf(const Core& core, const LeaseKey& key, LeaseObject object) {
  State state{storedIn({core.where, key}, object)};
  state.object = std::move(object);
  return state;
}

State absentState() {
  State state;
  state.nothing = true;
  return state;
}

bool isTermOf(const State& state, const LeaseRecord& record) {
  if (state.record.has_error() || !*state.record) return false;
  const LeaseRecord& own = (*state.record)->record;
  return own.token == record.token && own.holder == record.holder;
}

StoreResult<StoredTokens> tokensOf(const Core& core, const LeaseKey& key, const State& state) {
  if (!state.object) return StoredTokens{};
  return tokensIn({core.where, key}, *state.object);
}

void readState(const CorePtr& core, const LeaseKey& key, const Reading& reading, const CallDeadline& deadline,
               std::function<void(StoreResult<State>)> handler) {
  const std::string name = objectNameOf(key);
  Request request = core->requests.get(name);
  request.yields = reading.yields;
  send(core, std::move(request), deadline,
       [core, key, doing = reading.doing, name, handler = std::move(handler)](const Outcome& outcome) {
         const CallName call = core->call(doing, key);
         if (outcome && saysAbsent(*outcome, name)) return handler(absentState());
         if (auto fault = faultIn(call, outcome)) return handler(std::move(fault->error));
         auto object = leaseFrom(outcome->body, name);
         if (object.has_error()) return handler(notUnderstood(call, object.error().what));
         handler(stateOf(*core, key, std::move(*object)));
       });
}

}  // namespace tenure::kubernetes_store
