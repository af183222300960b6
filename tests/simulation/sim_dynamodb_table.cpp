#include "simulation/sim_dynamodb_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace tenure::test {
namespace {

using boost::json::object;

std::string_view textOf(const boost::json::value& value) {
  return {value.get_string().data(), value.get_string().size()};
}

std::string_view memberOf(const object& request, std::string_view name) {
  const auto* found = request.if_contains(name);
  return found != nullptr ? textOf(*found) : std::string_view{};
}

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + by.size());
  }
  return parts;
}

/// The names and values that a request defines.
struct Aliases {
  const object& request;

  [[nodiscard]] std::string_view name(std::string_view alias) const {
    return textOf(request.at("ExpressionAttributeNames").get_object().at(alias));
  }
  [[nodiscard]] const boost::json::value& value(std::string_view alias) const {
    return request.at("ExpressionAttributeValues").get_object().at(alias);
  }
};

std::string_view inside(std::string_view text, std::string_view function) {
  text.remove_prefix(function.size() + 1);
  text.remove_suffix(1);
  return text;
}

bool atomHolds(const Aliases& aliases, const SimTable::Item* item, std::string_view atom) {
  const auto attribute = [&](std::string_view alias) -> const boost::json::value* {
    return item != nullptr ? item->if_contains(aliases.name(alias)) : nullptr;
  };
  if (atom.starts_with("attribute_not_exists(")) return attribute(inside(atom, "attribute_not_exists")) == nullptr;
  if (atom.starts_with("attribute_exists(")) return attribute(inside(atom, "attribute_exists")) != nullptr;
  if (const std::size_t at = atom.find(" IN ("); at != std::string_view::npos) {
    const boost::json::value* left = attribute(atom.substr(0, at));
    const auto options = split(atom.substr(at + 5, atom.size() - at - 6), ",");
    return left != nullptr && std::any_of(options.begin(), options.end(),
                                          [&](std::string_view alias) { return aliases.value(alias) == *left; });
  }
  const std::size_t equals = atom.find('=');
  if (equals == std::string_view::npos) throw std::logic_error{"condition not understood: " + std::string{atom}};
  const boost::json::value* left = attribute(atom.substr(0, equals));
  return left != nullptr && *left == aliases.value(atom.substr(equals + 1));
}

/// "a=:b,c=if_not_exists(c,:d)"
std::vector<std::string_view> assignments(std::string_view sets) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    depth += sets[i] == '(' ? 1 : sets[i] == ')' ? -1 : 0;
    if (sets[i] != ',' || depth > 0) continue;
    parts.push_back(sets.substr(from, i - from));
    from = i + 1;
  }
  parts.push_back(sets.substr(from));
  return parts;
}

void assign(const Aliases& aliases, SimTable::Item& item, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = aliases.name(assignment.substr(0, equals));
  std::string_view value = assignment.substr(equals + 1);
  constexpr std::string_view missing = "if_not_exists";
  if (value.starts_with(missing)) {
    if (item.if_contains(name) != nullptr) return;
    value = inside(value, missing);
    value.remove_prefix(value.find(',') + 1);
  }
  item[name] = aliases.value(value);
}

struct Parts {
  std::string_view sets, removes;
};

Parts partsOf(std::string_view expression) {
  Parts parts;
  const std::size_t removes = expression.find("REMOVE ");
  if (removes != std::string_view::npos) parts.removes = expression.substr(removes + 7);
  std::string_view sets = expression.substr(0, removes);
  if (sets.starts_with("SET ")) sets.remove_prefix(4);
  while (sets.ends_with(' ')) sets.remove_suffix(1);
  parts.sets = sets;
  return parts;
}

}  // namespace

object serviceFault(std::string_view name) {
  return {{"__type", "com.amazonaws.dynamodb.v20120810#" + std::string{name}}, {"message", "simulated"}};
}

const SimTable::Item* SimTable::find(const std::string& key) const {
  const auto found = items_.find(key);
  return found != items_.end() ? &found->second : nullptr;
}

std::string SimTable::keyIn(const Item& request) {
  return std::string{textOf(request.at("Key").get_object().at("key").get_object().at("S"))};
}

bool SimTable::holds(const Item& request) const {
  const Item* item = find(keyIn(request));
  const std::vector<std::string_view> atoms = split(memberOf(request, "ConditionExpression"), " AND ");
  return std::all_of(atoms.begin(), atoms.end(),
                     [&](std::string_view atom) { return atomHolds({request}, item, atom); });
}

SimTable::Item SimTable::updated(const Item& request) const {
  const Item* old = find(keyIn(request));
  Item item = old != nullptr ? *old : request.at("Key").get_object();
  const Parts parts = partsOf(memberOf(request, "UpdateExpression"));
  for (const std::string_view one : assignments(parts.sets)) assign({request}, item, one);
  for (const std::string_view alias : split(parts.removes, ",")) item.erase(Aliases{request}.name(alias));
  return item;
}

TableAnswer SimTable::update(const Item& request, bool tellsImage) {
  const std::string key = keyIn(request);
  if (!holds(request)) {
    TableAnswer refused{400, serviceFault("ConditionalCheckFailedException")};
    if (const Item* item = find(key); item != nullptr && tellsImage) refused.body["Item"] = *item;
    return refused;
  }
  Item item = updated(request);
  object news;
  for (const std::string_view one : assignments(partsOf(memberOf(request, "UpdateExpression")).sets)) {
    const std::string_view name = Aliases{request}.name(one.substr(0, one.find('=')));
    news[name] = item.at(name);
  }
  put(key, std::move(item));
  return {200, {{"Attributes", std::move(news)}}};
}

TableAnswer SimTable::remove(const Item& request, bool tellsImage) {
  const std::string key = keyIn(request);
  const Item* item = find(key);
  if (!holds(request)) {
    TableAnswer refused{400, serviceFault("ConditionalCheckFailedException")};
    if (item != nullptr && tellsImage) refused.body["Item"] = *item;
    return refused;
  }
  TableAnswer done{200, {}};
  if (item != nullptr) done.body["Attributes"] = *item;
  erase(key);
  return done;
}

TableAnswer SimTable::transact(const Item& request, bool tellsImage) {
  boost::json::array reasons;
  std::vector<std::pair<const object*, bool>> changes;  // the flag: it is deleted
  bool refused = false;
  for (const auto& entry : request.at("TransactItems").get_array()) {
    const auto& part = *entry.get_object().begin();
    const object& update = part.value().get_object();
    changes.emplace_back(&update, part.key() == "Delete");
    object reason{{"Code", "None"}};
    if (!holds(update)) {
      refused = true;
      reason["Code"] = "ConditionalCheckFailed";
      const Item* item = find(keyIn(update));
      if (item != nullptr && tellsImage) reason["Item"] = *item;
    }
    reasons.push_back(std::move(reason));
  }
  if (refused) {
    TableAnswer answer{400, serviceFault("TransactionCanceledException")};
    answer.body["CancellationReasons"] = std::move(reasons);
    return answer;
  }
  for (const auto& [change, deletes] : changes) {
    deletes ? erase(keyIn(*change)) : put(keyIn(*change), updated(*change));
  }
  return {200, {}};
}

}  // namespace tenure::test
