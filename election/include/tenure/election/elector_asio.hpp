// Electors with Boost.Asio's completion tokens: callbacks, futures, coroutines. Opt-in: it sees Asio.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <tenure/election/async_elector.hpp>
#include <tenure/lockcore/asio.hpp>

namespace tenure {

/// As AsyncElector::whenElected, but completes with `void(std::optional<AwaitedTerm>)`, by the rules of asyncCall.
/// Nothing: the elector was stopped, or the wait was cancelled. If the execution context is destroyed first, the
/// handler goes with it.
///
///     while (auto term = co_await tenure::asyncWaitElected(elector, io.get_executor(), asio::use_awaitable)) {
///       co_await (lead(term->leadership()) || tenure::asyncWaitRevoked(*term, io.get_executor(),
///       asio::use_awaitable));
///     }  // the work has ended here, so the lease may be released
template <class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncWaitElected(AsyncElector& elector, const Executor& executor, CompletionToken&& token = CompletionToken{}) {
  return asyncCall<std::optional<AwaitedTerm>>(
      executor,
      [&elector](const std::function<void(std::optional<AwaitedTerm>)>& done, const std::stop_token& cancel) {
        elector.whenElected(done, cancel);
      },
      std::forward<CompletionToken>(token));
}

/// As whenRevoked, but completes with `void(bool)`, by the rules of asyncCall: true once the work must
/// stop, false if the wait was cancelled. `term` does not have to outlive the wait.
template <class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncWaitRevoked(const AwaitedTerm& term, const Executor& executor, CompletionToken&& token = CompletionToken{}) {
  return asyncCall<bool>(
      executor,
      [leadership = term.leadership()](const std::function<void(bool)>& done, const std::stop_token& cancel) {
        whenRevoked(leadership, done, cancel);
      },
      std::forward<CompletionToken>(token));
}

/// As requestStop() of a LeaderElector, AsyncElector, ShardedElector or SingletonScheduler, but completes with
/// `void(ReleaseResult)` when the stop is done, by the rules of asyncCall. Cancellation does nothing: a stop is not
/// taken back.
template <class Elector, class Executor, class CompletionToken = boost::asio::default_completion_token_t<Executor>>
auto asyncStop(Elector& elector, const Executor& executor, CompletionToken&& token = CompletionToken{}) {
  return asyncCall<ReleaseResult>(
      executor,
      [&elector](const std::function<void(ReleaseResult)>& done, const std::stop_token&) { elector.requestStop(done); },
      std::forward<CompletionToken>(token));
}

}  // namespace tenure
