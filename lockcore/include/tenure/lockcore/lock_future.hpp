// Lock acquisition as a std::future. Apart from lock_client.hpp, whose users need not pay for <future>.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include <tenure/lockcore/lock_client.hpp>

namespace tenure {

/// As LockClient::acquireAsync. The future holds the result, not an exception; if it is dropped the lock is released as
/// soon as it is won. To be waited for anywhere but in callbacks of the client, where it would wait for itself if the
/// executor has a single thread.
[[nodiscard]] inline std::future<LockResult<Lock>> acquireFuture(LockClient& client, const LeaseKey& key,
                                                                 AcquireOptions options = {}) {
  const auto promise = std::make_shared<std::promise<LockResult<Lock>>>();
  auto future = promise->get_future();
  client.acquireAsync(key, std::move(options),
                      [promise](LockResult<Lock> result) { promise->set_value(std::move(result)); });
  return future;
}

}  // namespace tenure
