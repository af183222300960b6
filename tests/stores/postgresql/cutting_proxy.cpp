#include "stores/postgresql/cutting_proxy.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace tenure::test {
namespace {

sockaddr_un addressOf(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) throw std::runtime_error{"the path of the socket is too long"};
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  return at;
}

int makeSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error{"socket"};
  return fd;
}

bool sendAll(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(std::string serverSocket) : serverSocket_{std::move(serverSocket)}, listener_{makeSocket()} {
  const sockaddr_un at = addressOf(directory_.file(".s.PGSQL.5432"));
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(listener_, 32) != 0) {
    throw std::runtime_error{"the proxy cannot listen"};
  }
  thread_ = std::thread{[this] { run(); }};
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

void CuttingProxy::cutAfter(Direction direction, std::uint64_t bytes) {
  const std::lock_guard lock{mutex_};
  cuts_ = 0;
  direction_ = direction;
  left_ = bytes;
}

void CuttingProxy::heal() {
  const std::lock_guard lock{mutex_};
  left_.reset();
}

void CuttingProxy::freeze() { frozen_ = true; }

void CuttingProxy::run() {
  while (!stopping_) {
    std::vector<pollfd> waits{{listener_, POLLIN, 0}};
    if (!frozen_) {
      for (const Pair& pair : pairs_) {
        waits.push_back({pair.client, POLLIN, 0});
        waits.push_back({pair.server, POLLIN, 0});
      }
    }
    if (poll(waits.data(), waits.size(), 5) <= 0) continue;
    std::vector<Pair> kept;
    const std::vector<Pair> before = std::exchange(pairs_, {});
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool readable = 2 * i + 2 < waits.size();
      const bool alive = !readable || ((waits[2 * i + 1].revents == 0 || pass(before[i], Direction::toServer)) &&
                                       (waits[2 * i + 2].revents == 0 || pass(before[i], Direction::toClient)));
      if (alive) {
        kept.push_back(before[i]);
      } else {
        close(before[i].client);
        close(before[i].server);
      }
    }
    pairs_ = std::move(kept);
    if (waits[0].revents != 0) accept();
  }
  for (const Pair& pair : pairs_) {
    close(pair.client);
    close(pair.server);
  }
}

void CuttingProxy::accept() {
  Pair pair{accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), makeSocket()};
  const sockaddr_un at = addressOf(serverSocket_);
  if (pair.client >= 0 && connect(pair.server, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
    pairs_.push_back(pair);
    return;
  }
  close(pair.client);
  close(pair.server);
}

bool CuttingProxy::pass(const Pair& pair, Direction direction) {
  const bool up = direction == Direction::toServer;
  char room[65536];
  const ssize_t got = recv(up ? pair.client : pair.server, room, sizeof room, MSG_DONTWAIT);
  if (got <= 0) return false;
  auto size = static_cast<std::size_t>(got);
  bool cut = false;
  {
    const std::lock_guard lock{mutex_};
    if (left_ && direction_ == direction) {
      cut = size >= *left_;
      size = std::min<std::size_t>(size, *left_);
      *left_ -= size;
      if (cut) left_.reset();
    }
  }
  const bool sent = sendAll(up ? pair.server : pair.client, room, size);
  if (cut) ++cuts_;
  return sent && !cut;
}

}  // namespace tenure::test
