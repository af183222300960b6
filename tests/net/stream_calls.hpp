// A stream whose lines and end a test waits for.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {

class HeardStream {
 public:
  [[nodiscard]] net::StreamHandlers handlers() {
    return {[this](std::string_view line) {
              const std::lock_guard lock{mutex_};
              lines_.emplace_back(line);
            },
            [this](net::HttpOutcome outcome) {
              const std::lock_guard lock{mutex_};
              ++ends_;
              end_ = std::move(outcome);
            }};
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock{mutex_};
    return lines_;
  }
  [[nodiscard]] int ends() const {
    const std::lock_guard lock{mutex_};
    return ends_;
  }
  [[nodiscard]] net::HttpOutcome end() const {
    if (!eventually([&] { return ends() > 0; })) throw std::runtime_error("the stream has not ended");
    const std::lock_guard lock{mutex_};
    return *end_;
  }

 private:
  mutable std::mutex mutex_{};
  std::vector<std::string> lines_{};
  std::optional<net::HttpOutcome> end_{};
  int ends_{0};
};

/// Answers each connection's request with these bytes, and ends the connection.
inline Script says(std::string bytes) {
  return [bytes = std::move(bytes)](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(bytes);
    peer.close();
  };
}

inline const std::string chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

inline std::string chunk(std::string_view text) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + std::string{text} + "\r\n";
}

}  // namespace tenure::test
