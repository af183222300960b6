#include "listen_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <sys/un.h>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

constexpr std::string_view unixPrefix = "unix:";
constexpr const char* allowed =
    "allowed is ADDRESS:PORT such as 127.0.0.1:9200 or [::1]:9200, or unix:/PATH of a socket";

std::optional<std::uint16_t> portOf(std::string_view digits) { return numberFrom<std::uint16_t>(digits); }

bool isNumeric(const std::string& host, int family) {
  unsigned char bytes[16];
  return inet_pton(family, host.c_str(), bytes) == 1;
}

boost::system::result<ListenAddress, AddressFault> unixAddress(std::string path) {
  constexpr std::size_t most = sizeof sockaddr_un::sun_path - 1;
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return AddressFault{inQuotes("unix:" + path) + " needs an absolute path, such as unix:/run/billing.sock"};
  }
  if (path.size() > most) {
    return AddressFault{"the path of a Unix socket has at most " + std::to_string(most) + " bytes; " + inQuotes(path) +
                        " has " + std::to_string(path.size())};
  }
  ListenAddress address;
  address.path = std::move(path);
  return address;
}

}  // namespace

void throw_exception_from_error(const AddressFault& fault, const boost::source_location& /*where*/) {
  throw std::invalid_argument{fault.message};
}

boost::system::result<ListenAddress, AddressFault> parseListen(const std::string& text) {
  if (text.starts_with(unixPrefix)) return unixAddress(text.substr(unixPrefix.size()));
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : portOf(std::string_view{text}.substr(colon + 1));
  if (!port) return AddressFault{inQuotes(text) + " is not an address to listen on; " + allowed};
  ListenAddress address{text.substr(0, colon), *port};
  const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  if (isNumeric(address.host, bracketed ? AF_INET6 : AF_INET)) return address;
  if (address.host == "localhost") {
    return AddressFault{"a name may stand for several addresses; write 127.0.0.1:" + std::to_string(*port) +
                        " or [::1]:" + std::to_string(*port)};
  }
  return AddressFault{inQuotes(text) + " has no numeric address; " + allowed};
}

std::string toString(const ListenAddress& address) {
  if (address.isUnix()) return std::string{unixPrefix} + address.path;
  const bool six = address.host.find(':') != std::string::npos;
  return (six ? '[' + address.host + ']' : address.host) + ':' + std::to_string(address.port);
}

std::string nameInHost(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const std::size_t end = bracketed ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return {};
  const std::string_view port = host.substr(end + (bracketed ? 1 : 0));
  if (!port.empty() && port != ":" && (port.front() != ':' || !portOf(port.substr(1)))) return {};
  std::string name{host.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0))};
  if (!bracketed && name.ends_with('.')) name.pop_back();
  return lowered(name);
}

std::string faultOfHost(const std::string& host) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-._";
  const std::string name = nameInHost(host);
  const bool six = isNumeric(name, AF_INET6) && host.starts_with('[');
  const bool plain = !name.empty() && name.find_first_not_of(letters) == std::string::npos;
  if ((six || plain) && host.find(six ? "]:" : ":") == std::string::npos) return {};
  return inQuotes(host) + " is not a host name or address; give it without a port, such as leader.example.org";
}

bool isLocal(const ListenAddress& address) {
  return address.isUnix() || address.host.starts_with("127.") || address.host == "::1";
}

}  // namespace tenure
