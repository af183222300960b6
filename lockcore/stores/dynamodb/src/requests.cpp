#include "requests.hpp"

#include "expression.hpp"
#include "json_text.hpp"
#include "lockcore/port/liveness_text.hpp"
#include "lockcore/port/successor_text.hpp"

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
void setState(Expression& update, const Layout& layout, const LeaseRecord& record, std::int64_t expiresAt) {
  update.setText(Attribute::lease, std::to_string(record.leaseDuration.count()));
  update.setText(Attribute::version, record.version.text());
  update.setNumber(Attribute::acquired, record.acquiredAtMillis);
  update.setNumber(Attribute::renewed, record.renewedAtMillis);
  if (layout.hasTtl()) update.setNumber(Attribute::ttl, expiresAt);
  if (record.released) {
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

/// Empty: nobody is named.
void setSuccessor(Expression& update, const LeaseRecord& next) {
  const std::string text = successorText(next.successor, next.token);
  text.empty() ? update.remove(Attribute::successor) : update.setText(Attribute::successor, text);
}

/// Within a term, an operator may have removed our attributes from the item; then they are set again. Present ones
/// stay, and the answer returns them: that is how the holder learns of a request to step down without a read.
void setTerm(Expression& update, const StoredRecord& next, bool isSameTerm) {
  if (isSameTerm) {
    update.setMissingNumber(Attribute::token, signedToken(next.record.token));
    update.setMissingNumber(Attribute::stepDown, signedToken(next.stepDown));
  } else {
    update.setNumber(Attribute::token, signedToken(next.record.token));
    update.setNumber(Attribute::stepDown, signedToken(next.stepDown));
  }
  // A holder does not know who is named already, and leaves that as it is.
  if (!isSameTerm || !next.record.successor.name.empty()) setSuccessor(update, next.record);
}

/// What the change leaves as it was seen is not sent.
void setPayload(Expression& update, const LeaseRecord& seen, const LeaseRecord& next) {
  if (next.data.empty() && !seen.data.empty()) update.remove(Attribute::data);
  if (!next.data.empty() && next.data != seen.data) update.setBytes(Attribute::data, next.data);
  if (next.attributes == seen.attributes) return;
  for (const auto& [name, text] : next.attributes) update.setUserText(name, text);
  for (const auto& [name, text] : seen.attributes) {
    if (!next.attributes.contains(name)) update.removeUser(name);
  }
}

/// The record is as the change was decided from. Its version is another one after each write.
void requireSeen(Expression& expression, const Swap& swap) {
  const auto& seen = *swap.seen.record;
  if (!seen) return expression.requireAbsent(Attribute::partition);
  expression.requireOneOf(Attribute::version, swap.versions);
  expression.requireText(Attribute::owner, ":h", seen->record.holder);
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
void appendCounterUpdate(std::string& body, const Layout& layout, const LeaseKey& key, const Swap& swap) {
  const Companion& companion = swap.seen.companion;
  const stored::Counter& next = *swap.change.counter;
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

/// The lock item, with its key and condition.
void appendRecordUpdate(std::string& body, const Layout& layout, const LeaseKey& key, const Swap& swap) {
  const StoredRecord none;
  const auto& item = *swap.seen.record;
  const StoredRecord& seen = item ? *item : none;
  const StoredRecord& next = *swap.change.record;
  const bool isSameTerm = item && next.record.token == seen.record.token;
  Expression update{layout};
  if (!isSameTerm) update.setText(Attribute::owner, next.record.holder);
  setState(update, layout, next.record, swap.expiresAt);
  setTerm(update, next, isSameTerm);
  setPayload(update, seen.record, next.record);
  requireSeen(update, swap);
  appendKeyMember(body, layout, layout.keyOf(key));
  update.appendTo(body);
}

void appendRecordDelete(std::string& body, const Layout& layout, const LeaseKey& key, const Swap& swap) {
  Expression condition{layout};
  requireSeen(condition, swap);
  appendKeyMember(body, layout, layout.keyOf(key));
  condition.appendTo(body);
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

std::string updateRequest(const Layout& layout, const LeaseKey& key, const Swap& swap) {
  std::string body = started(layout);
  appendRecordUpdate(body, layout, key, swap);
  body += R"(,"ReturnValues":"UPDATED_NEW")";
  body.append(tellImage) += '}';
  return body;
}

std::string transactRequest(const Layout& layout, const LeaseKey& key, const Swap& swap) {
  std::string body;
  body.reserve(2 * usualBody);
  body += swap.change.erasesRecord() ? R"({"TransactItems":[{"Delete":{)" : R"({"TransactItems":[{"Update":{)";
  body += layout.tableMember();
  swap.change.erasesRecord() ? appendRecordDelete(body, layout, key, swap)
                             : appendRecordUpdate(body, layout, key, swap);
  appendCounterUpdate(body, layout, key, swap);
  return body;
}

std::string stepDownRequest(const Layout& layout, const LeaseKey& key, const StoredRecord& seen,
                            const StoredRecord& next) {
  Expression update{layout};
  update.setNumber(Attribute::stepDown, signedToken(next.stepDown));
  setSuccessor(update, next.record);
  update.requireNumber(Attribute::token, ":q", signedToken(seen.record.token));
  if (!seen.record.released) update.requireAbsent(Attribute::released);
  std::string body = started(layout);
  appendKeyMember(body, layout, layout.keyOf(key));
  update.appendTo(body);
  body += R"(,"ReturnValues":"UPDATED_NEW")";
  body.append(tellImage) += '}';
  return body;
}

}  // namespace tenure::dynamodb_store
