// Locks with Boost.Asio's completion tokens: callbacks, futures, coroutines. Opt-in: it sees Asio.
#pragma once

#include <functional>
#include <stop_token>
#include <utility>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/lock_client.hpp>

namespace tenure {

/// As LockClient::acquireAsync, but completes with `void(LockResult<Lock>)`, by the rules of asyncCall. A cancelled
/// acquisition completes with LockErrc::cancelled. If the execution context is destroyed first, the handler goes with
/// it.
///
///     const tenure::LeaseKey key{"orders"};
///     const tenure::AcquireOptions options{.waitFor = 5s};
///     auto lock = co_await tenure::asyncAcquire(client, io.get_executor(), key, options, boost::asio::use_awaitable);
template <class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncAcquire(LockClient& client, const Executor& executor, LeaseKey key, AcquireOptions options,
                  CompletionToken&& token = CompletionToken{}) {
  return asyncCall<LockResult<Lock>>(
      executor,
      [&client, key = std::move(key), options = std::move(options)](const std::function<void(LockResult<Lock>)>& done,
                                                                    std::stop_token cancel) {
        client.acquireAsync(key, options, done, std::move(cancel));
      },
      std::forward<CompletionToken>(token));
}

/// As Lock::renewAsync, but completes with `void(LockResult<void>)`, by the rules of asyncCall. Cancellation does
/// nothing: a renewal that was sent may be in the record.
template <class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncRenew(Lock& lock, const Executor& executor, RenewOptions options,
                CompletionToken&& token = CompletionToken{}) {
  return asyncCall<LockResult<void>>(
      executor,
      [&lock, options = std::move(options)](const std::function<void(LockResult<void>)>& done, const std::stop_token&) {
        lock.renewAsync(options, done);
      },
      std::forward<CompletionToken>(token));
}

/// As Lock::releaseAsync, but completes with `void(ReleaseResult)`, by the rules of asyncCall. Cancellation does
/// nothing: the lock is given up from the call on.
template <class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncRelease(Lock& lock, const Executor& executor, ReleaseOptions options,
                  CompletionToken&& token = CompletionToken{}) {
  return asyncCall<ReleaseResult>(
      executor,
      [&lock, options = std::move(options)](const std::function<void(ReleaseResult)>& done, const std::stop_token&) {
        lock.releaseAsync(options, done);
      },
      std::forward<CompletionToken>(token));
}

}  // namespace tenure
