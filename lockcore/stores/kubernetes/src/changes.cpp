#include "changes.hpp"

#include <utility>

#include "names.hpp"
#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {
namespace {

struct Sent {
  CorePtr core;
  stored::RegisterCall call;
  std::shared_ptr<const State> seen;
  Change change;
  std::optional<RenewClock> clock{};  ///< of the term, if this is carried out

  [[nodiscard]] CallName name() const { return {core->where, call.text()}; }
  [[nodiscard]] State shownIn(LeaseObject object) const { return stateOf(*core, call.key, std::move(object)); }
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
         written.stepDown == shown.stepDown;
}

/// What conflicted never will be carried out: a resourceVersion that has passed does not come back. But it may have
/// been: a proxy may send a PUT twice, and the second one conflicts with the first. Only what is stored tells.
stored::SwapOutcome outcomeOfUpdate(const Sent& sent, const Outcome& outcome) {
  const std::string object = objectNameOf(sent.call.key);
  if (outcome && (saysConflict(*outcome) || saysAbsent(*outcome, object))) return stored::Differs{nullptr, true};
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

stored::SwapOutcome outcomeOfCreation(const Sent& sent, const Outcome& outcome) {
  if (outcome && saysConflict(*outcome)) return stored::Differs{nullptr, true};
  if (auto fault = faultIn(sent.name(), outcome)) {
    if (fault->maybeApplied) return Unknown{std::move(fault->error)};
    return Rejected{std::move(fault->error)};
  }
  auto read = leaseFrom(outcome->body, objectNameOf(sent.call.key));
  if (read.has_error()) return Unknown{notUnderstood(sent.name(), read.error().what)};
  State shown = sent.shownIn(std::move(*read));
  if (!showsChange(*sent.seen, sent.change, shown))
    return Unknown{notUnderstood(sent.name(), "the answer does not show what was written")};
  return stored::Swapped{std::make_shared<const State>(std::move(shown))};
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
  const State& before = *sent->seen;
  if (!before.object) {
    std::string body = creationText(core->settings, call.key, sent->change.counter.value_or(stored::Counter{}));
    return send(
        core, core->requests.create(std::move(body)), call.deadline,
        [sent, handler = std::move(handler)](const Outcome& outcome) { handler(outcomeOfCreation(*sent, outcome)); });
  }
  WriteTime time{clockFor(*core, call.key, before, sent->change), core->scheduler->now()};
  Edited edited = changeText(core->settings, call.key, *before.object, before, sent->change, time);
  if (!time.clock && edited.renewMicros != 0) time.clock = RenewClock{edited.renewMicros, time.now};
  sent->clock = time.clock;
  send(core, core->requests.update(before.object->name, std::move(edited.text)), call.deadline,
       [sent, handler = std::move(handler)](const Outcome& outcome) { handler(outcomeOfUpdate(*sent, outcome)); });
}

}  // namespace tenure::kubernetes_store
