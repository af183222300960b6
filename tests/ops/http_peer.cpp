#include "http_peer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "election/ops/src/listen_socket.hpp"

namespace tenure::test {

using std::chrono::milliseconds;

HttpPeer::HttpPeer(const std::string& address) {
  int error = 0;
  fd_ = ops::connectTo(*parseListen(address), error);
  EXPECT_TRUE(error == 0 || error == EINPROGRESS) << address << ": errno " << error;
  pollfd entry{fd_.get(), POLLOUT, 0};
  EXPECT_EQ(poll(&entry, 1, static_cast<int>(milliseconds{patience}.count())), 1);
}

bool HttpPeer::send(const std::string& text) const {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent = ::send(fd_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent > 0) done += static_cast<std::size_t>(sent);
    if (sent < 0 && errno != EAGAIN) return false;
    pollfd entry{fd_.get(), POLLOUT, 0};
    if (sent < 0 && poll(&entry, 1, static_cast<int>(milliseconds{patience}.count())) != 1) return false;
  }
  return true;
}

void HttpPeer::finishSending() const { shutdown(fd_.get(), SHUT_WR); }

bool HttpPeer::receive(milliseconds bound) {
  pollfd entry{fd_.get(), POLLIN, 0};
  if (ended_ || poll(&entry, 1, static_cast<int>(bound.count())) != 1) return false;
  char piece[16384];
  const ssize_t got = recv(fd_.get(), piece, sizeof piece, 0);
  if (got <= 0) {
    ended_ = true;
    return false;
  }
  got_.append(piece, static_cast<std::size_t>(got));
  return true;
}

std::optional<HttpReply> HttpPeer::reply(bool withBody, milliseconds bound) {
  std::size_t end = 0;
  while ((end = got_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(bound)) return std::nullopt;
  }
  HttpReply out;
  out.head = got_.substr(0, end + 2);
  out.status = std::atoi(out.head.substr(std::min<std::size_t>(9, out.head.size())).c_str());
  const std::size_t field = out.head.find("Content-Length: ");
  EXPECT_NE(field, std::string::npos) << out.head;
  const std::size_t length = withBody ? std::strtoul(out.head.c_str() + field + 16, nullptr, 10) : 0;
  while (got_.size() < end + 4 + length) {
    if (!receive(bound)) return std::nullopt;
  }
  out.body = got_.substr(end + 4, length);
  got_.erase(0, end + 4 + length);
  return out;
}

bool HttpPeer::gets(const std::string& text, milliseconds bound) {
  while (got_.find(text) == std::string::npos) {
    if (!receive(bound)) return false;
  }
  return true;
}

bool HttpPeer::closed(milliseconds bound) {
  while (receive(bound)) {
  }
  return ended_ && got_.empty();
}

HttpReply ask(const std::string& address, const std::string& target, const std::string& method, milliseconds bound) {
  HttpPeer peer{address};
  peer.send(method + ' ' + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return peer.reply(method == "GET" || method == "POST", bound).value_or(HttpReply{});
}

}  // namespace tenure::test
