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

bool worthASecondTry(const net::HttpOutcome& outcome) {
  if (outcome) return outcome->status >= 500;
  return outcome.error().kind == net::HttpError::Kind::closed;
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

net::HttpOutcome FetchContext::askMetadata(const net::Origin& origin, const net::HttpRequest& request) {
  if (!metadataHttp) metadataHttp = makeHttp({});
  net::HttpOutcome first = exchange(*metadataHttp, origin, request, limits.metadata);
  if (!worthASecondTry(first) || stop.stop_requested()) return first;
  return exchange(*metadataHttp, origin, request, limits.metadata);
}

std::chrono::seconds FetchContext::lifetimeUntil(std::chrono::seconds expiration, std::string_view dateHeader) const {
  return saturating::difference(expiration, parseHttpDate(dateHeader).value_or(clock.now()));
}

}  // namespace tenure::aws
