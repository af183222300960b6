// The text that says where to listen. It is here and not with the listener, because files of a group are judged where
// no listener is built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

namespace tenure {

struct ListenAddress {
  std::string host{};  ///< numeric; empty: a Unix socket
  std::uint16_t port{0};
  std::string path{};  ///< of the Unix socket

  [[nodiscard]] bool isUnix() const noexcept { return !path.empty(); }
};

struct AddressFault {
  std::string message;
};
[[noreturn]] TENURE_API void throw_exception_from_error(const AddressFault& fault, const boost::source_location& where);

[[nodiscard]] TENURE_API boost::system::result<ListenAddress, AddressFault> parseListen(const std::string& text);

/// `127.0.0.1:9200`, `[::1]:9200`, `unix:/run/x.sock`.
[[nodiscard]] TENURE_API std::string toString(const ListenAddress& address);

/// A name or address without a port, as the header Host has it. Empty: it is one.
[[nodiscard]] TENURE_API std::string faultOfHost(const std::string& host);

/// The name in a header Host, in small letters, without port, brackets and the dot at its end. Empty: it is malformed.
[[nodiscard]] TENURE_API std::string nameInHost(std::string_view host);

/// Whether only this machine reaches it.
[[nodiscard]] TENURE_API bool isLocal(const ListenAddress& address);

}  // namespace tenure
