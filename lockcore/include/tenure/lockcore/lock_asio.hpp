// Locks with Boost.Asio's completion tokens: callbacks, futures, coroutines. Opt-in: it sees Asio.
#pragma once

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <tenure/lockcore/lock_client.hpp>

namespace tenure {

/// As LockClient::acquireAsync, but completes with `void(LockResult<Lock>)`. It completes on the executor that is
/// associated with the token's handler, else on `executor`, which has outstanding work until then. Cancellation (of any
/// type) stops the acquisition: the operation completes with LockErrc::cancelled. There is no exception and no
/// error_code: the result says it. A thread of the library posts the completion. Destroy the client before the
/// execution context, so that this thread is done with it.
///
///     const tenure::LeaseKey key{"orders"};
///     const tenure::AcquireOptions options{.waitFor = 5s};
///     auto lock = co_await tenure::asyncAcquire(client, io.get_executor(), key, options, boost::asio::use_awaitable);
///
/// (Give key and options names as here: g++ 12 destroys temporaries twice that are made with braces inside a co_await.)
template <class Executor, class CompletionToken>
auto asyncAcquire(LockClient& client, const Executor& executor, LeaseKey key, AcquireOptions options,
                  CompletionToken&& token) {
  namespace asio = boost::asio;
  return asio::async_initiate<CompletionToken, void(LockResult<Lock>)>(
      [&client, executor](auto handler, const LeaseKey& wanted, const AcquireOptions& how) {
        using Handler = decltype(handler);
        const auto slot = asio::get_associated_cancellation_slot(handler);
        const auto target = asio::get_associated_executor(handler, executor);
        // Tasks of the library must be copyable, and handlers are not.
        const auto shared = std::make_shared<Handler>(std::move(handler));
        const auto work = std::make_shared<asio::executor_work_guard<std::decay_t<decltype(target)>>>(target);
        // The slot belongs to the handler's executor, and belongs to the handler again once the handler was called. So
        // it is assigned before anything can complete, and cleared before the handler is called.
        std::stop_source stop;
        if (slot.is_connected()) {
          auto free = slot;
          free.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
        }
        const auto done = [shared, work, target, slot](LockResult<Lock> result) {
          const auto kept = std::make_shared<LockResult<Lock>>(std::move(result));
          asio::dispatch(target, [shared, work, kept, slot] {
            if (slot.is_connected()) {
              auto over = slot;
              over.clear();
            }
            Handler last = std::move(*shared);
            work->reset();
            std::move(last)(std::move(*kept));
          });
        };
        client.acquireAsync(wanted, how, done, stop.get_token());
      },
      token, std::move(key), std::move(options));
}

}  // namespace tenure
