#include "connection/sockets.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz_support.hpp"

namespace tenure::fuzz {
namespace {

sockaddr_in loopback(unsigned short port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(port);
  return out;
}

int newSocket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(made >= 0, "there is a socket to be had");
  const int yes = 1;
  (void)::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return made;
}

}  // namespace

Listening listenOnLoopback() {
  const int made = newSocket();
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  const bool listens = ::bind(made, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(made, 64) == 0 &&
                       ::getsockname(made, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  require(listens, "loopback has a free port");
  return {made, ntohs(at.sin_port)};
}

int connectTo(unsigned short port) {
  const int made = newSocket();
  const sockaddr_in at = loopback(port);
  int fault = ::connect(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? 0 : errno;
  if (fault == EINTR) {  // interrupted by libFuzzer's timer; it continues by itself
    pollfd done{made, POLLOUT, 0};
    while (::poll(&done, 1, -1) < 0) {
    }
    socklen_t size = sizeof fault;
    require(::getsockopt(made, SOL_SOCKET, SO_ERROR, &fault, &size) == 0, "a socket tells its fault");
  }
  require(fault == 0, "who listens can be connected to");
  return made;
}

bool isAnyReady(const std::vector<int>& sockets) {
  std::vector<pollfd> all;
  for (const int socket : sockets) all.push_back({socket, POLLIN, 0});
  return ::poll(all.data(), all.size(), 0) > 0;
}

int acceptFrom(int listener) { return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }

std::size_t sendSome(int socket, std::string_view bytes) {
  const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

bool receiveSome(int socket, std::string& into, bool& ended) {
  char piece[65536];
  const auto got = ::recv(socket, piece, sizeof piece, MSG_DONTWAIT);
  if (got > 0) return into.append(piece, static_cast<std::size_t>(got)), true;
  const bool later = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (!later) ended = true;
  return !later;
}

bool hasGone(int socket) {
  // The other side answers the first byte with a reset, which shows it.
  (void)::send(socket, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  return ::send(socket, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
}

void closeSocket(int socket, bool reset) {
  const linger now{1, 0};
  if (reset) (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(socket);
}

}  // namespace tenure::fuzz
