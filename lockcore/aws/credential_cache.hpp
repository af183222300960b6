// The credentials in use. They are refreshed in the background.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "credentials.hpp"

namespace tenure::aws {

/// A thread ("tenure-aws", started when it is first needed) watches the time. Each fetch runs on a separate thread
/// ("tenure-aws-get"), one at a time, and is shared by all callers that wait. So a fetch that hangs delays no caller
/// beyond its own deadline. While fetches fail, the last credentials are used until they expire. Thread-safe.
class CredentialCache {
 public:
  using Current = std::shared_ptr<const Credentials>;
  using Fetch = std::function<StoreResult<Credentials>(const std::stop_token&)>;
  using Ready = std::function<void(StoreResult<Current>)>;

  /// `fetch` may block; it should return soon once stop is requested.
  CredentialCache(Fetch fetch, Logger logger);
  /// Answers all waiting callers with an error, and returns when they have it, except on a thread of the library itself
  /// (see detail::leaveThread()).
  ~CredentialCache();
  CredentialCache(const CredentialCache&) = delete;
  CredentialCache& operator=(const CredentialCache&) = delete;

  /// Usable credentials, or null. Never waits for a fetch.
  [[nodiscard]] Current current() const;

  /// Calls `ready` once, on the cache's thread: with usable credentials as soon as there are some, with the error of
  /// the fetch that failed, or with a transient error when `timeout` is over.
  void wait(std::chrono::nanoseconds timeout, Ready ready);

  /// The service refused `refused`. As wait(), but after a new fetch, unless other credentials than these are in use by
  /// now. A service that goes on refusing causes at most one fetch in two seconds; in between, `ready` gets the present
  /// credentials.
  void replace(Current refused, std::chrono::nanoseconds timeout, Ready ready);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenure::aws
