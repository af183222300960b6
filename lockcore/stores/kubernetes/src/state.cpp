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

StoreResult<StoredTokens> tokensOf(const Core& core, const LeaseKey& key, const State& state) {
  if (!state.object) return StoredTokens{};
  return tokensIn({core.where, key}, *state.object);
}

void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler) {
  const std::string name = objectNameOf(call.key);
  Request request = core->requests.get(name);
  request.yields = call.doing == stored::reading && !call.own;
  send(core, std::move(request), call.deadline,
       [core, key = call.key, doing = call.text(), name, handler = std::move(handler)](const Outcome& outcome) {
         const CallName said{core->where, doing};
         if (outcome && saysAbsent(*outcome, name)) return handler(std::make_shared<const State>(absentState()));
         if (auto fault = faultIn(said, outcome)) return handler(std::move(fault->error));
         auto object = leaseFrom(outcome->body, name);
         if (object.has_error()) return handler(notUnderstood(said, object.error().what));
         handler(std::make_shared<const State>(stateOf(*core, key, std::move(*object))));
       });
}

}  // namespace tenure::kubernetes_store
