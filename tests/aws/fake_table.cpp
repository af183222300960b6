#include "fake_table.hpp"

#include <vector>

namespace tenure::aws::test {
namespace {

namespace json = boost::json;
using json::object;

std::string textOf(const json::value& value) { return std::string{value.as_string()}; }

net::HttpResponse good(const object& body) { return {200, {}, json::serialize(body)}; }

net::HttpResponse refused(const std::string& name, object rest = {}) {
  rest["__type"] = "com.amazonaws.dynamodb.v20120810#" + name;
  rest["message"] = name;
  return {400, {}, json::serialize(rest)};
}

std::string expressionOf(const object& update, const char* member) {
  const json::value* text = update.if_contains(member);
  return text == nullptr ? std::string{} : textOf(*text);
}

std::string nameOf(const object& update, const std::string& alias) {
  return textOf(update.at("ExpressionAttributeNames").at(alias));
}

const json::value& valueOf(const object& update, const std::string& alias) {
  return update.at("ExpressionAttributeValues").at(alias);
}

/// Splits the text at commas that are outside parentheses.
std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : list) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

/// The text in the last parentheses.
std::string inside(const std::string& text) {
  const std::size_t begin = text.find('(') + 1;
  return text.substr(begin, text.rfind(')') - begin);
}

bool holds(const object& update, const std::string& term, const object* item) {
  const auto stored = [&](const std::string& alias) -> const json::value* {
    return item == nullptr ? nullptr : item->if_contains(nameOf(update, alias));
  };
  if (term.starts_with("attribute_not_exists")) return stored(inside(term)) == nullptr;
  if (term.starts_with("attribute_exists")) return stored(inside(term)) != nullptr;
  if (const std::size_t in = term.find(" IN "); in != std::string::npos) {
    const json::value* is = stored(term.substr(0, in));
    if (is == nullptr) return false;
    for (const std::string& alias : parts(inside(term))) {
      if (*is == valueOf(update, alias)) return true;
    }
    return false;
  }
  const std::size_t equals = term.find('=');
  const json::value* is = stored(term.substr(0, equals));
  return is != nullptr && *is == valueOf(update, term.substr(equals + 1));
}

/// Returns the attribute's name.
std::string set(const object& update, const std::string& part, object& item) {
  const std::size_t equals = part.find('=');
  std::string name = nameOf(update, part.substr(0, equals));
  std::string value = part.substr(equals + 1);
  if (value.starts_with("if_not_exists")) {
    if (item.contains(name)) return name;
    value = parts(inside(value)).at(1);
  }
  item[name] = valueOf(update, value);
  return name;
}

const object description{{"Table",
                          {{"TableName", "locks"},
                           {"TableStatus", "ACTIVE"},
                           {"KeySchema", {{{"AttributeName", "key"}, {"KeyType", "HASH"}}}},
                           {"AttributeDefinitions", {{{"AttributeName", "key"}, {"AttributeType", "S"}}}}}}};

}  // namespace

FakeTable::Item* FakeTable::find(const object& keyed) {
  const auto found = items_.find(textOf(keyed.at("key").at("S")));
  return found == items_.end() ? nullptr : &found->second;
}

bool FakeTable::allows(const object& update, const Item* item) const {
  std::string rest = expressionOf(update, "ConditionExpression");
  while (!rest.empty()) {
    const std::size_t end = rest.find(" AND ");
    if (!holds(update, rest.substr(0, end), item)) return false;
    rest = end == std::string::npos ? std::string{} : rest.substr(end + 5);
  }
  return true;
}

FakeTable::Item FakeTable::apply(const object& update) {
  const std::string text = expressionOf(update, "UpdateExpression");
  Item& item = items_[textOf(update.at("Key").at("key").at("S"))];
  item["key"] = update.at("Key").at("key");
  Item updated;
  const std::size_t remove = text.find("REMOVE ");
  for (const std::string& part : parts(text.substr(4, remove == std::string::npos ? remove : remove - 4))) {
    const std::string name = set(update, part, item);
    updated[name] = item.at(name);
  }
  if (remove == std::string::npos) return updated;
  for (const std::string& alias : parts(text.substr(remove + 7))) item.erase(nameOf(update, alias));
  return updated;
}

net::HttpResponse FakeTable::update(const object& body) {
  const Item* item = find(body.at("Key").as_object());
  if (allows(body, item)) return good({{"Attributes", apply(body)}});
  return refused("ConditionalCheckFailedException", item == nullptr ? object{} : object{{"Item", *item}});
}

net::HttpResponse FakeTable::transact(const object& body) {
  json::array reasons;
  bool all = true;
  for (const json::value& entry : body.at("TransactItems").as_array()) {
    const object& one = entry.at("Update").as_object();
    const bool allowed = allows(one, find(one.at("Key").as_object()));
    reasons.push_back(object{{"Code", allowed ? "None" : "ConditionalCheckFailed"}});
    all = all && allowed;
  }
  if (!all) return refused("TransactionCanceledException", {{"CancellationReasons", reasons}});
  for (const json::value& entry : body.at("TransactItems").as_array()) apply(entry.at("Update").as_object());
  return good({});
}

net::HttpResponse FakeTable::readPair(const object& body) {
  json::array found;
  for (const json::value& key : body.at("RequestItems").at("locks").at("Keys").as_array()) {
    if (const Item* item = find(key.as_object())) found.push_back(*item);
  }
  return good({{"Responses", {{"locks", found}}}, {"UnprocessedKeys", object{}}});
}

net::HttpResponse FakeTable::answer(std::string_view target, std::string_view text) {
  const std::lock_guard lock{mutex_};
  const std::string_view operation = target.substr(target.find('.') + 1);
  const object body = json::parse(json::string_view{text.data(), text.size()}).as_object();
  if (operation == "DescribeTable") return good(description);
  if (operation == "DescribeTimeToLive") return good({{"TimeToLiveDescription", {{"TimeToLiveStatus", "DISABLED"}}}});
  if (operation == "BatchGetItem") return readPair(body);
  if (operation == "TransactWriteItems") return transact(body);
  if (operation == "UpdateItem") return update(body);
  if (operation != "GetItem") return refused("ValidationException");
  const Item* item = find(body.at("Key").as_object());
  return good(item == nullptr ? object{} : object{{"Item", *item}});
}

}  // namespace tenure::aws::test
