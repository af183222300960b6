// Lock acquisition as a std::future. In a separate header, so that users of lock_client.hpp do not pay for
// <future>.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include <tenure/lockcore/lock_client.hpp>

namespace tenure {

/// As LockClient::acquireAsync. The future holds the result, not an exception. If it is dropped, the lock is released
/// as soon as it is won. Do not wait for it in callbacks of the client: if the executor has a single thread, such a
/// wait would wait for itself.
[[nodiscard]] inline std::future<LockResult<Lock>> acquireFuture(LockClient& client, const LeaseKey& key,
                                                                 AcquireOptions options = {}) {
  const auto promise = std::make_shared<std::promise<LockResult<Lock>>>();
  auto future = promise->get_future();
  client.acquireAsync(key, std::move(options),
                      [promise](LockResult<Lock> result) { promise->set_value(std::move(result)); });
  return future;
}

}  // namespace tenure
