// How often a store may retry where it was not served: the token bucket of AWS's SDKs, over all leases of a store.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::dynamodb_store {

/// Each lease waits longer after each failure. But a process may have thousands of leases, and they must not all retry
/// at once when the service just comes back. So a retry takes `retryCost` tokens; a retry that is served gives them
/// back and one more; a first try that is served gives one; and time gives `refillPerSecond`, so that the store never
/// stops trying. A process with a few leases never meets the limit. Costs and capacity are those of the standard retry
/// mode: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
///
/// Only requests that can wait are refused: polls and acquisitions. Renewals and releases are always sent; they too
/// count as served or failed. Thread-safe.
class RetryQuota {
 public:
  static constexpr double capacity = 500;
  static constexpr double retryCost = 5;
  static constexpr double refillPerSecond = 25;
  /// Keys of locks that nobody asks for again would stay for ever. One that is forgotten has a request without a price.
  static constexpr std::size_t mostFailing = 20'000;

  /// To be called before a request about `key` that can wait. An error: the request must not be sent now, because too
  /// many retries were sent already; the text quotes the last failure.
  [[nodiscard]] std::optional<StoreError> errorOf(const LeaseKey& key, const Instant& now);

  /// The service answered a request about `key`, whatever the answer was.
  void served(const LeaseKey& key);
  /// There was no answer, or one that says that the service cannot serve now. Errors of other classes say nothing about
  /// that.
  void failed(const LeaseKey& key, const StoreError& error);

  [[nodiscard]] std::size_t failingLeases() const;

 private:
  void refill(const Instant& now);

  mutable std::mutex mutex_;  ///< guards what follows
  double tokens_{capacity};
  std::optional<Instant> refilledAt_{};
  std::set<LeaseKey> failing_{};  ///< keys whose last request failed: their next one is a retry
  std::set<LeaseKey> paid_{};     ///< those of them whose retry is under way
  std::string lastFailure_{};
};

}  // namespace tenure::dynamodb_store
