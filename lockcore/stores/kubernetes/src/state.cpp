#include "state.hpp"

#include <utility>

#include "lockcore/kubernetes/names.hpp"
#include "lockcore/kubernetes/replies.hpp"
#include "record_codec.hpp"

namespace tenure::kubernetes_store {

State stateOf(const std::string& where, const LeaseKey& key, LeaseObject object) {
  State state{storedIn({where, key}, object)};
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
         handler(std::make_shared<const State>(stateOf(core->where, key, std::move(*object))));
       });
}

namespace {

struct Sent {
  CorePtr core;
  stored::RegisterCall call;
  std::shared_ptr<const State> seen;
  Change change;
  std::optional<RenewClock> clock{};  ///< of the term, if this is carried out

  [[nodiscard]] CallName name() const { return {core->where, call.text()}; }
  [[nodiscard]] State shownIn(LeaseObject object) const { return stateOf(core->where, call.key, std::move(object)); }
};

/// The clock of the term to which the change belongs, if this process knows it.
std::optional<RenewClock> clockFor(const Core& core, const LeaseKey& key, const State& seen, const Change& change) {
  const auto& record = change.record ? change.record : seen.record.has_value() ? *seen.record : std::nullopt;
  const auto term = core.clocks.find(key);
  return record && term && term->isOf(record->record) ? std::optional{term->clock} : std::nullopt;
}

/// A lease that the process holds is renewed next.
void keepClock(const Sent& sent, const State& shown) {
  const bool held = shown.record.has_value() && *shown.record && !(*shown.record)->record.released;
  if (!held || !sent.clock) return sent.core->clocks.forget(sent.call.key);
  const LeaseRecord& record = (*shown.record)->record;
  if (sent.call.own) sent.core->clocks.keep(sent.call.key, {record.holder, record.token, *sent.clock});
}

/// What decides something; a liveness file or a time that the server writes in another way is no matter.
bool showsRecord(const stored::StoredRecord& written, const stored::StoredRecord& shown) {
  const LeaseRecord& a = written.record;
  const LeaseRecord& b = shown.record;
  return a.version == b.version && a.holder == b.holder && a.token == b.token && a.released == b.released &&
         a.leaseDuration == b.leaseDuration && a.data == b.data && a.attributes == b.attributes &&
         a.successor == b.successor && written.stepDown == shown.stepDown;
}

/// What conflicted never will be carried out: a resourceVersion that has passed does not come back. But it may have
/// been: a proxy may send a PUT twice, and the second one conflicts with the first. Only what is stored tells.
stored::SwapOutcome outcomeOf(const Sent& sent, const Outcome& outcome) {
  const std::string object = objectNameOf(sent.call.key);
  const bool updates = sent.seen->object.has_value();
  const bool differs = outcome && (saysConflict(*outcome) || (updates && saysAbsent(*outcome, object)));
  if (differs) return stored::Differs{nullptr, true};
  if (auto fault = faultIn(sent.name(), outcome)) {
    if (fault->maybeApplied) return Unknown{std::move(fault->error)};
    return Rejected{std::move(fault->error)};
  }
  auto read = leaseFrom(outcome->body, object);
  if (read.has_error()) return Unknown{notUnderstood(sent.name(), read.error().what)};
  State shown = sent.shownIn(std::move(*read));
  if (!showsChange(*sent.seen, sent.change, shown))
    return Unknown{notUnderstood(sent.name(), "the answer does not show what was written")};
  keepClock(sent, shown);
  return stored::Swapped{std::make_shared<const State>(std::move(shown))};
}

/// The request that carries out the change; without an object it makes one.
Request requestFor(Sent& sent) {
  const Core& core = *sent.core;
  const State& before = *sent.seen;
  if (!before.object) {
    const stored::Counter counter = sent.change.counter.value_or(stored::Counter{});
    return core.requests.create(creationText(core.settings, sent.call.key, counter));
  }
  WriteTime time{clockFor(core, sent.call.key, before, sent.change), core.scheduler->now()};
  Edited edited = changeText(core.settings, sent.call.key, *before.object, before, sent.change, time);
  if (!time.clock && edited.renewMicros != 0) time.clock = RenewClock{edited.renewMicros, time.now};
  sent.clock = time.clock;
  return core.requests.update(before.object->name, std::move(edited.text));
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

void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler) {
  auto sent = std::make_shared<Sent>(Sent{core, call, std::move(seen), std::move(change)});
  Request request = requestFor(*sent);
  send(core, std::move(request), call.deadline,
       [sent, handler = std::move(handler)](const Outcome& outcome) { handler(outcomeOf(*sent, outcome)); });
}

void send(const CorePtr& core, Request request, const CallDeadline& deadline, OutcomeHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  const auto gateway = core->gateway.lock();
  if (gateway && left.count() > 0) return gateway->call(std::move(request), left, std::move(handler));
  const char* why = gateway ? "the call timed out before a request was sent" : "the store was closed";
  core->post(std::move(handler), Outcome{CallFault{{ErrorClass::transient, why}, false}});
}

}  // namespace tenure::kubernetes_store
