#include "lease_call.hpp"

#include <algorithm>

#include "core.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {
namespace {

// The condition did not hold for the request that was answered. Only the record shows whether a copy of that request
// was applied before it, so a record that is not understood leaves the write unknown.
void answerNotUnderstood(const LeaseCall& call, const StoreError& error) {
  if (call.leavesVersion) return call.handler(Unknown{error});
  call.handler(Rejected{error});
}

/// With a state of which the rule makes the change once more, a copy that is still out may be carried out yet.
void answerChanged(const LeaseCall& call, const Pair& pair) {
  stored::Decision now = call.decide(pair);
  if (auto* outcome = std::get_if<WriteOutcome>(&now)) return call.handler(std::move(*outcome));
  call.handler(Unknown{{ErrorClass::transient, call.name().text() + ": others keep changing it; it is tried again"}});
}

/// A read of both items.
struct PairRead {
  CorePtr core;
  LeaseKey key;
  Deadline deadline;
  PairHandler handler;
  std::string_view doing;
};

void answer(const PairRead& read, Pair pair) {
  const std::int64_t seconds = pair.isTraceless() ? read.core->epochSeconds() : 0;
  pair.revision = static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
  read.handler(std::move(pair));
}

/// The two items are read one after the other. If there is no lock item, and the counter states an open term, somebody
/// may have acquired the lease in between. So the lock item is read once more, now certainly after the counter.
void lookAgain(const PairRead& read, const Companion& companion) {
  sendRepeatedly(read.core, "GetItem", readRequest(read.core->layout, read.key), read.deadline,
                 [read, companion](const aws::JsonOutcome& outcome) {
                   const auto reply = parseReply({read.core->where, read.doing, &read.key}, outcome);
                   if (reply.has_error()) return read.handler(reply.error().error);
                   auto stored = itemIn({read.core->layout, read.core->where, read.key}, *reply);
                   if (stored.has_error()) return read.handler(stored.error());
                   answer(read, Pair{std::move(*stored), companion});
                 });
}

}  // namespace

void readPair(const CorePtr& core, const LeaseKey& key, std::string_view doing, const Deadline& deadline,
              PairHandler handler) {
  sendRepeatedly(core, "BatchGetItem", readPairRequest(core->layout, key), deadline,
                 [read = PairRead{core, key, deadline, std::move(handler), doing}](const aws::JsonOutcome& outcome) {
                   const auto reply = parseReply({read.core->where, read.doing, &read.key}, outcome);
                   if (reply.has_error()) return read.handler(reply.error().error);
                   auto pair = pairIn({read.core->layout, read.core->where, read.key}, *reply);
                   if (pair.has_error()) return read.handler(pair.error());
                   if (!*pair->record && pair->companion.isOpen()) return lookAgain(read, pair->companion);
                   answer(read, std::move(*pair));
                 });
}

void readLease(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, ReadHandler handler) {
  sendRepeatedly(core, "GetItem", readRequest(core->layout, key), deadline,
                 [core, key, deadline, handler = std::move(handler)](const aws::JsonOutcome& outcome) {
                   const auto reply = parseReply({core->where, "reading", &key}, outcome);
                   if (reply.has_error()) return handler(reply.error().error);
                   auto found = itemIn({core->layout, core->where, key}, *reply);
                   if (found.has_error()) return handler(found.error());
                   if (*found) return handler(std::optional{std::move((*found)->record)});
                   readPair(core, key, "reading", deadline, [handler](const StoreResult<Pair>& pair) {
                     handler(pair.has_error() ? ReadOutcome{pair.error()} : pair->answer());
                   });
                 });
}

void askToStepDown(const LeaseCallPtr& call, const StepDownRequest& request) {
  call->decide = [request](const Pair& pair) { return stored::decideStepDown(request, pair); };
  StoredRecord term;
  term.record.token = request.token;
  const stored::Decision decision = call->decide(Pair{term, {}});
  const auto* change = std::get_if<stored::Change>(&decision);
  // No term has such a token, and the request would ask DynamoDB to compare with a negative number.
  if (change == nullptr || request.token > maxFencingToken) return answerConflict(call, std::nullopt);
  send(call->core, "UpdateItem", stepDownRequest(call->core->layout, call->key, term, *change->record), call->deadline,
       [call, token = request.token](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(call->name(), outcome);
         if (reply.has_error()) return answerFault(call, reply.error());
         call->handler(askedIn(call->subject(), call->name(), token, *reply));
       });
}

void answerConflict(const LeaseCallPtr& call, const std::optional<boost::json::object>& image) {
  if (image) {
    auto stored = itemIn(call->subject(), {{"Item", *image}});
    if (stored.has_error()) return answerNotUnderstood(*call, stored.error());
    return answerChanged(*call, Pair{std::move(*stored), {}});
  }
  // Either there is no item, or the server does not return images (servers from before June 2023, some emulators).
  readPair(call->core, call->key, call->doing, call->deadline, [call](const StoreResult<Pair>& pair) {
    if (pair.has_value()) return answerChanged(*call, *pair);
    if (pair.error().errorClass == ErrorClass::corrupt) return answerNotUnderstood(*call, pair.error());
    call->handler(Conflict{});
  });
}

void answerFault(const LeaseCallPtr& call, const Fault& fault) {
  if (fault.maybeApplied) return call->handler(Unknown{fault.error});
  Cause cause = causeIn(call->name(), fault);
  if (cause.kind == Cause::Kind::condition) return answerConflict(call, cause.image);
  if (fault.copiesOut) return call->handler(Unknown{std::move(cause.error)});
  call->handler(Rejected{std::move(cause.error)});
}

namespace {

void answerUnsent(const CorePtr& core, const char* why, aws::JsonHandler handler) {
  core->scheduler->post([why, handler = std::move(handler)] {
    handler(aws::JsonCallError{{ErrorClass::transient, why}, false});
  });
}

using Way = void (aws::JsonClient::*)(std::string, std::string, std::chrono::nanoseconds, aws::JsonHandler);

void sendBy(Way way, const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
            aws::JsonHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  if (left.count() <= 0) return answerUnsent(core, "the call timed out before a request was sent", std::move(handler));
  const auto client = core->client.lock();
  if (!client) return answerUnsent(core, "the store was closed", std::move(handler));
  std::string target{"DynamoDB_20120810."};
  ((*client).*way)(target += operation, std::move(body), left, std::move(handler));
}

}  // namespace

void send(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
          aws::JsonHandler handler) {
  sendBy(&aws::JsonClient::call, core, operation, std::move(body), deadline, std::move(handler));
}

void sendRepeatedly(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
                    aws::JsonHandler handler) {
  sendBy(&aws::JsonClient::callRepeatedly, core, operation, std::move(body), deadline, std::move(handler));
}

}  // namespace tenure::dynamodb_store
