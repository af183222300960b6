// One DynamoDB table without a sort key, with the features that a lease store needs.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include <boost/json.hpp>

#include "http_endpoint.hpp"

namespace tenure::aws::test {

/// Understands the operations and expressions that the store sends, and nothing more. Thread-safe.
class FakeTable {
 public:
  /// Dispatches `request` by its X-Amz-Target. An operation that is not known here is a ValidationException.
  [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request);

 private:
  using Item = boost::json::object;

  [[nodiscard]] Item* find(const boost::json::object& keyed);
  [[nodiscard]] bool allows(const boost::json::object& update, const Item* item) const;
  [[nodiscard]] Item apply(const boost::json::object& update);
  [[nodiscard]] net::HttpResponse update(const boost::json::object& body);
  [[nodiscard]] net::HttpResponse transact(const boost::json::object& body);
  [[nodiscard]] net::HttpResponse readPair(const boost::json::object& body);

  std::mutex mutex_{};
  std::map<std::string, Item> items_{};
};

}  // namespace tenure::aws::test
