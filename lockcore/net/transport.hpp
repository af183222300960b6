// Internal: bytes over TCP, as the connections see it. Only tcp_transport.cpp and http_client.cpp know Asio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ip_address.hpp"

namespace boost::asio {
class io_context;
}

namespace tenure::net {

/// Called on the client's thread, never inside a call of Wire or Dialer. It may close the wire and drop its owner.
class WireListener {
 public:
  virtual void onOpen() = 0;
  virtual void onBytes(std::string_view bytes) = 0;
  /// The last call. `why` is empty if the peer ended the stream in an orderly way; before onOpen() it says what failed.
  virtual void onEnd(const std::string& why) = 0;

 protected:
  ~WireListener() = default;
};

/// One TCP connection. It reads all the time, even if nothing is expected, so that its end is noticed.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Sends what the system takes at once, and the rest later, in order. onEnd() reports faults.
  virtual void write(std::string_view bytes) = 0;

  /// How many bytes the system has taken so far.
  [[nodiscard]] virtual std::uint64_t taken() const noexcept = 0;
  /// Whether bytes are waiting to be sent.
  [[nodiscard]] virtual bool sending() const noexcept = 0;

  enum class Peek { nothing, bytes, end };
  /// Reads, without waiting, what has arrived but was not delivered yet, and appends it.
  [[nodiscard]] virtual Peek peek(std::string& bytes) = 0;

  /// After this, no function of the listener is called.
  virtual void close() noexcept = 0;
};

class Dialer {
 public:
  virtual ~Dialer() = default;
  [[nodiscard]] virtual std::shared_ptr<Wire> dial(const IpAddress& address, std::uint16_t port,
                                                   WireListener& listener) = 0;
};

/// Dials by Asio (tcp_transport.cpp). The loop must outlive the dialer and its wires, and run on one thread only.
[[nodiscard]] std::unique_ptr<Dialer> makeTcpDialer(boost::asio::io_context& loop);

}  // namespace tenure::net
