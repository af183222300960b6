// For programs that have a Boost.Asio loop already: the library's work on it, and asynchronous calls with its
// completion tokens. Opt-in: it sees Asio.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

#ifdef BOOST_ASIO_NO_TYPEID
#error \
    "tenure's libraries are built with RTTI. Without it (-fno-rtti) Asio's executors are others, which they cannot use."
#endif

namespace tenure {

/// A scheduler on the caller's executor, e.g. `io.get_executor()`. Its tasks run on a strand of it, so the io_context
/// may be run by several threads. Keep it running and responsive: a blocked loop renews nothing. Leadership still ends
/// on time then: isLeader() reads the clock, and a thread of the library itself fires the stop token.
///
/// The execution context may be destroyed at any time, even while electors, clients and locks still have the scheduler:
/// what was to run there is destroyed with it. Join its threads first, as Asio asks.
[[nodiscard]] TENURE_API std::shared_ptr<Scheduler> makeAsioScheduler(boost::asio::any_io_executor executor);

namespace detail {

/// A link of the library's threads to a loop that its owner may destroy at any time: it keeps an object on the loop,
/// such as a strand, that ends with the loop at the latest. A later caller finds no object, instead of a destroyed
/// loop.
class TENURE_API LoopLink {
 public:
  /// `kept` is destroyed by the thread that destroys the execution context, unless the last reference to the link was
  /// dropped before.
  [[nodiscard]] static std::shared_ptr<LoopLink> make(boost::asio::execution_context& loop, std::shared_ptr<void> kept);
  ~LoopLink();
  LoopLink(const LoopLink&) = delete;
  LoopLink& operator=(const LoopLink&) = delete;

  /// Calls `use` while the loop cannot end; false: it has ended. `use` must run no code of users. Any thread.
  template <class Use>
  bool whileThere(const Use& use) const {
    const std::lock_guard lock{mutex_};
    if (kept_) use();
    return kept_ != nullptr;
  }

 private:
  class OfLoop;
  explicit LoopLink(std::shared_ptr<void> kept) noexcept : kept_{std::move(kept)} {}
  void end() noexcept;

  mutable std::mutex mutex_;  ///< guards kept_, and is held while it is used
  std::shared_ptr<void> kept_;
  std::shared_ptr<void> place_{};  ///< among the links of its loop; constant after make()
};

template <class Executor>
[[nodiscard]] boost::asio::execution_context& loopOf(const Executor& executor) {
  namespace asio = boost::asio;
  using Context = asio::execution::context_as_t<asio::execution_context&>;
  if constexpr (asio::can_query_v<Executor, Context>) {
    return asio::query(executor, Context{});
  } else {
    return executor.context();
  }
}

/// A handler that waits for its answer, in memory from its associated allocator. That memory is given back before the
/// handler is called or destroyed, because the handler may own it; Asio's own calls do the same.
template <class Handler, class Executor>
struct WaitingHandler {
  Handler handler;
  boost::asio::executor_work_guard<Executor> work;

  using Pointer = std::unique_ptr<WaitingHandler, void (*)(WaitingHandler*)>;

  [[nodiscard]] static Pointer make(Handler handler, const Executor& executor) {
    Allocator allocator{boost::asio::get_associated_allocator(handler)};
    void* const memory = std::allocator_traits<Allocator>::allocate(allocator, 1);
    return Pointer{::new (memory)
                       WaitingHandler{std::move(handler), boost::asio::executor_work_guard<Executor>{executor}},
                   [](WaitingHandler* waiting) { static_cast<void>(take(waiting)); }};
  }
  [[nodiscard]] static WaitingHandler take(WaitingHandler* waiting) {
    Allocator allocator{boost::asio::get_associated_allocator(waiting->handler)};
    WaitingHandler taken{std::move(*waiting)};
    waiting->~WaitingHandler();
    std::allocator_traits<Allocator>::deallocate(allocator, waiting, 1);
    return taken;
  }

 private:
  using Allocator = typename std::allocator_traits<boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<
      WaitingHandler>;
};

}  // namespace detail

/// Starts `begin(done, cancel)`, of which `done` is called once, on any thread, with a Result. The asynchronous calls
/// of tenure are built on it, and whoever wraps another of the library's callbacks may use it too. `begin` must not
/// throw.
///
/// The calls keep these rules. They complete on the executor that is associated with the handler, otherwise on
/// `executor`, which has outstanding work until then; never inside the call that starts them. The handler is kept in
/// memory from its associated allocator, which is given back before the handler is called. That allocator is used in
/// the call that starts and on the executor, never on a thread of the library, so it may be unsafe for threads.
/// Cancellation of any type requests `cancel`: the slot is assigned before the start, and cleared before the
/// handler is called, because it is the handler's again then. There is no error_code and no exception: the Result says
/// what happened. The execution context may be destroyed first, as for any handler of Asio's: then the handler is
/// destroyed with it, and not called.
///
/// In coroutines give every argument that is made with braces a name before, also options and keys: g++ 12 destroys
/// such temporaries inside a co_await twice, and the program aborts.
template <class Result, class Executor, class Begin, class CompletionToken>
auto asyncCall(const Executor& executor, Begin begin, CompletionToken&& token) {
  namespace asio = boost::asio;
  return asio::async_initiate<CompletionToken, void(Result)>(
      [executor](auto handler, auto start) {
        const auto slot = asio::get_associated_cancellation_slot(handler);
        const auto target = asio::get_associated_executor(handler, executor);
        using Waiting = detail::WaitingHandler<decltype(handler), std::decay_t<decltype(target)>>;
        std::stop_source stop;
        if (slot.is_connected()) {
          auto free = slot;
          free.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
        }
        // Tasks of the library must be copyable, and handlers are not. Copies may outlive the handler, so this is not
        // in its memory. And they may outlive the loop, so they reach the handler and its executor by a link.
        const auto kept = std::make_shared<typename Waiting::Pointer>(Waiting::make(std::move(handler), target));
        const std::function<void(Result)> done = [link = detail::LoopLink::make(detail::loopOf(target), kept),
                                                  weak = std::weak_ptr{kept}, slot](Result result) {
          link->whileThere([&] {
            asio::post((*weak.lock())->work.get_executor(),
                       [link, waiting = weak.lock(), slot, result = std::move(result)]() mutable {
                         Waiting taken = Waiting::take(waiting->release());
                         if (slot.is_connected()) {
                           auto over = slot;
                           over.clear();
                         }
                         taken.work.reset();
                         std::move(taken.handler)(std::move(result));
                       });
          });
        };
        start(done, stop.get_token());
      },
      token, std::move(begin));
}

}  // namespace tenure
