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
             if (pair.has_value() && !write->isExpected(*pair)) return answer(Conflict{pair->state()});
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

}  // namespace

WriteDetails Ownership::details() const {
  WriteDetails details;
  if (!core()->layout.hasTtl()) return details;
  details.epochSeconds = core()->epochSeconds();
  details.ttl = core()->options.ttl;
  return details;
}

bool Ownership::isExpected(const Pair& pair) const {
  const std::optional<LeaseRecord> state = pair.state();
  const auto& expected = request.expected;
  if (!state) return expected.empty();
  return std::find(expected.begin(), expected.end(), state->version) != expected.end();
}

void withPair(const OwnershipPtr& write, const std::function<void(Pair)>& next) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline, [write, next](StoreResult<Pair> pair) {
    if (pair.has_error()) return write->call->handler(Rejected{pair.error()});
    next(std::move(*pair));
  });
}

void transact(const OwnershipPtr& write, std::string body, Proof proof) {
  send(write->core(), "TransactWriteItems", std::move(body), write->call->deadline,
       [write, proof](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_value()) return proof(write);
         const Fault& fault = reply.error();
         if (!fault.maybeApplied && fault.name == "TransactionCanceledException") {
           Refusal refusal = refusalIn(write->call->name(), fault);
           const bool other = refusal.kind == Refusal::Kind::busy || refusal.kind == Refusal::Kind::moved;
           if (other) return answerRefused(write, std::move(refusal));
         }
         answerFault(write->call, fault);
       });
}

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
                   const bool shows =
                       found.version == sent.version && found.holder == sent.holder && found.token == write->plan.token;
                   if (!shows) return answer(Unknown{unproven(*write)});
                   const bool asked = !found.token.isNone() && (*stored)->stepDown == found.token;
                   answer(Applied{found.token, asked, write->plan.warning});
                 });
}

void proveRemoved(const OwnershipPtr& write) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline, [write](const StoreResult<Pair>& pair) {
    const WriteHandler& answer = write->call->handler;
    if (pair.has_error()) return answer(Unknown{pair.error()});
    const Companion& companion = pair->companion;
    const bool shows =
        !pair->stored && companion.counter == write->counter.token && companion.openLease == write->counter.openLease;
    if (!shows) return answer(Unknown{unproven(*write)});
    answer(Applied{write->plan.token});
  });
}

}  // namespace tenure::dynamodb_store
