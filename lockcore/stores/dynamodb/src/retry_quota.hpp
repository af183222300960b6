// How often a store may ask again where it was not served: the token bucket of AWS's SDKs, over all leases of a store.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::dynamodb_store {

/// Each lease waits longer after each failure, but a process may have leases by the thousand, and a service that just
/// comes back must not be met by all of them. So a retry takes `retryCost` tokens, a retry that is served gives them
/// back and one more, a first try that is served gives one, and time gives `refillPerSecond`, so that it never stops to
/// look. A process with a few leases never meets the limit. Costs and capacity are those of the standard retry mode:
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
///
/// Only what can wait is refused: polls and acquisitions. Renewals and releases always go out; they count as served or
/// not. Thread-safe.
class RetryQuota {
 public:
  static constexpr double capacity = 500;
  static constexpr double retryCost = 5;
  static constexpr double refillPerSecond = 25;

  /// Before a request about `key` that can wait. An error: it must not be sent now, because too many retries went out
  /// already; the text quotes the last failure.
  [[nodiscard]] std::optional<StoreError> refusalOf(const LeaseKey& key, const Instant& now);

  /// The service answered about `key`, whatever it answered.
  void served(const LeaseKey& key);
  /// No answer, or one that says that the service is in trouble. Errors of other classes say nothing of it.
  void failed(const LeaseKey& key, const StoreError& error);

  [[nodiscard]] std::size_t leasesInTrouble() const;

 private:
  void refill(const Instant& now);

  mutable std::mutex mutex_;  ///< guards what follows
  double tokens_{capacity};
  std::optional<Instant> refilledAt_{};
  std::set<LeaseKey> inTrouble_{};  ///< whose last request failed: the next one is a retry
  std::set<LeaseKey> paid_{};       ///< of these, whose retry is under way
  std::string lastFailure_{};
};

}  // namespace tenure::dynamodb_store
