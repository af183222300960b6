#include <stdexcept>
#include <utility>

#include "authority.hpp"
#include "http_client.hpp"
#include "ip_address.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

constexpr std::uint16_t tlsPort = 443;
constexpr std::uint16_t plainPort = 80;

bool isName(std::string_view written) noexcept {
  const std::string_view host = withoutLastDot(written);
  if (host.empty() || host.ends_with('.') || host.size() > 253) return false;
  return host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") == std::string_view::npos;
}

bool isPrintable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// A URL with an '@' may hold a password, which must not be in a message; nor may characters that would break the line.
UrlFault fault(std::string_view url, const std::string& what) {
  constexpr std::size_t longestQuoted = 200;
  const bool quoted = url.find('@') == std::string_view::npos && url.size() <= longestQuoted && isPrintable(url);
  return {quoted ? "\"" + std::string{url} + "\" " + what : "the URL " + what};
}

}  // namespace

std::string hostText(std::string_view host, std::uint16_t port, std::uint16_t standardPort) {
  std::string text{host};
  if (host.find(':') != std::string_view::npos) text = '[' + text + ']';
  if (port != standardPort) text += ":" + std::to_string(port);
  return text;
}

std::string toString(const Origin& origin) {
  return (origin.tls ? "https://" : "http://") + hostText(origin.host, origin.port, 0);
}

boost::system::result<Authority, UrlFault> parseAuthority(std::string_view text) {
  Authority authority;
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    authority.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return UrlFault{"has a '[' without its ']'"};
    authority.host = lowered(text.substr(1, end - 1));
    const auto address = parseIpAddress(authority.host);
    if (!address || !address->v6) return UrlFault{"has something in brackets that is not an IPv6 address"};
    port = text.substr(end + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    authority.host = lowered(text.substr(0, colon));
    if (!isName(authority.host)) return UrlFault{"has no valid host name"};
    port = text.substr(colon);
  }
  if (port.empty()) return authority;
  authority.port = parsePort(port.substr(1));
  if (port.front() != ':' || !authority.port) return UrlFault{"has no valid port; it must be 1 to 65535"};
  return authority;
}

boost::system::result<Url, UrlFault> parseUrl(std::string_view text) {
  const auto schemeEnd = text.find("://");
  const std::string scheme = lowered(text.substr(0, std::min(schemeEnd, text.size())));
  if (schemeEnd == std::string_view::npos || (scheme != "https" && scheme != "http")) {
    return fault(text, "does not begin with https:// or http://");
  }
  const std::string_view rest = text.substr(schemeEnd + 3);
  if (!isPrintable(rest)) return fault("@", "holds a space or a character that a URL must write as %xx");
  if (rest.find('#') != std::string_view::npos) return fault(text, "has a fragment (\"#...\")");
  const auto authorityEnd = std::min(rest.find_first_of("/?"), rest.size());
  const auto authority = parseAuthority(rest.substr(0, authorityEnd));
  if (!authority) return fault(text, authority.error().message);
  if (authority->user) return fault(text, "holds a user name; leave it out");
  const bool tls = scheme == "https";
  std::string target{rest.substr(authorityEnd)};
  if (target.empty() || target.front() == '?') target.insert(target.begin(), '/');
  return Url{{tls, authority->host, authority->port.value_or(tls ? tlsPort : plainPort)}, std::move(target)};
}

std::string_view HttpResponse::header(std::string_view name) const noexcept {
  for (const HttpHeader& header : headers) {
    if (sameText(header.name, name)) return header.value;
  }
  return {};
}

void throw_exception_from_error(const UrlFault& fault, const boost::source_location& /*where*/) {
  throw std::invalid_argument(fault.message);
}

void throw_exception_from_error(const HttpError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(error.message);
}

}  // namespace tenure::net
