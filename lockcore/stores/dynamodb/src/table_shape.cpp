#include "table_shape.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "json_text.hpp"
#include "layout.hpp"

namespace tenure::dynamodb_store {
namespace {

using boost::json::object;

std::vector<const object*> objectsIn(const object& parent, std::string_view member) {
  std::vector<const object*> found;
  const auto* value = parent.if_contains(member);
  const auto* list = value != nullptr ? value->if_array() : nullptr;
  if (list == nullptr) return found;
  for (const auto& entry : *list) {
    if (const object* one = entry.if_object()) found.push_back(one);
  }
  return found;
}

/// `"id" (N)`, or "none"
std::string keyText(const std::string& name, const std::string& type) {
  return name.empty() ? "none" : '"' + name + "\" (" + type + ')';
}

/// The table's key of this kind (HASH or RANGE).
std::string keyOfTable(const object& table, std::string_view kind) {
  for (const object* element : objectsIn(table, "KeySchema")) {
    if (plainTextIn(*element, "KeyType") != kind) continue;
    const std::string name = plainTextIn(*element, "AttributeName");
    for (const object* definition : objectsIn(table, "AttributeDefinitions")) {
      if (plainTextIn(*definition, "AttributeName") == name) {
        return keyText(name, plainTextIn(*definition, "AttributeType"));
      }
    }
    return keyText(name, "?");
  }
  return keyText("", "");
}

void compareKey(const object& table, std::string_view kind, const std::string& what, const std::string& wanted,
                std::vector<std::string>& faults) {
  const std::string actual = keyOfTable(table, kind);
  const std::string expected = keyText(wanted, "S");
  if (actual != expected) faults.push_back("its " + what + " is " + actual + ", configured is " + expected);
}

void judgeReplicas(const object& table, std::vector<std::string>& faults) {
  const bool replicated = !objectsIn(table, "Replicas").empty() || !plainTextIn(table, "GlobalTableVersion").empty();
  if (!replicated) return;
  if (plainTextIn(table, "MultiRegionConsistency") == "STRONG") {
    faults.emplace_back(
        "it is a multi-region strongly consistent global table, which has no transactions; tenure needs one for each "
        "acquisition, so that fencing tokens rise");
  } else {
    faults.emplace_back(
        "it is a multi-region eventually consistent global table, where two regions can both give the same lease away; "
        "use a table of one region");
  }
}

StoreResult<TableState> stateOf(const std::string& where, const std::string& status) {
  if (status == "ACTIVE" || status == "UPDATING") return TableState::ready;
  if (status == "CREATING") return TableState::creating;
  const bool passing = status == "DELETING";
  return StoreError{
      passing ? ErrorClass::transient : ErrorClass::misconfigured,
      where + ": the table's status is " + (status.empty() ? "missing from the answer" : status) +
          (passing ? "; it can be created again when it is gone" : "; it cannot be used until it is ACTIVE")};
}

void appendKeySchema(std::string& body, const std::string& name, std::string_view kind) {
  body += R"({"AttributeName":)";
  appendQuoted(body, name);
  body.append(R"(,"KeyType":")").append(kind).append("\"}");
}

void appendDefinition(std::string& body, const std::string& name) {
  body += R"({"AttributeName":)";
  appendQuoted(body, name);
  body += R"(,"AttributeType":"S"})";
}

}  // namespace

std::string describeTableRequest(const Layout& layout) { return '{' + layout.tableMember() + '}'; }

std::string createTableRequest(const Layout& layout, const DynamoDbTableOptions& options) {
  const std::string& partition = layout.nameOf(Attribute::partition);
  const std::string& sort = layout.nameOf(Attribute::sort);
  std::string body = '{' + layout.tableMember() + ",\"KeySchema\":[";
  appendKeySchema(body, partition, "HASH");
  if (layout.hasSortKey()) body += ',', appendKeySchema(body, sort, "RANGE");
  body += "],\"AttributeDefinitions\":[";
  appendDefinition(body, partition);
  if (layout.hasSortKey()) body += ',', appendDefinition(body, sort);
  body += ']';
  if (options.readCapacity && options.writeCapacity) {
    body += R"(,"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":)";
    appendInteger(body, *options.readCapacity);
    body += ",\"WriteCapacityUnits\":";
    appendInteger(body, *options.writeCapacity);
    body += '}';
  } else {
    body += R"(,"BillingMode":"PAY_PER_REQUEST")";
  }
  const char* separator = ",\"Tags\":[";
  for (const auto& [name, value] : options.tags) {
    body.append(separator).append("{\"Key\":").append(inQuotes(name)).append(",\"Value\":").append(inQuotes(value)) +=
        '}';
    separator = ",";
  }
  return body += options.tags.empty() ? "}" : "]}";
}

std::string pointInTimeRecoveryRequest(const Layout& layout) {
  return '{' + layout.tableMember() + R"(,"PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})";
}

std::string enableTtlRequest(const Layout& layout) {
  return '{' + layout.tableMember() + R"(,"TimeToLiveSpecification":{"Enabled":true,"AttributeName":)" +
         inQuotes(layout.nameOf(Attribute::ttl)) + "}}";
}

StoreResult<TableState> tableStateIn(const Layout& layout, const std::string& where, const object& body) {
  const auto* value = body.if_contains("Table");
  const object* table = value != nullptr ? value->if_object() : nullptr;
  if (table == nullptr) {
    return StoreError{ErrorClass::transient,
                      where + ": the answer of DescribeTable has no table; check that the endpoint is DynamoDB"};
  }
  std::vector<std::string> faults;
  compareKey(*table, "HASH", "partition key", layout.nameOf(Attribute::partition), faults);
  compareKey(*table, "RANGE", "sort key", layout.nameOf(Attribute::sort), faults);
  judgeReplicas(*table, faults);
  if (faults.empty()) return stateOf(where, plainTextIn(*table, "TableStatus"));
  std::string message = where + ": the table cannot be used: ";
  for (std::size_t i = 0; i < faults.size(); ++i) message += (i == 0 ? "" : "; ") + faults[i];
  return StoreError{ErrorClass::misconfigured,
                    message + ". The table was not changed; name another table, or configure its keys as they are",
                    true};
}

std::string ttlAttributeIn(const object& body) {
  const auto* value = body.if_contains("TimeToLiveDescription");
  const object* described = value != nullptr ? value->if_object() : nullptr;
  if (described == nullptr) return {};
  const std::string status = plainTextIn(*described, "TimeToLiveStatus");
  return status == "ENABLED" || status == "ENABLING" ? plainTextIn(*described, "AttributeName") : std::string{};
}

std::optional<StoreError> ttlError(const Layout& layout, const std::string& where, const std::string& attribute) {
  // Only numbers make DynamoDB delete an item.
  constexpr std::array numbers{Attribute::token, Attribute::stepDown, Attribute::acquired, Attribute::renewed,
                               Attribute::openLease};
  const bool covered =
      std::any_of(numbers.begin(), numbers.end(), [&](Attribute one) { return layout.nameOf(one) == attribute; });
  if (!covered) return std::nullopt;
  return StoreError{ErrorClass::misconfigured, where + ": DynamoDB's time to live uses " + attribute +
                                                   ", which is not a time of deletion, so it would delete leases "
                                                   "that are held. Switch time to live off for this table"};
}

}  // namespace tenure::dynamodb_store
