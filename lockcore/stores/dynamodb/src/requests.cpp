#include "requests.hpp"

#include "expression.hpp"
#include "json_text.hpp"
#include "lockcore/port/liveness_text.hpp"

namespace tenure::dynamodb_store {
namespace {

constexpr std::string_view tellImage = R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")";
constexpr std::size_t usualBody = 1'024;

std::string started(const Layout& layout) {
  std::string body;
  body.reserve(usualBody);
  body += '{';
  body += layout.tableMember();
  return body;  // a statement of its own: the result of += would be copied, and lose the reserved capacity
}

void appendKeyMember(std::string& body, const Layout& layout, const ItemKey& key) {
  body += ",\"Key\":";
  layout.appendKey(body, key);
}

std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

/// Every ownership write sets the whole state. A takeover that left `isReleased` behind would make a live lock look
/// free.
void setState(Expression& update, const Layout& layout, const WriteRequest& request, const WriteDetails& details) {
  const LeaseRecord& record = request.record;
  update.setText(Attribute::lease, std::to_string(record.leaseDuration.count()));
  update.setText(Attribute::version, record.version.text());
  update.setNumber(Attribute::acquired, record.acquiredAtMillis);
  update.setNumber(Attribute::renewed, record.renewedAtMillis);
  if (layout.hasTtl()) update.setNumber(Attribute::ttl, details.epochSeconds + details.ttl.count());
  if (request.purpose == WriteRequest::Purpose::release) {
    update.setText(Attribute::released, "1");
  } else {
    update.remove(Attribute::released);
  }
  if (record.livenessFile) {
    update.setText(Attribute::livenessFile, livenessText(*record.livenessFile));
  } else {
    update.remove(Attribute::livenessFile);
  }
}

void setPayload(Expression& update, const WriteRequest& request, const WriteDetails& details) {
  const LeaseRecord& record = request.record;
  const bool keepsData = request.dataRule == DataRule::keepIfAny && details.hasData;
  if (!record.data.empty() && !keepsData) update.setBytes(Attribute::data, record.data);
  if (record.data.empty() && request.dataRule == DataRule::replace) update.remove(Attribute::data);
  if (record.attributes.empty()) return;
  for (const auto& [name, text] : record.attributes) update.setUserText(name, text);
  for (const auto& [name, text] : details.stored) {
    if (!record.attributes.contains(name)) update.removeUser(name);
  }
}

void requireOwnTerm(Expression& expression, const WriteRequest& request) {
  expression.requireOneOf(Attribute::version, request.expected);
  expression.requireText(Attribute::owner, ":o", request.record.holder);
}

/// The counter's item has the shape of a released lock, so that scans of the AWS Java lock client can read it. It has
/// no time to live, because the counter must outlast the record.
void setCompanionShape(Expression& update) {
  update.setText(Attribute::owner, "tenure fencing counter");
  update.setText(Attribute::lease, "1000");
  update.setText(Attribute::version, "tenure-fence");
  update.setText(Attribute::released, "1");
}

/// The second half of a transaction; it closes the lock item's part and the whole request.
void appendCounterUpdate(std::string& body, const Layout& layout, const LeaseKey& key, const Companion& companion,
                         const stored::Counter& next) {
  Expression update{layout};
  update.setNumber(Attribute::token, signedToken(next.token));
  update.setNumber(Attribute::openLease, next.openLease.count());
  if (!companion.present) {
    setCompanionShape(update);
    update.requireAbsent(Attribute::partition);
  } else if (companion.counter.isNone()) {
    // A foreign client may hold the item as a lock of its own, so only the number is added.
    update.requirePresent(Attribute::partition);
    update.requireAbsent(Attribute::token);
  } else {
    update.requireNumber(Attribute::token, ":q", signedToken(companion.counter));
  }
  if (companion.openLease) update.requireNumber(Attribute::openLease, ":u", companion.openLease->count());
  body.append(tellImage).append("}},{\"Update\":{");
  body += layout.tableMember();
  appendKeyMember(body, layout, layout.companionOf(key));
  update.appendTo(body);
  body += "}}]}";
}

std::string startedTransaction(const Layout& layout, std::string_view opening) {
  std::string body{opening};
  body.reserve(2 * usualBody);
  body += layout.tableMember();
  return body;
}

/// The item of a renewal or a release, with its key and condition.
void appendRenewal(std::string& body, const Layout& layout, const WriteRequest& request, const WriteDetails& details) {
  Expression update{layout};
  setState(update, layout, request, details);
  // An operator may have removed our attributes from the item; then they are set again. Present ones stay, and the
  // answer returns them: that is how the holder learns of a request to step down without a read.
  update.setMissingNumber(Attribute::token, signedToken(request.record.token));
  update.setMissingNumber(Attribute::stepDown, 0);
  setPayload(update, request, details);
  requireOwnTerm(update, request);
  appendKeyMember(body, layout, layout.keyOf(request.key));
  update.appendTo(body);
}

}  // namespace

std::string readRequest(const Layout& layout, const LeaseKey& key) {
  std::string body = started(layout);
  appendKeyMember(body, layout, layout.keyOf(key));
  body += ",\"ConsistentRead\":true}";
  return body;
}

std::string readPairRequest(const Layout& layout, const LeaseKey& key) {
  std::string body{"{\"RequestItems\":{"};
  body.reserve(usualBody);
  appendQuoted(body, layout.table());
  body += ":{\"Keys\":[";
  layout.appendKey(body, layout.keyOf(key));
  body += ',';
  layout.appendKey(body, layout.companionOf(key));
  body += "],\"ConsistentRead\":true}}}";
  return body;
}

std::string listRequest(const Layout& layout, std::string_view prefix, std::string_view startKey) {
  std::string body = started(layout);
  body += R"(,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL")";
  Expression filter{layout};
  if (!prefix.empty()) filter.filterPrefix(Attribute::partition, prefix);
  filter.appendTo(body, "FilterExpression");
  if (!startKey.empty()) body.append(",\"ExclusiveStartKey\":").append(startKey);
  body += '}';
  return body;
}

std::string queryRequest(const Layout& layout, std::string_view name, std::string_view startKey) {
  std::string body = started(layout);
  body += ",\"ConsistentRead\":true";
  Expression condition{layout};
  condition.requireText(Attribute::partition, ":k", name);
  condition.appendTo(body, "KeyConditionExpression");
  if (!startKey.empty()) body.append(",\"ExclusiveStartKey\":").append(startKey);
  body += '}';
  return body;
}

std::string updateRequest(const Layout& layout, const WriteRequest& request, const WriteDetails& details) {
  std::string body = started(layout);
  appendRenewal(body, layout, request, details);
  body += R"(,"ReturnValues":"UPDATED_NEW")";
  body.append(tellImage) += '}';
  return body;
}

std::string acquireRequest(const Layout& layout, const WriteRequest& request, const WriteDetails& details,
                           const Companion& companion, const stored::Counter& next) {
  Expression update{layout};
  update.setText(Attribute::owner, request.record.holder);
  setState(update, layout, request, details);
  update.setNumber(Attribute::token, signedToken(next.token));
  update.setNumber(Attribute::stepDown, 0);
  setPayload(update, request, details);
  if (!details.present) {
    update.requireAbsent(Attribute::partition);
  } else {
    update.requireOneOf(Attribute::version, request.expected);
  }
  std::string body = startedTransaction(layout, R"({"TransactItems":[{"Update":{)");
  appendKeyMember(body, layout, layout.keyOf(request.key));
  update.appendTo(body);
  appendCounterUpdate(body, layout, request.key, companion, next);
  return body;
}

std::string lengthenRequest(const Layout& layout, const WriteRequest& request, const WriteDetails& details,
                            const Companion& companion, const stored::Counter& next) {
  std::string body = startedTransaction(layout, R"({"TransactItems":[{"Update":{)");
  appendRenewal(body, layout, request, details);
  appendCounterUpdate(body, layout, request.key, companion, next);
  return body;
}

std::string removeRequest(const Layout& layout, const LeaseKey& key, const LeaseRecord& seen,
                          const Companion& companion, const stored::Counter& next) {
  Expression condition{layout};
  condition.requireOneOf(Attribute::version, {seen.version});
  condition.requireText(Attribute::owner, ":o", seen.holder);
  std::string body = startedTransaction(layout, R"({"TransactItems":[{"Delete":{)");
  appendKeyMember(body, layout, layout.keyOf(key));
  condition.appendTo(body);
  appendCounterUpdate(body, layout, key, companion, next);
  return body;
}

std::string stepDownRequest(const Layout& layout, const LeaseKey& key, FencingToken token) {
  Expression update{layout};
  update.setNumber(Attribute::stepDown, signedToken(token));
  update.requireNumber(Attribute::token, ":q", signedToken(token));
  update.requireAbsent(Attribute::released);
  std::string body = started(layout);
  appendKeyMember(body, layout, layout.keyOf(key));
  update.appendTo(body);
  body += R"(,"ReturnValues":"UPDATED_NEW")";
  body.append(tellImage) += '}';
  return body;
}

}  // namespace tenure::dynamodb_store
