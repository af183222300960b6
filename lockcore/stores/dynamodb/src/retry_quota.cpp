#include "retry_quota.hpp"

#include <algorithm>

namespace tenure::dynamodb_store {

std::optional<StoreError> RetryQuota::errorOf(const LeaseKey& key, const Instant& now) {
  const std::lock_guard lock{mutex_};
  if (!failing_.contains(key)) return std::nullopt;
  refill(now);
  if (tokens_ < retryCost) {
    return StoreError{ErrorClass::transient,
                      "not asked again yet, because the requests of " + std::to_string(failing_.size()) +
                          " leases fail and their retries are limited; the last failure: " + lastFailure_};
  }
  tokens_ -= retryCost;
  paid_.insert(key);
  return std::nullopt;
}

void RetryQuota::served(const LeaseKey& key) {
  const std::lock_guard lock{mutex_};
  const double back = paid_.erase(key) != 0 ? retryCost + 1 : 1;
  tokens_ = std::min(capacity, tokens_ + back);
  failing_.erase(key);
}

void RetryQuota::failed(const LeaseKey& key, const StoreError& error) {
  if (error.errorClass != ErrorClass::transient && error.errorClass != ErrorClass::throttled) return served(key);
  const std::lock_guard lock{mutex_};
  paid_.erase(key);
  failing_.insert(key);
  if (failing_.size() > mostFailing) failing_.erase(failing_.begin());
  lastFailure_ = error.message;
}

std::size_t RetryQuota::failingLeases() const {
  const std::lock_guard lock{mutex_};
  return failing_.size();
}

void RetryQuota::refill(const Instant& now) {
  const auto since = refilledAt_ ? elapsedForHolder(*refilledAt_, now) : std::chrono::nanoseconds{0};
  refilledAt_ = now;
  tokens_ = std::min(capacity, tokens_ + refillPerSecond * std::chrono::duration<double>(since).count());
}

}  // namespace tenure::dynamodb_store
