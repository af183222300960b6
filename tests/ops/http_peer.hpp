// A client that says exactly what a test wants, over TCP or a Unix socket, with a bound on every wait.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::test {

struct HttpReply {
  int status{0};
  std::string head;  ///< status line and fields
  std::string body;
};

class HttpPeer {
 public:
  static constexpr std::chrono::seconds patience{20};

  /// Connects; the test fails if it cannot. `address` as HttpListener::address().
  explicit HttpPeer(const std::string& address);

  /// False: the connection is broken.
  bool send(const std::string& text) const;
  /// No more will be sent.
  void finishSending() const;
  /// The next reply; empty: the connection ended, or the bound was reached. `withBody`: false after HEAD.
  [[nodiscard]] std::optional<HttpReply> reply(bool withBody = true, std::chrono::milliseconds bound = patience);
  /// Whether this arrives, of a reply that has no end. What was received is in received().
  [[nodiscard]] bool gets(const std::string& text, std::chrono::milliseconds bound = patience);
  [[nodiscard]] const std::string& received() const noexcept { return got_; }
  /// Whether the peer has closed the connection, without sending anything more.
  [[nodiscard]] bool closed(std::chrono::milliseconds bound = patience);
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

 private:
  bool receive(std::chrono::milliseconds bound);
  UniqueFd fd_;
  std::string got_;
  bool ended_{false};
};

/// One request on a connection of its own. Status 0: no reply.
[[nodiscard]] HttpReply ask(const std::string& address, const std::string& target, const std::string& method = "GET",
                            std::chrono::milliseconds bound = HttpPeer::patience);

}  // namespace tenure::test
