// remove(), and the release that keeps no record: the lock item is deleted, and the counter stays.
#include "ownership.hpp"

namespace tenure::dynamodb_store {
namespace {

/// The counter keeps the token from which an acquisition now would have counted on, even where only the lock item had
/// it. The holder of an item that was not released may live. So the counter states its lease, and new candidates wait
/// as they would for the item.
CounterState counterAfter(const Ownership& write, const Pair& pair) {
  const Core& core = *write.core();
  const auto plan = planToken(core.where, write.request, pair.stored, pair.companion, core.epochSeconds());
  const LeaseRecord& record = pair.stored->record;
  const bool over = record.released || write.request.purpose == WriteRequest::Purpose::release;
  return {plan.has_error() ? maxFencingToken : FencingToken{plan->token.value() - 1},
          over ? std::chrono::milliseconds{0} : record.leaseDuration};
}

void remove(const OwnershipPtr& write, const Pair& pair) {
  const bool releases = write->request.purpose == WriteRequest::Purpose::release;
  const bool own = !releases || (pair.stored && pair.stored->record.holder == write->request.record.holder);
  if (!pair.stored || !own || !write->isExpected(pair)) return write->call->handler(Conflict{pair.state()});
  write->plan.token = pair.stored->record.token;
  write->counter = counterAfter(*write, pair);
  transact(
      write,
      removeRequest(write->core()->layout, write->request.key, pair.stored->record, pair.companion, write->counter),
      proveRemoved);
}

}  // namespace

void removeItem(const OwnershipPtr& write) {
  withPair(write, [write](const Pair& pair) { remove(write, pair); });
}

void removeLease(const LeaseCallPtr& call, RecordVersion version) {
  WriteRequest request;
  request.key = call->key;
  request.expected = {std::move(version)};
  removeItem(std::make_shared<Ownership>(Ownership{call, std::move(request)}));
}

}  // namespace tenure::dynamodb_store
