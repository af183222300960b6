
#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "fence_requests.hpp"

namespace tenure::dynamodb_fence {
namespace {

using boost::json::object;
using boost::json::value;

struct Rule {
  std::string_view part;  ///< of the error's name
  ErrorClass errorClass;
};

constexpr std::array rules{
    Rule{"Throughput", ErrorClass::throttled},
    Rule{"Throttling", ErrorClass::throttled},
    Rule{"LimitExceeded", ErrorClass::throttled},
    Rule{"AccessDenied", ErrorClass::credentials},
    Rule{"UnrecognizedClient", ErrorClass::credentials},
    Rule{"Signature", ErrorClass::credentials},
    Rule{"Token", ErrorClass::credentials},
    Rule{"Conflict", ErrorClass::transient},
    Rule{"InProgress", ErrorClass::transient},
    Rule{"Validation", ErrorClass::misconfigured},
    Rule{"ResourceNotFound", ErrorClass::misconfigured},
};

ErrorClass classOf(std::string_view name, ErrorClass otherwise) {
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule& one) { return name.find(one.part) != std::string_view::npos; });
  return rule == rules.end() ? otherwise : rule->errorClass;
}

const object* objectAt(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

std::string textAt(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  const auto* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string{} : std::string{text->data(), text->size()};
}

object bodyOf(const std::string& text) {
  boost::system::error_code error;
  value parsed = boost::json::parse(text, error);
  return error || !parsed.is_object() ? object{} : std::move(parsed.get_object());
}

/// The name after the namespace: `com.amazonaws.dynamodb.v20120810#ThrottlingException`.
std::string nameOf(const object& body) {
  const std::string type = textAt(body, "__type");
  return type.substr(type.find('#') + 1);
}

FenceError corrupt(const std::string& lease, const std::string& where, const object& attribute) {
  return damagedFence(where + ", attribute " + attributeOf(lease), lease, boost::json::serialize(attribute));
}

FenceResult<std::optional<TermStamp>> termOf(const std::string& lease, const std::string& where, const object& item) {
  const value* found = item.if_contains(attributeOf(lease));
  if (found == nullptr) return std::optional<TermStamp>{};
  const object empty;
  const object* attribute = found->is_object() ? found->if_object() : &empty;
  const object* map = objectAt(*attribute, "M");
  const object* number = map == nullptr ? nullptr : objectAt(*map, "token");
  const object* holder = map == nullptr ? nullptr : objectAt(*map, "holder");
  const auto token = number == nullptr ? std::nullopt : parseFencingToken(textAt(*number, "N"));
  // A term with an extra member equals no term, so its own writer would be told about a failed condition that does not
  // exist.
  const bool isTerm = holder != nullptr && map->size() == 2;
  if (!token && isTerm && number != nullptr)
    return damagedFence(where + ", attribute " + attributeOf(lease), lease, textAt(*number, "N"));
  if (!token || !isTerm) return corrupt(lease, where, *attribute);
  return std::optional{TermStamp{lease, *token, textAt(*holder, "S")}};
}

/// The item is as it was when the condition failed. It shows whether the fence's condition failed or the caller's own.
FenceResult<DynamoDbWritten> afterCondition(const TermStamp& stamp, bool ownCondition, const std::string& where,
                                            const object* item) {
  // Without an item there is no token that could have refused, or the service does not show it.
  if (item == nullptr && ownCondition) return DynamoDbWritten::conditionFailed;
  if (item == nullptr) {
    return fenceError({ErrorClass::misconfigured,
                       where + ": the fence's condition failed, and the answer does not show the item with the term "
                               "that refused; the service does not know ReturnValuesOnConditionCheckFailure"});
  }
  auto seen = termOf(stamp.lease, where, *item);
  if (!seen) return seen.error();
  if (auto error = termError(stamp, *seen)) return *std::move(error);
  return DynamoDbWritten::conditionFailed;
}

FenceResult<DynamoDbWritten> afterCancel(const TermStamp& stamp, const std::string& where, const object& body) {
  const value* list = body.if_contains("CancellationReasons");
  const auto* reasons = list == nullptr ? nullptr : list->if_array();
  bool ownCondition = false;
  for (std::size_t i = 0; reasons != nullptr && i < reasons->size(); ++i) {
    const object* reason = (*reasons)[i].if_object();
    const std::string code = reason == nullptr ? std::string{} : textAt(*reason, "Code");
    if (code.empty() || code == "None") continue;
    if (code != "ConditionalCheckFailed") {
      return fenceError({classOf(code, ErrorClass::transient), where + ": a fenced transaction was not done: " + code});
    }
    if (i == 0) return afterCondition(stamp, false, where, objectAt(*reason, "Item"));
    ownCondition = true;
  }
  if (ownCondition) return DynamoDbWritten::conditionFailed;
  return fenceError(
      {ErrorClass::transient, where + ": a fenced transaction was not done, and the answer gives no reason"});
}

bool namesTable(const value& capacity) {
  const object* one = capacity.if_object();
  return one != nullptr && !textAt(*one, "TableName").empty();
}

/// Whether the service says that it has served the request: then it states the capacity used, by table.
bool isServed(const aws::JsonReply& reply, const object& body) {
  if (reply.status != 200 || body.contains("__type")) return false;
  const value* told = body.if_contains("ConsumedCapacity");
  if (told == nullptr) return false;
  const auto* tables = told->if_array();
  if (tables == nullptr) return namesTable(*told);
  return !tables->empty() && std::all_of(tables->begin(), tables->end(), namesTable);
}

/// Errors that are not caused by a condition.
FenceError errorIn(const std::string& where, const aws::JsonReply& reply, const object& body) {
  const bool serverFault = reply.status >= 500 || reply.status < 400;
  const std::string name = nameOf(body);
  if (reply.status == 200 && name.empty()) {
    return fenceError(
        {ErrorClass::transient, where + ": the answer lacks the consumed capacity that was asked "
                                        "for, so it is not DynamoDB's own and proves nothing; check whether a proxy "
                                        "between here and DynamoDB answers in its place"},
        true);
  }
  std::string message = textAt(body, "message");
  if (message.empty()) message = textAt(body, "Message");
  return fenceError({serverFault ? ErrorClass::transient : classOf(name, ErrorClass::misconfigured),
                     where + ": " + (name.empty() ? "status " + std::to_string(reply.status) : name) +
                         (message.empty() ? "" : ": " + message.substr(0, 300))},
                    serverFault);
}

}  // namespace

FenceResult<DynamoDbWritten> writtenIn(const TermStamp& stamp, bool ownCondition, const std::string& where,
                                       const aws::JsonOutcome& outcome) {
  if (!outcome) return fenceError(outcome.error().error, outcome.error().maybeSent);
  const object body = bodyOf(outcome->body);
  if (isServed(*outcome, body)) return DynamoDbWritten::done;
  const std::string name = nameOf(body);
  if (outcome->status == 400 && name == "ConditionalCheckFailedException")
    return afterCondition(stamp, ownCondition, where, objectAt(body, "Item"));
  if (outcome->status == 400 && name == "TransactionCanceledException") return afterCancel(stamp, where, body);
  return errorIn(where, *outcome, body);
}

FenceResult<std::optional<TermStamp>> seenIn(const std::string& lease, const std::string& where,
                                             const aws::JsonOutcome& outcome) {
  if (!outcome) return fenceError(outcome.error().error, false);
  const object body = bodyOf(outcome->body);
  if (!isServed(*outcome, body)) {
    FenceError error = errorIn(where, *outcome, body);
    return fenceError(error.writeError()->error, false);
  }
  const object* item = objectAt(body, "Item");
  if (item == nullptr) return std::optional<TermStamp>{};
  return termOf(lease, where, *item);
}

}  // namespace tenure::dynamodb_fence
