// Internal: bytes over TCP, as the connections see it. The implementation over Asio is in tcp_transport.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ip_address.hpp"

namespace tenure::net {

/// Told on the client's thread, never inside a call of Wire or Dialer. May close the wire and drop its owner.
class WireListener {
 public:
  virtual void onOpen() = 0;
  virtual void onBytes(std::string_view bytes) = 0;
  /// The last call. `why` is empty if the peer ended the stream in order; before onOpen() it says what failed.
  virtual void onEnd(const std::string& why) = 0;

 protected:
  ~WireListener() = default;
};

/// One TCP connection. Reads all the time, also while nothing is expected, so that its end is noticed.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Sends what the system takes at once and the rest later, in order. What goes wrong is told by onEnd().
  virtual void write(std::string_view bytes) = 0;

  /// How many bytes the system has taken so far.
  [[nodiscard]] virtual std::uint64_t taken() const noexcept = 0;
  /// Whether bytes wait for being sent.
  [[nodiscard]] virtual bool sending() const noexcept = 0;

  enum class Glance { nothing, bytes, end };
  /// Looks, without waiting, for what has arrived but was not told yet; appends it.
  [[nodiscard]] virtual Glance glance(std::string& bytes) = 0;

  /// No call of the listener follows.
  virtual void close() noexcept = 0;
};

class Dialer {
 public:
  virtual ~Dialer() = default;
  [[nodiscard]] virtual std::shared_ptr<Wire> dial(const IpAddress& address, std::uint16_t port,
                                                   WireListener& listener) = 0;
};

}  // namespace tenure::net
