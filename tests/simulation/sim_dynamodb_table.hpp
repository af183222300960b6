// A DynamoDB table with the operations and expressions that the store uses, in one step each.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace tenure::test {

/// The outcome of a write.
struct TableAnswer {
  int status{200};
  boost::json::object body{};
};

/// Items by their partition key "key". An expression that it does not understand throws std::logic_error.
class SimTable {
 public:
  using Item = boost::json::object;

  [[nodiscard]] const Item* find(const std::string& key) const;
  void put(const std::string& key, Item item) { items_[key] = std::move(item); }
  void erase(const std::string& key) { items_.erase(key); }

  [[nodiscard]] TableAnswer update(const Item& request, bool tellsImage);
  [[nodiscard]] TableAnswer remove(const Item& request, bool tellsImage);
  [[nodiscard]] TableAnswer transact(const Item& request, bool tellsImage);

  [[nodiscard]] static std::string keyIn(const Item& request);

 private:
  [[nodiscard]] bool holds(const Item& request) const;
  [[nodiscard]] Item updated(const Item& request) const;

  std::map<std::string, Item> items_;
};

/// `{"__type":"com.amazonaws.dynamodb.v20120810#Name","message":"simulated"}`
[[nodiscard]] boost::json::object serviceFault(std::string_view name);

}  // namespace tenure::test
