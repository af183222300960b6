#include "fetch_context.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "lockcore/port/saturating_time.hpp"

namespace tenure::aws {
namespace {

/// Outlives the wait, because the answer may come after the wait was given up.
struct Answer {
  std::mutex mutex{};
  std::condition_variable_any changed{};
  std::optional<net::HttpOutcome> outcome{};
};

void pauseFor(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock{mutex};
  std::condition_variable_any{}.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

net::HttpOutcome FetchContext::exchange(net::HttpClient& client, const net::Origin& origin, net::HttpRequest request,
                                        std::chrono::milliseconds timeout) const {
  const auto answer = std::make_shared<Answer>();
  client.send(origin, std::move(request), timeout, [answer](net::HttpOutcome outcome) {
    {
      const std::lock_guard lock{answer->mutex};
      answer->outcome = std::move(outcome);
    }
    answer->changed.notify_all();
  });
  std::unique_lock lock{answer->mutex};
  answer->changed.wait(lock, stop, [&] { return answer->outcome.has_value(); });
  if (answer->outcome) return *std::move(answer->outcome);
  return net::HttpError{net::HttpError::Kind::cancelled, true, "the client was closed"};
}

net::HttpOutcome FetchContext::askMetadata(const net::Origin& origin, const net::HttpRequest& request,
                                           const Attempts& attempts) {
  if (!metadataHttp) metadataHttp = makeHttp({});
  for (int made = 1;; ++made) {
    net::HttpOutcome got = exchange(*metadataHttp, origin, request, attempts.timeout);
    if ((got && got->status == 200) || made >= attempts.most) return got;
    pauseFor(attempts.pause, stop);
    if (stop.stop_requested()) return got;
  }
}

std::chrono::seconds FetchContext::lifetimeUntil(std::chrono::seconds expiration, std::string_view dateHeader) const {
  return saturating::difference(expiration, parseHttpDate(dateHeader).value_or(clock.now()));
}

}  // namespace tenure::aws
