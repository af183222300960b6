#include "ownership.hpp"

#include <algorithm>

namespace tenure::dynamodb_store {
namespace {

/// The transaction was refused for another reason than the lock item's condition. If that condition does not hold any
/// more, a rival was quicker, and the caller should learn it. If another transaction was at work, it may be a copy of
/// this one that the network made and that may still be applied.
void answerRefused(const OwnershipPtr& write, Refusal refusal) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline,
           [write, refusal = std::move(refusal)](const StoreResult<Pair>& pair) {
             const WriteHandler& answer = write->call->handler;
             if (pair.has_value()) {
               stored::Decision now = write->decisionFrom(*pair);
               auto* outcome = std::get_if<WriteOutcome>(&now);
               if (outcome != nullptr && std::holds_alternative<Conflict>(*outcome)) return answer(std::move(*outcome));
             }
             if (pair.has_error() && pair.error().errorClass == ErrorClass::corrupt)
               return answer(Unknown{pair.error()});
             if (refusal.kind == Refusal::Kind::busy) return answer(Unknown{refusal.error});
             answer(Rejected{refusal.error});
           });
}

StoreError unproven(const Ownership& write) {
  return {ErrorClass::transient, write.call->name().text() +
                                     ": the answer was a success, but a consistent read does not show the write; check "
                                     "whether a proxy between here and DynamoDB answers in its place"};
}

/// Applied if the lock item has the version, holder and token that this write gave it; else Unknown.
void proveWritten(const OwnershipPtr& write) {
  const LeaseCallPtr& call = write->call;
  sendRepeatedly(call->core, "GetItem", readRequest(call->core->layout, call->key), call->deadline,
                 [write](const aws::JsonOutcome& outcome) {
                   const WriteHandler& answer = write->call->handler;
                   const auto reply = parseReply(write->call->name(), outcome);
                   if (reply.has_error()) return answer(Unknown{reply.error().error});
                   const auto stored = itemIn(write->call->subject(), *reply);
                   if (stored.has_error()) return answer(Unknown{stored.error()});
                   if (!*stored) return answer(Unknown{unproven(*write)});
                   const LeaseRecord& found = (*stored)->record;
                   const LeaseRecord& sent = write->request.record;
                   const Applied& applied = write->change.applied;
                   const bool shows =
                       found.version == sent.version && found.holder == sent.holder && found.token == applied.token;
                   if (!shows) return answer(Unknown{unproven(*write)});
                   const bool asked = !found.token.isNone() && (*stored)->stepDown == found.token;
                   answer(Applied{found.token, asked, applied.warning});
                 });
}

/// Applied if there is no lock item and the counter is as this write left it; else Unknown.
void proveRemoved(const OwnershipPtr& write) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline, [write](const StoreResult<Pair>& pair) {
    const WriteHandler& answer = write->call->handler;
    if (pair.has_error()) return answer(Unknown{pair.error()});
    const bool shows = !*pair->record && pair->companion.openLease && *pair->counter == *write->change.counter;
    if (!shows) return answer(Unknown{unproven(*write)});
    answer(Applied{write->change.applied.token});
  });
}

std::string warningOfStart(const std::string& where, const LeaseKey& key, const Pair& pair, FencingToken token) {
  return where + ": the fencing counter of lease " + toString(key) +
         " does not exist and the item has no copy of it, because another client wrote the item" +
         (pair.companion.present ? " and that of the counter" : "") + ". It starts at " +
         toString(FencingToken{token.value() - 1}) +
         " (seconds since 1970), above what an earlier counter can have reached";
}

/// An operator may have removed the token from the item of a living holder. A write of the holder brings it back.
bool lacksTokenOf(const WriteRequest& request, const LeaseRecord& record) {
  const auto& expected = request.expected;
  return record.token.isNone() && record.holder == request.record.holder &&
         std::find(expected.begin(), expected.end(), record.version) != expected.end();
}

}  // namespace

WriteDetails Ownership::details() const {
  WriteDetails details;
  if (!core()->layout.hasTtl()) return details;
  details.epochSeconds = core()->epochSeconds();
  details.ttl = core()->options.ttl;
  return details;
}

stored::Decision Ownership::decisionFrom(const Pair& pair) const {
  if (byOperator) return stored::decideRemoval(request.expected.front(), pair);
  const auto& item = *pair.record;
  if (request.purpose != WriteRequest::Purpose::acquire && item && lacksTokenOf(request, item->record)) {
    Pair whole = pair;
    (*whole.record)->record.token = request.record.token;
    return decideWrite(core()->where, request, whole);
  }
  stored::Decision decision = decideWrite(core()->where, request, pair);
  auto* acquisition = std::get_if<stored::Change>(&decision);
  if (acquisition != nullptr && pair.isTraceless()) {
    Applied& applied = acquisition->applied;
    applied.warning = warningOfStart(core()->where, request.key, pair, applied.token);
  }
  return decision;
}

void decide(const OwnershipPtr& write, WithChange next) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline, [write, next](const StoreResult<Pair>& pair) {
    const WriteHandler& answer = write->call->handler;
    if (pair.has_error()) return answer(Rejected{pair.error()});
    stored::Decision decision = write->decisionFrom(*pair);
    if (auto* outcome = std::get_if<WriteOutcome>(&decision)) return answer(std::move(*outcome));
    write->change = std::get<stored::Change>(std::move(decision));
    next(write, *pair);
  });
}

void transact(const OwnershipPtr& write, std::string body) {
  send(write->core(), "TransactWriteItems", std::move(body), write->call->deadline,
       [write](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_value()) return write->change.erasesRecord() ? proveRemoved(write) : proveWritten(write);
         const Fault& fault = reply.error();
         if (!fault.maybeApplied && fault.name == "TransactionCanceledException") {
           Refusal refusal = refusalIn(write->call->name(), fault);
           const bool other = refusal.kind == Refusal::Kind::busy || refusal.kind == Refusal::Kind::moved;
           if (other) return answerRefused(write, std::move(refusal));
         }
         answerFault(write->call, fault);
       });
}

}  // namespace tenure::dynamodb_store
