#include "settings.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::gateway {
namespace {

StoreError keysFault(std::string message) { return {ErrorClass::misconfigured, std::move(message)}; }

/// Parses lines of `ID SECRET`, the secret in base64. Empty lines and lines that begin with # are ignored. At least one
/// key.
StoreResult<std::vector<FenceKey>> parseKeys(const std::string& file, std::string_view text) {
  std::vector<FenceKey> keys;
  int number = 0;
  for (std::string_view line : linesOf(text)) {
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    auto key = parseFenceKey(line);
    if (!key) return keysFault(file + ':' + std::to_string(number) + ": a line is ID SECRET, the secret in base64");
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) return keysFault(file + ": there is no key in it");
  if (const auto faults = faultsOf(keys); !faults.empty()) return keysFault(file + ": " + faults.front());
  return keys;
}

}  // namespace

std::optional<Address> addressOf(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const auto port = numberFrom<decltype(Address::port)>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return Address{std::string{host}, *port};
}

std::optional<Address> upstreamOf(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return std::nullopt;
  text.remove_prefix(scheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  auto out = addressOf(text);
  const bool good = out && out->port != 0 && out->host.find_first_of(" @/?#\t") == std::string::npos;
  return good ? out : std::nullopt;
}

std::string textOf(const Address& address) {
  std::string host = address.host;
  if (host.ends_with('.')) host.pop_back();
  if (host.find(':') != std::string::npos) host = '[' + host + ']';
  return host + ':' + std::to_string(address.port);
}

StoreResult<std::vector<FenceKey>> readKeys(const std::string& file) {
  struct stat status {};
  const UniqueFd opened{open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};  // a FIFO would wait for a writer
  if (!opened || fstat(opened.get(), &status) != 0) {
    return keysFault(file + ": " + errnoText(errno));
  }
  if (!S_ISREG(status.st_mode)) return keysFault(file + ": is not a regular file; give the file with the keys");
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return keysFault(file +
                     ": belongs to another user, who may add keys to it; chown it to the proxy's user or to root");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return keysFault(file + ": users other than its owner may add keys to it; chmod go-w it, and check the keys in it");
  }
  if ((status.st_mode & S_IROTH) != 0) {
    return keysFault(file + ": all users may read these keys; chmod o-r it, and make new keys");
  }
  constexpr off_t largest = 1 << 20;
  if (status.st_size > largest) return keysFault(file + ": is larger than 1 MiB, so it is not a file of keys");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = read(opened.get(), text.data(), text.size());
  if (got < 0) return keysFault(file + ": " + errnoText(errno));
  text.resize(static_cast<std::size_t>(got));
  return parseKeys(file, text);
}

}  // namespace tenure::gateway
