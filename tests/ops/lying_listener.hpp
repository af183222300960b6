// What stands where a listener of tenure should: it answers every request with the bytes that a test chose.
#pragma once

#include <atomic>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "ops/src/listen_socket.hpp"

namespace tenure::test {

class LyingListener {
 public:
  /// `endless`: the bytes come again and again until the client goes.
  explicit LyingListener(std::string bytes, bool endless = false)
      : bytes_{std::move(bytes)}, endless_{endless}, thread_{[this] { work(); }} {}
  ~LyingListener() {
    ends_.store(true);
    thread_.join();
  }
  LyingListener(const LyingListener&) = delete;
  LyingListener& operator=(const LyingListener&) = delete;

  [[nodiscard]] std::string address() const { return toString(socket_.address()); }

 private:
  void work() {
    while (!ends_.load()) {
      pollfd entry{socket_.descriptor(), POLLIN, 0};
      if (poll(&entry, 1, 20) != 1) continue;
      if (const UniqueFd client = socket_.accept()) answer(client.get());
    }
  }
  void answer(int client) const {
    pollfd asked{client, POLLIN, 0};
    poll(&asked, 1, 1'000);
    char request[4096];
    static_cast<void>(recv(client, request, sizeof request, 0));
    do {
      for (std::size_t sent = 0; sent < bytes_.size();) {
        pollfd entry{client, POLLOUT, 0};
        if (ends_.load() || poll(&entry, 1, 1'000) != 1) return;
        const ssize_t put = send(client, bytes_.data() + sent, bytes_.size() - sent, MSG_NOSIGNAL);
        if (put < 0) return;
        sent += static_cast<std::size_t>(put);
      }
    } while (endless_);
  }

  const ops::ListenSocket socket_{*ops::ListenSocket::open(*parseListen("127.0.0.1:0"))};
  const std::string bytes_;
  const bool endless_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace tenure::test
