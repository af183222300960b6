#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <tenure/lockcore/runtime.hpp>

#include "lease_call.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {
namespace {

using boost::json::array;
using boost::json::object;

std::string textOf(const boost::json::string* text) {
  return text == nullptr ? std::string{} : std::string{text->data(), text->size()};
}

object keyObject(const Layout& layout, const ItemKey& key) {
  object out{{layout.nameOf(Attribute::partition), {{"S", key.partition}}}};
  if (layout.hasSortKey()) out[layout.nameOf(Attribute::sort)] = object{{"S", key.sort}};
  return out;
}

void takeCounter(const Layout& layout, const object& item, StoredTokens& out) {
  out.counter = textOf(numberIn(item, layout.nameOf(Attribute::token)));
  out.lease = std::max(out.lease, saturating::leaseOf(textOf(numberIn(item, layout.nameOf(Attribute::openLease)))));
}

void takeRecord(const Layout& layout, const object& item, StoredTokens& out) {
  out.copy = textOf(numberIn(item, layout.nameOf(Attribute::token)));
  out.version = textOf(textIn(item, layout.nameOf(Attribute::version)));
  out.holder = textOf(textIn(item, layout.nameOf(Attribute::owner)));
  out.released = item.contains(layout.nameOf(Attribute::released));
  const std::string lease = textOf(textIn(item, layout.nameOf(Attribute::lease)));
  out.lease = std::max(out.lease, saturating::leaseOf(lease));
}

/// The answer to readPairRequest; empty if it is no such answer.
std::optional<StoredTokens> tokensIn(const Layout& layout, const LeaseKey& key, const object& body) {
  const auto* responses = body.if_contains("Responses");
  const object* tables = responses == nullptr ? nullptr : responses->if_object();
  const auto* left = body.if_contains("UnprocessedKeys");
  if (tables == nullptr || tables->size() != 1 || (left != nullptr && left->is_object() && !left->as_object().empty()))
    return std::nullopt;
  const auto* items = tables->begin()->value().if_array();
  if (items == nullptr) return std::nullopt;
  StoredTokens out;
  for (const auto& one : *items) {
    const object* item = one.if_object();
    const auto place = item == nullptr ? std::nullopt : layout.keyIn(*item);
    if (place == layout.keyOf(key)) takeRecord(layout, *item, out);
    if (place == layout.companionOf(key)) takeCounter(layout, *item, out);
  }
  return out;
}

void readBoth(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler) {
  send(core, "BatchGetItem", readPairRequest(core->layout, key), deadline,
       [core, key, handler = std::move(handler)](const aws::JsonOutcome& outcome) {
         const CallName name{core->where, "reading the tokens of", &key};
         const auto reply = parseReply(name, outcome);
         if (reply.has_error()) return handler(reply.error().error);
         auto found = tokensIn(core->layout, key, *reply);
         if (found) return handler(*std::move(found));
         handler(StoreError{ErrorClass::transient, name.text() + ": the answer does not have both items; try again"});
       });
}

/// A condition on the token as it is stored, whatever its digits are.
void requireToken(object& request, const Layout& layout, const std::string& stored, std::string condition) {
  object names{{"#t", layout.nameOf(Attribute::token)}};
  if (stored.empty()) {
    condition += "attribute_not_exists(#t)";
  } else {
    condition += "#t = :stored";
    request["ExpressionAttributeValues"].emplace_object()[":stored"] = object{{"N", stored}};
  }
  request["ConditionExpression"] = condition;
  request["ExpressionAttributeNames"] = std::move(names);
}

object recordChange(const Layout& layout, const LeaseKey& key, const StoredTokens& expected,
                    const std::optional<stored::Correction>& correction) {
  object request{{"TableName", layout.table()}, {"Key", keyObject(layout, layout.keyOf(key))}};
  if (!correction) {
    request["ConditionExpression"] = "attribute_not_exists(#k)";
    request["ExpressionAttributeNames"] = object{{"#k", layout.nameOf(Attribute::partition)}};
    return {{"ConditionCheck", std::move(request)}};
  }
  requireToken(request, layout, expected.copy, "#v = :seen AND ");
  object& names = request["ExpressionAttributeNames"].as_object();
  names["#v"] = layout.nameOf(Attribute::version);
  names["#r"] = layout.nameOf(Attribute::released);
  names["#s"] = layout.nameOf(Attribute::stepDown);
  names["#b"] = layout.nameOf(Attribute::livenessFile);
  auto& values = request["ExpressionAttributeValues"];
  if (!values.is_object()) values.emplace_object();
  values.as_object()[":seen"] = object{{"S", expected.version}};
  values.as_object()[":next"] = object{{"S", correction->version}};
  values.as_object()[":token"] = object{{"N", toString(correction->token)}};
  values.as_object()[":yes"] = object{{"S", "1"}};
  values.as_object()[":none"] = object{{"N", "0"}};
  request["UpdateExpression"] = "SET #t = :token, #v = :next, #r = :yes, #s = :none REMOVE #b";
  return {{"Update", std::move(request)}};
}

/// Writes the whole item again, in the shape of a released lock (see setCompanionShape).
object counterChange(const Layout& layout, const LeaseKey& key, const StoredTokens& expected,
                     const stored::Counter& next) {
  object item = keyObject(layout, layout.companionOf(key));
  item[layout.nameOf(Attribute::owner)] = object{{"S", "tenure fencing counter"}};
  item[layout.nameOf(Attribute::lease)] = object{{"S", "1000"}};
  item[layout.nameOf(Attribute::version)] = object{{"S", "tenure-fence"}};
  item[layout.nameOf(Attribute::released)] = object{{"S", "1"}};
  item[layout.nameOf(Attribute::token)] = object{{"N", toString(next.token)}};
  item[layout.nameOf(Attribute::openLease)] = object{{"N", std::to_string(next.openLease.count())}};
  object request{{"TableName", layout.table()}, {"Item", std::move(item)}};
  requireToken(request, layout, expected.counter, "");
  return {{"Put", std::move(request)}};
}

/// Only the table is believed: something between us and the service could have made up an answer.
void confirm(const LeaseCallPtr& call, const stored::Change& change) {
  readBoth(call->core, call->key, call->deadline, [call, change](const StoreResult<StoredTokens>& found) {
    if (found.has_error()) return call->handler(Unknown{found.error()});
    const bool set = found->counter == toString(change.counter->token) &&
                     (!change.correction || found->version == change.correction->version);
    if (set) return call->handler(change.applied);
    call->handler(Unknown{
        {ErrorClass::transient,
         call->name().text() +
             ": the answer was a success, but a consistent "
             "read does not show the write; check whether a proxy between here and DynamoDB answers in its place"}});
  });
}

}  // namespace

void readTokens(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler) {
  readBoth(core, key, deadline, std::move(handler));
}

void setTokens(const LeaseCallPtr& call, const StoredTokens& expected, FencingToken token) {
  SystemRandom random;
  // The transaction itself looks whether the tokens are as expected.
  const auto change = std::get<stored::Change>(stored::decideTokens(expected, expected, token, uuid4(random)));
  const Layout& layout = call->core->layout;
  const object request{{"TransactItems", array{recordChange(layout, call->key, expected, change.correction),
                                               counterChange(layout, call->key, expected, *change.counter)}}};
  send(call->core, "TransactWriteItems", boost::json::serialize(request), call->deadline,
       [call, change](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(call->name(), outcome);
         if (reply.has_value()) return confirm(call, change);
         const Fault& fault = reply.error();
         if (fault.maybeApplied) return call->handler(Unknown{fault.error});
         const Cause cause = causeIn(call->name(), fault);
         if (cause.kind == Cause::Kind::other) return call->handler(Rejected{cause.error});
         call->handler(Conflict{});
       });
}

}  // namespace tenure::dynamodb_store
