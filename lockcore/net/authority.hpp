// Internal: the `user:password@host:port` of a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http_client.hpp"

namespace tenure::net {

struct Authority {
  std::optional<std::string_view> user{};  ///< everything before the last '@'
  std::string host{};                      ///< in lower case, without brackets
  std::optional<std::uint16_t> port{};
};

/// The fault never quotes the text, because it may hold a password.
[[nodiscard]] boost::system::result<Authority, UrlFault> parseAuthority(std::string_view text);

/// Without the dot at its end, by which a name is looked up as it is. The name in a certificate, in SNI and in the
/// `Host` header has none (RFC 6066, 3; RFC 5280, 4.2.1.6).
[[nodiscard]] inline std::string_view withoutLastDot(std::string_view host) noexcept {
  return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

/// `host`, `host:port`, `[::1]:port`; the port only if it is not `standardPort`.
[[nodiscard]] TENURE_API std::string hostText(std::string_view host, std::uint16_t port, std::uint16_t standardPort);

}  // namespace tenure::net
