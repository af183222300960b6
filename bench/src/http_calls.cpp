#include "http_calls.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <tenure/lockcore/clock.hpp>

namespace tenure::bench {
namespace {

/// Whether the text is a whole answer with a Content-Length.
bool isWholeAnswer(std::string_view text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return false;
  if (!text.starts_with("HTTP/1.1 200 ")) {
    throw std::runtime_error("an answer that is no 200: " + std::string{text.substr(0, 400)});
  }
  constexpr std::string_view name = "\r\nContent-Length: ";
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos || at > head) throw std::runtime_error("an answer without Content-Length");
  std::size_t body = 0;
  std::from_chars(text.data() + at + name.size(), text.data() + head, body);
  return text.size() >= head + 4 + body;
}

}  // namespace

HttpCaller::HttpCaller(std::uint16_t port) : fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd_);
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

HttpCaller::~HttpCaller() { close(fd_); }

void HttpCaller::send(std::string_view request) {
  if (write(fd_, request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
    throw std::runtime_error("a request could not be sent");
  }
}

bool HttpCaller::receive() {
  std::array<char, 4096> piece;
  const ssize_t got = read(fd_, piece.data(), piece.size());
  if (got <= 0) throw std::runtime_error("a connection ended before the answer");
  answer_.append(piece.data(), static_cast<std::size_t>(got));
  if (!isWholeAnswer(answer_)) return false;
  answer_.clear();
  return true;
}

void HttpCaller::call(std::string_view request) {
  send(request);
  while (!receive()) {
  }
}

double requestsPerSecond(std::uint16_t port, std::string_view request, int connections,
                         std::chrono::milliseconds span) {
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<HttpCaller>> callers;
  for (int i = 0; i < connections; ++i) {
    callers.push_back(std::make_unique<HttpCaller>(port));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = callers.back().get();
    epoll_ctl(poll, EPOLL_CTL_ADD, callers.back()->descriptor(), &event);
  }
  std::int64_t answers = 0;
  const Instant from = readClock();
  for (const auto& caller : callers) caller->send(request);
  std::chrono::nanoseconds elapsed{0};
  for (; elapsed < span; elapsed = elapsedForHolder(from, readClock())) {
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), 1'000);
    for (int i = 0; i < count; ++i) {
      auto* caller = static_cast<HttpCaller*>(events.at(static_cast<std::size_t>(i)).data.ptr);
      if (!caller->receive()) continue;
      ++answers;
      caller->send(request);
    }
  }
  close(poll);
  return static_cast<double>(answers) * 1e9 / static_cast<double>(elapsed.count());
}

}  // namespace tenure::bench
