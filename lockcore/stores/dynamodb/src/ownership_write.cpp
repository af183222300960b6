// write(): acquire, renew, release.
#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

#include "../../../src/mutants.hpp"
#include "lease_call.hpp"
#include "requests.hpp"
#include "token_plan.hpp"

namespace tenure::dynamodb_store {
namespace {

using Purpose = WriteRequest::Purpose;

/// A write under way; its handlers share it.
struct Ownership {
  LeaseCallPtr call;
  WriteRequest request;
  TokenPlan plan{};

  [[nodiscard]] const CorePtr& core() const noexcept { return call->core; }

  [[nodiscard]] WriteDetails details() const {
    WriteDetails details;
    if (!core()->layout.hasTtl()) return details;
    details.epochSeconds = core()->epochSeconds();
    details.ttl = core()->options.ttl;
    return details;
  }

  [[nodiscard]] bool isExpected(const std::optional<StoredRecord>& stored) const {
    const auto& expected = request.expected;
    if (!stored) return expected.empty();
    return std::find(expected.begin(), expected.end(), stored->record.version) != expected.end();
  }
};
using OwnershipPtr = std::shared_ptr<Ownership>;

Conflict conflictWith(std::optional<StoredRecord> stored) {
  std::optional<LeaseRecord> current;
  if (stored) current = std::move(stored->record);
  return {std::move(current)};
}

/// Another transaction was at work on the items when this one was refused. If it was a rival's acquisition, the
/// expectation is void by now, and the caller should learn that instead of a refusal that says nothing.
void answerBusy(const OwnershipPtr& write, StoreError refused) {
  const LeaseCallPtr& call = write->call;
  send(call->core, "GetItem", readRequest(call->core->layout, call->key), call->deadline,
       [write, refused = std::move(refused)](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_error()) return write->call->handler(Rejected{refused});
         auto stored = itemIn(write->call->subject(), *reply);
         if (stored.has_error()) return write->call->handler(Unknown{stored.error()});  // as answerConflict() does
         if (write->isExpected(*stored)) return write->call->handler(Rejected{refused});
         write->call->handler(conflictWith(std::move(*stored)));
       });
}

void transacted(const OwnershipPtr& write, const aws::JsonOutcome& outcome) {
  const auto reply = parseReply(write->call->name(), outcome);
  if (reply.has_value()) return write->call->handler(Applied{write->plan.token, false, write->plan.warning});
  const Fault& fault = reply.error();
  if (fault.name == "TransactionCanceledException") {
    Refusal refusal = refusalIn(write->call->name(), fault);
    if (refusal.kind == Refusal::Kind::busy) return answerBusy(write, std::move(refusal.error));
  }
  answerFault(write->call, fault);
}

void decideOn(const OwnershipPtr& write, Pair pair) {
  const Core& core = *write->core();
  if (!write->isExpected(pair.stored)) return write->call->handler(conflictWith(std::move(pair.stored)));
  auto plan = planToken(core.where, write->request, pair.stored, pair.companion, core.epochSeconds());
  if (plan.has_error()) return write->call->handler(Rejected{plan.error()});
  write->plan = std::move(*plan);
  WriteDetails details = write->details();
  if (pair.stored) {
    details.hasData = !pair.stored->record.data.empty();
    details.stored = std::move(pair.stored->record.attributes);
  }
  send(write->core(), "TransactWriteItems",
       acquireRequest(core.layout, write->request, details, pair.companion, write->plan.token), write->call->deadline,
       [write](const aws::JsonOutcome& outcome) { transacted(write, outcome); });
}

/// One consistent read of both items, then one transaction on the condition that both still are as they were read.
void acquire(const OwnershipPtr& write) {
  send(write->core(), "BatchGetItem", readPairRequest(write->core()->layout, write->request.key), write->call->deadline,
       [write](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_error()) return write->call->handler(Rejected{reply.error().error});
         auto pair = pairIn(write->call->subject(), *reply);
         if (pair.has_error()) return write->call->handler(Rejected{pair.error()});
         decideOn(write, std::move(*pair));
       });
}

void updateWith(const OwnershipPtr& write, const WriteDetails& details) {
  const Core& core = *write->core();
  const bool mayDelete =
      core.options.deleteOnRelease || write->request.removes || mutant::on(Mutant::dynamodbDeletesOnRelease);
  const bool deletes = write->request.purpose == Purpose::release && mayDelete;
  send(write->core(), deletes ? "DeleteItem" : "UpdateItem",
       deletes ? deleteRequest(core.layout, write->request) : updateRequest(core.layout, write->request, details),
       write->call->deadline, [write](const aws::JsonOutcome& outcome) {
         const CallName name = write->call->name();
         const auto reply = parseReply(name, outcome);
         if (reply.has_error()) return answerFault(write->call, reply.error());
         write->call->handler(writtenIn(write->call->subject(), name, write->request, *reply));
       });
}

/// Attributes are replaced whole, and DynamoDB removes only what is named: so what is there is read first. The elector
/// brings attributes with acquisitions only, where they are read anyway.
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

void keepTerm(const OwnershipPtr& write) {
  if (write->request.expected.empty()) return answerConflict(write->call, std::nullopt);
  if (!write->request.record.attributes.empty()) return updateAttributes(write);
  updateWith(write, write->details());
}

/// The counter keeps what an acquisition now would have counted on from, also where only the lock item told it.
void decideRemoval(const OwnershipPtr& write, const Pair& pair) {
  const Core& core = *write->core();
  if (!pair.stored || !write->isExpected(pair.stored)) return write->call->handler(conflictWith(pair.stored));
  auto plan = planToken(core.where, write->request, pair.stored, pair.companion, core.epochSeconds());
  const FencingToken counter = plan.has_error() ? maxFencingToken : FencingToken{plan->token.value() - 1};
  write->plan.token = pair.stored->record.token;
  send(write->core(), "TransactWriteItems",
       removeRequest(core.layout, write->request.key, pair.stored->record.version, pair.companion, counter),
       write->call->deadline, [write](const aws::JsonOutcome& outcome) { transacted(write, outcome); });
}

}  // namespace

void removeLease(const LeaseCallPtr& call, RecordVersion version) {
  WriteRequest request;
  request.key = call->key;
  request.expected = {std::move(version)};
  const auto write = std::make_shared<Ownership>(Ownership{call, std::move(request)});
  send(call->core, "BatchGetItem", readPairRequest(call->core->layout, call->key), call->deadline,
       [write](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(write->call->name(), outcome);
         if (reply.has_error()) return write->call->handler(Rejected{reply.error().error});
         const auto pair = pairIn(write->call->subject(), *reply);
         if (pair.has_error()) return write->call->handler(Rejected{pair.error()});
         decideRemoval(write, *pair);
       });
}

void writeLease(const LeaseCallPtr& call, WriteRequest request) {
  const auto write = std::make_shared<Ownership>(Ownership{call, std::move(request)});
  if (write->request.purpose == Purpose::acquire) return acquire(write);
  keepTerm(write);
}

}  // namespace tenure::dynamodb_store
