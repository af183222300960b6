#include "fence_requests.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace tenure::dynamodb_fence {
namespace {

using boost::json::object;
using boost::json::value;

/// The consumed capacity in an answer shows that it comes from the service: anything between us and the service could
/// answer a bare `{}`.
constexpr const char* capacity = "ReturnConsumedCapacity";

constexpr std::size_t mostWrites = 99;  // a transaction has at most a hundred; one is the guard

FenceError misuse(const std::string& what) {
  return fenceError({ErrorClass::misconfigured, "a fenced write to DynamoDB: " + what});
}

FenceResult<object> parsed(const char* what, const std::string& text) {
  if (text.empty()) return object{};
  boost::system::error_code error;
  value out = boost::json::parse(text, error);
  if (error || !out.is_object()) return misuse(std::string{what} + " is not a JSON object");
  return std::move(out.get_object());
}

object termOf(const TermStamp& stamp) {
  return {{"M", {{"token", {{"N", toString(stamp.token)}}}, {"holder", {{"S", stamp.holder}}}}}};
}

/// The further writes of a term are checked first, because they are the most frequent. They need one comparison of the
/// whole term; each operand costs the server time.
constexpr const char* admitted =
    "(#tenureFence = :tenureTerm OR attribute_not_exists(#tenureFence) OR #tenureFence.#tenureToken < :tenureToken)";

void addFence(const TermStamp& stamp, object& names, object& values) {
  names["#tenureFence"] = attributeOf(stamp.lease);
  names["#tenureToken"] = "token";
  values[":tenureToken"] = object{{"N", toString(stamp.token)}};
  values[":tenureTerm"] = termOf(stamp);
}

/// Where the word SET of an update expression ends; npos if there is none. Keywords have no case.
std::size_t endOfSet(const std::string& update) {
  static constexpr std::string_view set = "SET";
  const auto isSet = [&](std::size_t at) {
    for (std::size_t i = 0; i < set.size(); ++i) {
      if ((update[at + i] & ~0x20) != set[i]) return false;
    }
    return true;
  };
  const auto isSpace = [&](std::size_t at) { return update.find_first_of(" \t\r\n", at) == at; };
  for (std::size_t at = 0; at + set.size() < update.size(); ++at) {
    if ((at == 0 || isSpace(at - 1)) && isSet(at) && isSpace(at + set.size())) return at + set.size();
  }
  return std::string::npos;
}

/// Adds one action to an update expression's SET, wherever SET is in the expression.
std::string withTerm(const std::string& update) {
  const std::size_t end = endOfSet(update);
  if (end == std::string::npos) return "SET #tenureFence = :tenureTerm " + update;
  return update.substr(0, end) + " #tenureFence = :tenureTerm," + update.substr(end);
}

/// Of a condition, which is put in parentheses behind the fence's. There are no texts in quotes in it, so each
/// parenthesis counts.
bool closesWhatItOpens(const std::string& condition) {
  int open = 0;
  for (const char c : condition) {
    if (c == '(') ++open;
    if (c == ')' && --open < 0) return false;
  }
  return open == 0;
}

/// The parts of the request that the caller gives.
FenceResult<object> bareRequest(const DynamoDbWrite& write) {
  if (write.table.empty()) return misuse("it names no table");
  auto item = parsed("item", write.item);
  if (!item) return item;
  if (item->empty()) return misuse("it has no item or key");
  if ((write.kind == DynamoDbWrite::Kind::update) == write.update.empty()) {
    return misuse("an update needs an update expression, and no other write may have one");
  }
  if (!closesWhatItOpens(write.condition))
    return misuse("parentheses do not match in the condition " + write.condition);
  object out{{"TableName", write.table}};
  out[write.kind == DynamoDbWrite::Kind::put ? "Item" : "Key"] = *item;
  if (!write.update.empty()) out["UpdateExpression"] = write.update;
  if (!write.condition.empty()) out["ConditionExpression"] = write.condition;
  out["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD";
  return out;
}

}  // namespace

std::string attributeOf(const std::string& lease) { return "tenure_fence:" + lease; }

Request itemRequest(const TermStamp& stamp, const DynamoDbWrite& write) {
  if (write.kind == DynamoDbWrite::Kind::erase) {
    return misuse("an erased item would forget its token; erase it in a transaction (transact)");
  }
  auto out = bareRequest(write);
  auto names = parsed("names", write.names);
  auto values = parsed("values", write.values);
  if (!out) return out;
  if (!names) return names;
  if (!values) return values;
  addFence(stamp, *names, *values);
  (*out)[capacity] = "TOTAL";
  (*out)["ConditionExpression"] =
      write.condition.empty() ? std::string{admitted} : std::string{admitted} + " AND (" + write.condition + ')';
  if (write.kind == DynamoDbWrite::Kind::put) {
    (*out)["Item"].as_object()[attributeOf(stamp.lease)] = termOf(stamp);
  } else {
    (*out)["UpdateExpression"] = withTerm(write.update);
  }
  (*out)["ExpressionAttributeNames"] = *std::move(names);
  (*out)["ExpressionAttributeValues"] = *std::move(values);
  return out;
}

namespace {

object guardKey(const std::string& lease, const DynamoDbGuard& guard) {
  const std::string name = "tenure-fence#" + lease;
  object key{{guard.partitionKey, {{"S", name}}}};
  if (!guard.sortKey.empty()) key[guard.sortKey] = object{{"S", "-"}};
  return key;
}

object guardUpdate(const TermStamp& stamp, const DynamoDbGuard& guard) {
  object names;
  object values;
  addFence(stamp, names, values);
  return {{"TableName", guard.table},
          {"Key", guardKey(stamp.lease, guard)},
          {"UpdateExpression", "SET #tenureFence = :tenureTerm"},
          {"ConditionExpression", admitted},
          {"ExpressionAttributeNames", std::move(names)},
          {"ExpressionAttributeValues", std::move(values)},
          {"ReturnValuesOnConditionCheckFailure", "ALL_OLD"}};
}

}  // namespace

Request transactRequest(const TermStamp& stamp, const DynamoDbGuard& guard, const std::vector<DynamoDbWrite>& writes) {
  if (guard.table.empty()) return misuse("a transaction needs a guard (DynamoDbFenceOptions::guard)");
  if (writes.empty() || writes.size() > mostWrites) return misuse("a transaction has 1 to 99 writes");
  boost::json::array items;
  items.push_back(object{{"Update", guardUpdate(stamp, guard)}});
  for (const DynamoDbWrite& write : writes) {
    auto one = bareRequest(write);
    auto names = parsed("names", write.names);
    auto values = parsed("values", write.values);
    if (!one) return one;
    if (!names) return names;
    if (!values) return values;
    if (!names->empty()) (*one)["ExpressionAttributeNames"] = *std::move(names);
    if (!values->empty()) (*one)["ExpressionAttributeValues"] = *std::move(values);
    const char* kind = write.kind == DynamoDbWrite::Kind::put      ? "Put"
                       : write.kind == DynamoDbWrite::Kind::update ? "Update"
                                                                   : "Delete";
    items.push_back(object{{kind, *std::move(one)}});
  }
  return object{{"TransactItems", std::move(items)}, {capacity, "TOTAL"}};
}

object readGuardRequest(const std::string& lease, const DynamoDbGuard& guard) {
  return {{"TableName", guard.table}, {"Key", guardKey(lease, guard)}, {"ConsistentRead", true}, {capacity, "TOTAL"}};
}

}  // namespace tenure::dynamodb_fence
