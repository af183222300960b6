// A service that checks signatures as AWS does: the key must be known and not expired, the time must be within five
// minutes, and the signature must match what arrived.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "http_endpoint.hpp"
#include "lockcore/aws/credentials.hpp"

namespace tenure::aws::test {

class StubDynamoDb {
 public:
  using Clock = std::chrono::steady_clock;

  /// Its own wall clock, seconds since 1970.
  explicit StubDynamoDb(std::function<std::int64_t()> wall) : wall_{std::move(wall)} {}

  void allow(const Keys& keys, Clock::time_point until = Clock::time_point::max());
  /// All keys known so far are expired from now on.
  void expireAll();

  [[nodiscard]] net::HttpOutcome answer(const net::HttpRequest& request);
  [[nodiscard]] int served() const;
  [[nodiscard]] int refused() const;

 private:
  struct Known {
    Keys keys;
    Clock::time_point until;
  };
  [[nodiscard]] std::string fault(const net::HttpRequest& request) const;

  std::function<std::int64_t()> wall_;
  mutable std::mutex mutex_{};
  std::map<std::string, Known> known_{};
  int served_{0};
  int refused_{0};
};

}  // namespace tenure::aws::test
