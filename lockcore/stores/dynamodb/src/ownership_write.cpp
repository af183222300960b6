// write(): acquire, renew, release; and remove(). What the rule of a write makes of both items, and what proves that a
// write was applied.
#include <algorithm>
#include <memory>

#include "lease_call.hpp"
#include "lockcore/stored/decisions.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {

/// A write under way; its handlers share this object.
struct Ownership {
  LeaseCallPtr call;
  WriteRequest request;
  bool byOperator{false};   ///< remove(), whoever holds the lease; the request has only what is expected
  stored::Change change{};  ///< what was decided from both items

  [[nodiscard]] const CorePtr& core() const noexcept { return call->core; }
  [[nodiscard]] WriteDetails details() const;
  /// What the rule of a write says (lockcore/stored/decisions.hpp).
  [[nodiscard]] stored::Decision decisionFrom(const Pair& pair) const;
};
using OwnershipPtr = std::shared_ptr<Ownership>;

namespace {

/// The transaction was refused for another reason than the lock item's condition. If that condition does not hold any
/// more, a rival was quicker, and the caller should learn it. If another transaction was at work, it may be a copy of
/// this one that the network made and that may still be applied.
void answerRefused(const OwnershipPtr& write, Cause cause) {
  const LeaseCallPtr& call = write->call;
  readPair(call->core, call->key, call->doing, call->deadline,
           [write, cause = std::move(cause)](const StoreResult<Pair>& pair) {
             const WriteHandler& answer = write->call->handler;
             if (pair.has_value()) {
               stored::Decision now = write->decisionFrom(*pair);
               auto* outcome = std::get_if<WriteOutcome>(&now);
               if (outcome != nullptr && std::holds_alternative<Conflict>(*outcome)) return answer(std::move(*outcome));
             }
             if (pair.has_error() && pair.error().errorClass == ErrorClass::corrupt)
               return answer(Unknown{pair.error()});
             if (cause.kind == Cause::Kind::busy) return answer(Unknown{cause.error});
             answer(Rejected{cause.error});
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

namespace {

/// Reads both items and continues with them and the change that the write makes of them. Any other outcome is answered:
/// nothing was sent yet.
using WithChange = void (*)(const OwnershipPtr& write, const Pair& pair);
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

/// Sends a transaction. Its answer has no content that only the table could know. So a success is believed only once a
/// read shows what was written.
void transact(const OwnershipPtr& write, std::string body) {
  send(write->core(), "TransactWriteItems", std::move(body), write->call->deadline,
       [write](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_value()) return write->change.erasesRecord() ? proveRemoved(write) : proveWritten(write);
         const Fault& fault = reply.error();
         if (!fault.maybeApplied && fault.name == "TransactionCanceledException") {
           Cause cause = causeIn(write->call->name(), fault);
           const bool other = cause.kind == Cause::Kind::busy || cause.kind == Cause::Kind::moved;
           if (other) return answerRefused(write, std::move(cause));
         }
         answerFault(write->call, fault);
       });
}

using Purpose = WriteRequest::Purpose;

/// One consistent read of both items, then one transaction on the condition that both items are still as they were
/// read.
void acquire(const OwnershipPtr& write, const Pair& pair) {
  WriteDetails details = write->details();
  const auto& item = *pair.record;
  details.present = item.has_value();
  if (item) {
    details.hasData = !item->record.data.empty();
    details.stored = item->record.attributes;
  }
  transact(write,
           acquireRequest(write->core()->layout, write->request, details, pair.companion, *write->change.counter));
}

void updateWith(const OwnershipPtr& write, const WriteDetails& details) {
  const auto way = write->request.purpose == Purpose::renew ? sendRepeatedly : send;
  way(write->core(), "UpdateItem", updateRequest(write->core()->layout, write->request, details), write->call->deadline,
      [write](const aws::JsonOutcome& outcome) {
        const CallName name = write->call->name();
        const auto reply = parseReply(name, outcome);
        if (reply.has_error()) return answerFault(write->call, reply.error());
        write->call->handler(writtenIn(write->call->subject(), name, write->request, *reply));
      });
}

/// Attributes are replaced as a whole, and DynamoDB removes only those that are named, so the present ones are read
/// first. The elector sends attributes only with acquisitions, where they are read anyway.
void updateAttributes(const OwnershipPtr& write) {
  send(write->core(), "GetItem", readRequest(write->core()->layout, write->request.key), write->call->deadline,
       [write](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_error()) return write->call->handler(Rejected{reply.error().error});
         auto stored = itemIn(write->call->subject(), *reply);
         if (stored.has_error()) return write->call->handler(Rejected{stored.error()});
         WriteDetails details = write->details();
         if (*stored) details.stored = std::move((*stored)->record.attributes);
         updateWith(write, details);
       });
}

/// From the moment at which the record states the longer lease, the counter states it too.
void lengthen(const OwnershipPtr& write, const Pair& pair) {
  WriteDetails details = write->details();
  details.stored = (*pair.record)->record.attributes;
  const auto& counter = write->change.counter;
  if (!counter) return updateWith(write, details);
  transact(write, lengthenRequest(write->core()->layout, write->request, details, pair.companion, *counter));
}

void remove(const OwnershipPtr& write, const Pair& pair) {
  transact(write, removeRequest(write->core()->layout, write->request.key, (*pair.record)->record, pair.companion,
                                *write->change.counter));
}

/// What needs neither the counter nor the present attributes is one request. Its condition is the rule's expectation.
void keepTerm(const OwnershipPtr& write) {
  WriteRequest& request = write->request;
  if (request.expected.empty()) return answerConflict(write->call, std::nullopt);
  request.removes = request.removes || write->core()->options.deleteOnRelease;
  if (request.purpose == Purpose::release && request.removes) return decide(write, remove);
  if (request.purpose == Purpose::renew && request.lengthens) return decide(write, lengthen);
  if (!request.record.attributes.empty()) return updateAttributes(write);
  updateWith(write, write->details());
}

}  // namespace

void writeLease(const LeaseCallPtr& call, WriteRequest request) {
  const auto write = std::make_shared<Ownership>(Ownership{call, std::move(request)});
  if (write->request.purpose != Purpose::acquire) return keepTerm(write);
  decide(write, acquire);
}

void removeLease(const LeaseCallPtr& call, RecordVersion version) {
  WriteRequest request;
  request.key = call->key;
  request.expected = {std::move(version)};
  decide(std::make_shared<Ownership>(Ownership{call, std::move(request), true}), remove);
}

}  // namespace tenure::dynamodb_store
