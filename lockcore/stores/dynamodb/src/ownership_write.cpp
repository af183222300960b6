// write(): acquire, renew, release; and remove(). The rule of a write makes a change of what is stored, or of what a
// holder takes to be stored. One request carries it out; what proves that it did is here.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lease_call.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {
namespace {

using Purpose = WriteRequest::Purpose;
using SwapPtr = std::shared_ptr<const Swap>;

/// The transaction was refused for another reason than the lock item's condition. If that condition does not hold any
/// more, a rival was quicker, and the caller should learn it. If another transaction was at work, it may be a copy of
/// this one that the network made and that may still be applied.
void answerRefused(const LeaseCallPtr& call, Cause cause) {
  readPair(call->core, call->key, call->doing, call->deadline,
           [call, cause = std::move(cause)](const StoreResult<Pair>& pair) {
             const WriteHandler& answer = call->handler;
             if (pair.has_value()) {
               stored::Decision now = call->decide(*pair);
               auto* outcome = std::get_if<WriteOutcome>(&now);
               if (outcome != nullptr && std::holds_alternative<Conflict>(*outcome)) return answer(std::move(*outcome));
             }
             if (pair.has_error() && pair.error().errorClass == ErrorClass::corrupt)
               return answer(Unknown{pair.error()});
             if (cause.kind == Cause::Kind::busy) return answer(Unknown{cause.error});
             answer(Rejected{cause.error});
           });
}

StoreError unproven(const LeaseCall& call) {
  return {ErrorClass::transient, call.name().text() +
                                     ": the answer was a success, but a consistent read does not show the write; check "
                                     "whether a proxy between here and DynamoDB answers in its place"};
}

/// Applied if the lock item has the version, holder and token that this write gave it; else Unknown.
void proveWritten(const LeaseCallPtr& call, const SwapPtr& swap) {
  sendRepeatedly(call->core, "GetItem", readRequest(call->core->layout, call->key), call->deadline,
                 [call, swap](const aws::JsonOutcome& outcome) {
                   const WriteHandler& answer = call->handler;
                   const auto reply = parseReply(call->name(), outcome);
                   if (reply.has_error()) return answer(Unknown{reply.error().error});
                   const auto stored = itemIn(call->subject(), *reply);
                   if (stored.has_error()) return answer(Unknown{stored.error()});
                   if (!*stored) return answer(Unknown{unproven(*call)});
                   const LeaseRecord& found = (*stored)->record;
                   const LeaseRecord& sent = swap->change.record->record;
                   const bool shows =
                       found.version == sent.version && found.holder == sent.holder && found.token == sent.token;
                   if (!shows) return answer(Unknown{unproven(*call)});
                   const bool asked = !found.token.isNone() && (*stored)->stepDown == found.token;
                   answer(Applied{found.token, asked, swap->change.applied.warning});
                 });
}

/// Applied if there is no lock item and the counter is as this write left it; else Unknown.
void proveRemoved(const LeaseCallPtr& call, const SwapPtr& swap) {
  readPair(call->core, call->key, call->doing, call->deadline, [call, swap](const StoreResult<Pair>& pair) {
    if (pair.has_error()) return call->handler(Unknown{pair.error()});
    const bool shows = !*pair->record && pair->companion.openLease && *pair->counter == *swap->change.counter;
    if (!shows) return call->handler(Unknown{unproven(*call)});
    call->handler(Applied{swap->change.applied.token});
  });
}

/// The answer to a transaction has no content that only the table could know. So a success is believed only once a read
/// shows what was written.
void transact(const LeaseCallPtr& call, const SwapPtr& swap) {
  send(call->core, "TransactWriteItems", transactRequest(call->core->layout, call->key, *swap), call->deadline,
       [call, swap](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(call->name(), outcome);
         if (reply.has_value())
           return swap->change.erasesRecord() ? proveRemoved(call, swap) : proveWritten(call, swap);
         const Fault& fault = reply.error();
         if (!fault.maybeApplied && fault.name == "TransactionCanceledException") {
           Cause cause = causeIn(call->name(), fault);
           const bool other = cause.kind == Cause::Kind::busy || cause.kind == Cause::Kind::moved;
           if (other) return answerRefused(call, std::move(cause));
         }
         answerFault(call, fault);
       });
}

/// Of the lock item alone. A renewal is sent in copies, so that a network that loses packets costs its holder little of
/// its time.
void update(const LeaseCallPtr& call, const Swap& swap) {
  const LeaseRecord& next = swap.change.record->record;
  const auto way = next.released ? send : sendRepeatedly;
  way(call->core, "UpdateItem", updateRequest(call->core->layout, call->key, swap), call->deadline,
      [call, version = next.version](const aws::JsonOutcome& outcome) {
        const CallName name = call->name();
        const auto reply = parseReply(name, outcome);
        if (reply.has_error()) return answerFault(call, reply.error());
        call->handler(writtenIn(call->subject(), name, version, *reply));
      });
}

/// Carries out what the rule makes of `seen`, on the condition that the record still is so and has one of `versions`.
void swapFrom(const LeaseCallPtr& call, Pair seen, std::vector<RecordVersion> versions) {
  stored::Decision decision = call->decide(seen);
  if (auto* outcome = std::get_if<WriteOutcome>(&decision)) return call->handler(std::move(*outcome));
  Swap swap{std::move(seen), std::move(versions), std::get<stored::Change>(std::move(decision))};
  const Core& core = *call->core;
  if (core.layout.hasTtl()) swap.expiresAt = core.epochSeconds() + core.options.ttl.count();
  if (!swap.change.counter) return update(call, swap);
  transact(call, std::make_shared<const Swap>(std::move(swap)));
}

void readAndSwap(const LeaseCallPtr& call) {
  readPair(call->core, call->key, call->doing, call->deadline, [call](const StoreResult<Pair>& pair) {
    if (pair.has_error()) return call->handler(Rejected{pair.error()});
    std::vector<RecordVersion> versions;
    if (const auto& item = *pair->record) versions.push_back(item->record.version);
    swapFrom(call, *pair, std::move(versions));
  });
}

/// What a renewal or a release depends on that the holder does not know: the counter, the attributes that go (DynamoDB
/// removes only what is named), or whether there are data.
bool needsRead(const WriteRequest& request) {
  const LeaseRecord& record = request.record;
  return request.purpose == Purpose::acquire || request.expected.empty() || request.removes || request.lengthens ||
         !record.attributes.empty() || (request.dataRule == DataRule::keepIfAny && !record.data.empty());
}

/// The lease as it must be for a renewal or a release by its holder, which reads nothing. If the holder does not name
/// its token, any will do: the one in the table stays, and the answer tells it. The data are others than those that the
/// holder brings, so that the change says whether they are written. The counter is not looked at.
Pair assumedBy(const WriteRequest& request) {
  StoredRecord item;
  item.record.holder = request.record.holder;
  item.record.version = request.expected.front();
  item.record.token = std::max(request.record.token, FencingToken{1});
  if (request.record.data.empty()) item.record.data = "others";
  Pair pair{std::move(item), {}};
  pair.counter = StoreError{ErrorClass::transient, "the fencing counter was not read"};
  return pair;
}

std::string warningOfStart(const std::string& where, const LeaseKey& key, const Pair& pair, FencingToken token) {
  return where + ": the fencing counter of lease " + toString(key) +
         " does not exist and the item has no copy of it, because another client wrote the item" +
         (pair.companion.present ? " and that of the counter" : "") + ". It starts at " +
         toString(FencingToken{token.value() - 1}) +
         " (seconds since 1970), above what an earlier counter can have reached";
}

stored::Decision decideAcquisition(const std::string& where, const WriteRequest& request, const Pair& pair) {
  stored::Decision decision = decideWrite(where, request, pair);
  auto* change = std::get_if<stored::Change>(&decision);
  if (change != nullptr && pair.isTraceless()) {
    change->applied.warning = warningOfStart(where, request.key, pair, change->applied.token);
  }
  return decision;
}

/// An operator may have removed the token from the item of a living holder. A write of the holder brings it back.
stored::Decision decideOwnTerm(const std::string& where, const WriteRequest& request, const Pair& pair) {
  const auto& item = *pair.record;
  if (item && item->record.token.isNone()) {
    Pair whole = pair;
    (*whole.record)->record.token = request.record.token;
    stored::Decision decision = decideWrite(where, request, whole);
    if (std::holds_alternative<stored::Change>(decision)) return decision;
  }
  return decideWrite(where, request, pair);
}

}  // namespace

void writeLease(const LeaseCallPtr& call, WriteRequest request) {
  const Core& core = *call->core;
  const bool acquires = request.purpose == Purpose::acquire;
  request.removes = request.purpose == Purpose::release && (request.removes || core.options.deleteOnRelease);
  request.lengthens = request.purpose == Purpose::renew && request.lengthens;
  const auto wanted = std::make_shared<const WriteRequest>(std::move(request));
  call->decide = [wanted, &where = core.where, rule = acquires ? decideAcquisition : decideOwnTerm](const Pair& pair) {
    return rule(where, *wanted, pair);
  };
  if (needsRead(*wanted)) return readAndSwap(call);
  swapFrom(call, assumedBy(*wanted), wanted->expected);
}

void removeLease(const LeaseCallPtr& call, RecordVersion version) {
  call->decide = [version = std::move(version)](const Pair& pair) { return stored::decideRemoval(version, pair); };
  readAndSwap(call);
}

}  // namespace tenure::dynamodb_store
