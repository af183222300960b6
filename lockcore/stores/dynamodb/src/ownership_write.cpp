// write(): acquire, renew, release.
#include "ownership.hpp"

namespace tenure::dynamodb_store {
namespace {

using Purpose = WriteRequest::Purpose;

/// One consistent read of both items, then one transaction on the condition that both items are still as they were
/// read.
void acquire(const OwnershipPtr& write, const Pair& pair) {
  const Core& core = *write->core();
  if (!write->isExpected(pair)) return write->call->handler(Conflict{pair.state()});
  auto plan = planToken(core.where, write->request, pair.stored, pair.companion, core.epochSeconds());
  if (plan.has_error()) return write->call->handler(Rejected{plan.error()});
  write->plan = std::move(*plan);
  write->counter = {write->plan.token, write->request.record.leaseDuration};
  WriteDetails details = write->details();
  details.present = pair.stored.has_value();
  if (pair.stored) {
    details.hasData = !pair.stored->record.data.empty();
    details.stored = pair.stored->record.attributes;
  }
  transact(write, acquireRequest(core.layout, write->request, details, pair.companion, write->counter), proveWritten);
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
  const LeaseRecord& wanted = write->request.record;
  const bool own = pair.stored && pair.stored->record.holder == wanted.holder && write->isExpected(pair);
  if (!own) return write->call->handler(Conflict{pair.state()});
  const FencingToken token = std::max(pair.stored->record.token, pair.companion.counter);
  WriteDetails details = write->details();
  details.stored = pair.stored->record.attributes;
  const bool stated = pair.companion.counter == token && pair.companion.openLease >= wanted.leaseDuration;
  if (stated) return updateWith(write, details);
  // Where an operator removed the item's token, the renewal brings it back.
  write->plan.token = pair.stored->record.token.isNone() ? wanted.token : pair.stored->record.token;
  write->counter = {std::max(token, write->plan.token), wanted.leaseDuration};
  transact(write, lengthenRequest(write->core()->layout, write->request, details, pair.companion, write->counter),
           proveWritten);
}

void keepTerm(const OwnershipPtr& write) {
  const WriteRequest& request = write->request;
  if (request.expected.empty()) return answerConflict(write->call, std::nullopt);
  const bool mayRemove = write->core()->options.deleteOnRelease || request.removes;
  if (request.purpose == Purpose::release && mayRemove) return removeItem(write);
  const bool lengthens = request.purpose == Purpose::renew && request.lengthens;
  if (lengthens) return withPair(write, [write](const Pair& pair) { lengthen(write, pair); });
  if (!request.record.attributes.empty()) return updateAttributes(write);
  updateWith(write, write->details());
}

}  // namespace

void writeLease(const LeaseCallPtr& call, WriteRequest request) {
  const auto write = std::make_shared<Ownership>(Ownership{call, std::move(request)});
  if (write->request.purpose != Purpose::acquire) return keepTerm(write);
  withPair(write, [write](const Pair& pair) { acquire(write, pair); });
}

}  // namespace tenure::dynamodb_store
