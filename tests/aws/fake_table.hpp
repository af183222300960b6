// One DynamoDB table without a sort key, with the features that a lease store needs.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "lockcore/net/http_client.hpp"

namespace tenure::aws::test {

/// Understands the operations and expressions that the store sends, and nothing more. Thread-safe.
class FakeTable {
 public:
  /// `target` is that of the header X-Amz-Target. An operation that is not known here is a ValidationException.
  [[nodiscard]] net::HttpResponse answer(std::string_view target, std::string_view body);

 private:
  using Item = boost::json::object;

  [[nodiscard]] Item* find(const boost::json::object& keyed);
  [[nodiscard]] bool allows(const boost::json::object& update, const Item* item) const;
  /// Returns what UPDATED_NEW tells: the attributes that the update sets.
  Item apply(const boost::json::object& update);
  [[nodiscard]] net::HttpResponse update(const boost::json::object& body);
  [[nodiscard]] net::HttpResponse transact(const boost::json::object& body);
  [[nodiscard]] net::HttpResponse readPair(const boost::json::object& body);

  std::mutex mutex_{};
  std::map<std::string, Item> items_{};
};

}  // namespace tenure::aws::test
