// write(): acquire, renew, release; and remove().
#include "ownership.hpp"

namespace tenure::dynamodb_store {
namespace {

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
