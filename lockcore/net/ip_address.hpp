// Internal: IPv4 and IPv6 addresses as bytes, without a system call and without Asio.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure::net {

struct IpAddress {
  bool v6{false};
  std::array<unsigned char, 16> bytes{};  ///< an IPv4 address fills the first four
  std::uint32_t scope{0};                 ///< the interface of a link-local IPv6 address

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Parses the dotted or colon form, without brackets. Empty if the text is a name or anything else.
[[nodiscard]] TENURE_API std::optional<IpAddress> parseIpAddress(const std::string& text);

/// `10.0.0.1`, `::1`, `fe80::1%2`: getaddrinfo() takes the number for the interface.
[[nodiscard]] TENURE_API std::string toString(const IpAddress& address);

/// `10.0.0.1:443`, `[::1]:443`.
[[nodiscard]] TENURE_API std::string withPort(const IpAddress& address, std::uint16_t port);

/// Whether the first `prefix` bits are equal. Addresses of different families never match.
[[nodiscard]] TENURE_API bool inBlock(const IpAddress& address, const IpAddress& block, unsigned prefix) noexcept;

}  // namespace tenure::net
