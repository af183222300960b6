// HTTP endpoints for the tests: the same responder behind a client without a network, or behind a real socket.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lockcore/net/http_client.hpp"

namespace tenure::aws::test {

using Responder = std::function<net::HttpOutcome(const net::Origin&, const net::HttpRequest&)>;

[[nodiscard]] net::HttpResponse reply(int status, std::string body, std::vector<net::HttpHeader> headers = {});
[[nodiscard]] net::HttpError lost(net::HttpError::Kind kind = net::HttpError::Kind::connect);
/// The first header of that name, in upper or lower case; otherwise an empty text.
[[nodiscard]] std::string headerOf(const net::HttpRequest& request, const std::string& name);

/// The requests, in order. Thread-safe.
class RequestLog {
 public:
  struct Entry {
    net::Origin origin;
    net::HttpRequest request;
    std::chrono::nanoseconds timeout;
  };
  void add(const net::Origin& origin, const net::HttpRequest& request, std::chrono::nanoseconds timeout = {});
  [[nodiscard]] std::vector<Entry> all() const;
  [[nodiscard]] std::size_t count() const;

 private:
  mutable std::mutex mutex_{};
  std::vector<Entry> entries_{};
};

/// Answers with the responder. Each request has its own thread, so the order is as random as in a network. While `held`
/// is true, requests get no answer before their time is over or the client is destroyed.
[[nodiscard]] std::shared_ptr<net::HttpClient> fakeClient(Responder responder, std::shared_ptr<RequestLog> log,
                                                          std::shared_ptr<std::atomic<bool>> held = nullptr);

/// HTTP/1.1 on 127.0.0.1, kept-alive connections with one thread each.
class LocalServer {
 public:
  explicit LocalServer(Responder responder);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  [[nodiscard]] std::string url() const;  ///< http://127.0.0.1:port

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::aws::test
