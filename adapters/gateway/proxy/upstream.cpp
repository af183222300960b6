#include "upstream.hpp"

#include <algorithm>
#include <sys/socket.h>

namespace tenure::gateway {

/// A service closes connections that were idle for too long; a request that is sent on such a connection is lost. A
/// good idle connection is open and has nothing to read.
bool Upstream::isQuiet(Connection& connection) {
  char byte = 0;
  const auto got = ::recv(connection.stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && connection.buffer.size() == 0;
}

Task<ConnectionPtr> Upstream::connection() {
  while (!idle_.empty()) {
    ConnectionPtr last = std::move(idle_.back());
    idle_.pop_back();
    if (elapsedForHolder(last->idleSince, readClock()) < longestIdle && isQuiet(*last)) co_return last;
  }
  co_return co_await newConnection();
}

Task<ConnectionPtr> Upstream::newConnection() {
  const Endpoints found = co_await lookup_.find();
  if (found.empty()) co_return nullptr;
  auto made = std::make_unique<Connection>(executor_);
  made->stream.expires_after(settings_.limits.connect);
  const auto [failed, endpoint] = co_await made->stream.async_connect(found, quietly);
  if (failed) co_return nullptr;
  error_code ignored;
  made->stream.socket().set_option(tcp::no_delay{true}, ignored);
  co_return made;
}

void Upstream::giveBack(ConnectionPtr connection) {
  if (idle_.size() >= mostIdle) return;
  connection->used = true;
  connection->idleSince = readClock();
  connection->stream.expires_never();
  idle_.push_back(std::move(connection));
  if (idle_.size() == 1) dropOldLater();
}

/// Idle connections that nobody uses any more are dropped; they are in the order of their last use.
void Upstream::dropOldLater() {
  drop_.expires_after(longestIdle);
  drop_.async_wait([this](error_code cancelled) {
    if (cancelled) return;
    const auto isOld = [now = readClock()](const ConnectionPtr& one) {
      return elapsedForHolder(one->idleSince, now) >= longestIdle;
    };
    idle_.erase(idle_.begin(), std::find_if_not(idle_.begin(), idle_.end(), isOld));
    if (!idle_.empty()) dropOldLater();
  });
}

void Upstream::close() {
  drop_.cancel();
  idle_.clear();
}

}  // namespace tenure::gateway
