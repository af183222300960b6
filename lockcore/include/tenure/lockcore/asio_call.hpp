// What the asynchronous calls with Boost.Asio's completion tokens have in common. Opt-in: it sees Asio.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace tenure {

/// Starts `begin(done, cancel)`, of which `done` is called once, on any thread, with a Result. The asynchronous calls
/// of tenure are built on it, and whoever wraps another of the library's callbacks may use it too.
///
/// The calls keep these rules. They complete on the executor that is associated with the handler, else on
/// `executor`, which has outstanding work until then; never inside the call that starts them. What they keep comes from
/// the handler's associated allocator. Cancellation of any type requests `cancel`: the slot is assigned before the
/// start, and cleared before the handler is called, because it is the handler's again then. There is no error_code and
/// no exception: the Result says what happened. A thread of the library posts the completion, so whoever answers
/// (client, elector) must be gone before the execution context.
template <class Result, class Executor, class Begin, class CompletionToken>
auto asyncCall(const Executor& executor, Begin begin, CompletionToken&& token) {
  namespace asio = boost::asio;
  return asio::async_initiate<CompletionToken, void(Result)>(
      [executor](auto handler, auto start) {
        using Handler = decltype(handler);
        const auto slot = asio::get_associated_cancellation_slot(handler);
        const auto target = asio::get_associated_executor(handler, executor);
        const auto allocator = asio::get_associated_allocator(handler);
        // Tasks of the library must be copyable, and handlers are not.
        const auto shared = std::allocate_shared<Handler>(allocator, std::move(handler));
        const auto work =
            std::allocate_shared<asio::executor_work_guard<std::decay_t<decltype(target)>>>(allocator, target);
        std::stop_source stop;
        if (slot.is_connected()) {
          auto free = slot;
          free.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
        }
        const std::function<void(Result)> done = [shared, work, target, slot, allocator](Result result) {
          const auto kept = std::allocate_shared<Result>(allocator, std::move(result));
          asio::post(target, [shared, work, kept, slot] {
            if (slot.is_connected()) {
              auto over = slot;
              over.clear();
            }
            Handler last = std::move(*shared);
            work->reset();
            std::move(last)(std::move(*kept));
          });
        };
        start(done, stop.get_token());
      },
      token, std::move(begin));
}

}  // namespace tenure
