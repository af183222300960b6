#include "ip_address.hpp"

#include <arpa/inet.h>
#include <cstddef>

namespace tenure::net {

std::optional<IpAddress> parseIpAddress(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  address = {.v6 = true};
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::string toString(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);  // the buffer is large enough
  return address.scope == 0 ? text : text + ("%" + std::to_string(address.scope));
}

std::string withPort(const IpAddress& address, std::uint16_t port) {
  const std::string text = toString(address);
  return (address.v6 ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

bool inBlock(const IpAddress& address, const IpAddress& block, unsigned prefix) noexcept {
  if (address.v6 != block.v6) return false;
  for (std::size_t i = 0; i < prefix / 8; ++i) {
    if (address.bytes[i] != block.bytes[i]) return false;
  }
  const unsigned rest = prefix % 8;
  if (rest == 0) return true;
  const auto differ = static_cast<unsigned>(address.bytes[prefix / 8] ^ block.bytes[prefix / 8]);
  return (differ >> (8U - rest)) == 0;
}

}  // namespace tenure::net
