// Requests over kept-alive connections to loopback. There is no library between the bench and the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::bench {

/// One connection, one request at a time. Throws std::runtime_error when the connection breaks, and for every answer
/// that is not "HTTP/1.1 200".
class HttpCaller {
 public:
  explicit HttpCaller(std::uint16_t port);
  ~HttpCaller();
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  /// Sends the bytes of a whole request, and waits for the whole answer.
  void call(std::string_view request);

  /// For callers that wait for many connections at once.
  void send(std::string_view request);
  /// Reads the bytes that have arrived. True if the answer is whole.
  [[nodiscard]] bool receive();
  [[nodiscard]] int descriptor() const noexcept { return fd_; }

 private:
  int fd_;
  std::string answer_{};
};

/// Sends the same request again and again on `connections` connections for `span`. Returns the answers per second.
[[nodiscard]] double requestsPerSecond(std::uint16_t port, std::string_view request, int connections,
                                       std::chrono::milliseconds span);

}  // namespace tenure::bench
