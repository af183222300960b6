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

/// `host`, `host:port`, `[::1]:port`; the port only if it is not `standardPort`.
[[nodiscard]] std::string hostText(const std::string& host, std::uint16_t port, std::uint16_t standardPort);

}  // namespace tenure::net
