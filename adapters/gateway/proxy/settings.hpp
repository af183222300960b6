// The settings that `tenure fence proxy` is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::gateway {

struct Address {
  std::string host{};  ///< a name or an address, without brackets
  std::uint16_t port{0};
};

/// Of HOST:PORT or [V6]:PORT.
[[nodiscard]] std::optional<Address> addressOf(std::string_view text);
/// Of http://HOST:PORT.
[[nodiscard]] std::optional<Address> upstreamOf(std::string_view text);
/// `host:port`, `[::1]:port`, without the dot at the end by which a name is looked up as it is.
[[nodiscard]] std::string textOf(const Address& address);

/// The keys in a file. It is refused if users besides its owner and group may read it. An error says what is wrong,
/// with file and line, and without any secret.
[[nodiscard]] StoreResult<std::vector<FenceKey>> readKeys(const std::string& file);

struct Limits {
  std::size_t connections{1'000};          ///< of clients; further ones are answered with 503
  std::size_t headerBytes{16U << 10U};     ///< of a request
  std::size_t signedBodyBytes{1U << 20U};  ///< with keys: bodies are read completely before they are forwarded
  /// From the first byte of a request to the end of its header; and between two pieces of a body.
  std::chrono::milliseconds client{10'000};
  std::chrono::milliseconds idle{60'000};     ///< of a client's connection between requests
  std::chrono::milliseconds connect{5'000};   ///< to the service
  std::chrono::milliseconds service{30'000};  ///< without a byte from the service
  std::chrono::milliseconds drain{30'000};    ///< for requests under way when a later term waits, or at the stop
};

struct Settings {
  Address listen{};
  Address upstream{};
  Limits limits{};
  bool readsBodies{false};  ///< signed requests: the body is checked, so it is first read completely
};

}  // namespace tenure::gateway
