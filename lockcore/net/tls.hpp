// Internal: TLS as a filter between two byte streams. Only tls.cpp knows OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "transport.hpp"

namespace tenure::net {

/// One TLS connection. What is to be sent is appended to `out` by every call.
class TlsSession {
 public:
  enum class State {
    more,    ///< goes on when more bytes have come
    ready,   ///< the handshake is done (handshake() only)
    ended,   ///< the peer ended the stream in order
    failed,  ///< why() says it
  };

  virtual ~TlsSession() = default;
  [[nodiscard]] virtual State handshake(std::string_view received, std::string& out) = 0;
  [[nodiscard]] virtual State read(std::string_view received, std::string& plain, std::string& out) = 0;
  /// False if the session is broken.
  [[nodiscard]] virtual bool write(std::string_view plain, std::string& out) = 0;
  [[nodiscard]] virtual const std::string& why() const = 0;
};

/// Trust store and session tickets. Belongs to one thread once it is made.
class TlsContext {
 public:
  /// Throws std::runtime_error if there is nothing to trust in `caFile` or OpenSSL refuses to work. Empty: the system's
  /// trust store.
  [[nodiscard]] static std::unique_ptr<TlsContext> make(const std::string& caFile);
  virtual ~TlsContext() = default;

  /// For a connection to this host, whose name (or address) the certificate must bear.
  [[nodiscard]] virtual std::unique_ptr<TlsSession> session(const std::string& host, std::uint16_t port) = 0;
};

}  // namespace tenure::net
