// Waits for a socket that belongs to libpq. Only socket_wait.cpp and link.cpp know Asio.
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace tenure::postgresql_store {

class SocketWait {
 public:
  using Ready = std::function<void()>;

  virtual ~SocketWait() = default;

  /// From now on the waits are for this socket. libpq may use another one after each step of connecting.
  virtual void take(int fd) = 0;
  /// Must come before libpq closes the socket. Waits that are under way end without a call.
  virtual void release() noexcept = 0;

  /// Calls `ready` once, on the loop, never inside this call. One wait of each kind at a time.
  virtual void untilReadable(Ready ready) = 0;
  virtual void untilWritable(Ready ready) = 0;
};

/// The loop must outlive it.
[[nodiscard]] std::unique_ptr<SocketWait> makeSocketWait(boost::asio::io_context& loop);

}  // namespace tenure::postgresql_store
