// Calls of the client that wait for their answer, with a time limit.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "lockcore/net/client_hooks.hpp"
#include "support/eventually.hpp"

namespace tenure::test {

using namespace std::chrono_literals;
using net::HttpError;

inline std::future<net::HttpOutcome> start(net::HttpClient& client, const net::Origin& origin,
                                           net::HttpRequest request = {}, std::chrono::nanoseconds timeout = 5s) {
  auto promise = std::make_shared<std::promise<net::HttpOutcome>>();
  auto future = promise->get_future();
  client.send(origin, std::move(request), timeout,
              [promise](net::HttpOutcome outcome) { promise->set_value(std::move(outcome)); });
  return future;
}

inline net::HttpOutcome await(std::future<net::HttpOutcome>& future) {
  if (future.wait_for(20s) != std::future_status::ready) throw std::runtime_error("the handler was not called");
  return future.get();
}

inline net::HttpOutcome call(net::HttpClient& client, const net::Origin& origin, net::HttpRequest request = {},
                             std::chrono::nanoseconds timeout = 5s) {
  auto future = start(client, origin, std::move(request), timeout);
  return await(future);
}

inline net::HttpRequest withBody(std::string body) { return {.body = std::move(body)}; }

inline net::Origin plainAt(std::uint16_t port, std::string host = "127.0.0.1") {
  return {false, std::move(host), port};
}
inline net::Origin tlsAt(std::uint16_t port, std::string host = "127.0.0.1") { return {true, std::move(host), port}; }

inline net::IpAddress ip(const std::string& text) { return net::parseIpAddress(text).value(); }

inline constexpr Eventually eventually{10s, 0s};

}  // namespace tenure::test
