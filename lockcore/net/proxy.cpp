#include "proxy.hpp"

#include <utility>

#include "authority.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

constexpr std::string_view base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::string_view in) {
  std::string out;
  for (std::size_t i = 0; i < in.size(); i += 3) {
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8U | (i + k < in.size() ? static_cast<unsigned char>(in[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > in.size() ? '=' : base64Digits[three >> (18U - 6U * k) & 63U];
    }
  }
  return out;
}

/// A scheme by RFC 3986, 3.1, and short: other text may be a part of a password.
bool isScheme(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 10 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string_view::npos;
}

std::optional<std::string> percentDecoded(std::string_view in) {
  std::string out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '%') {
      out += in[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = in.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    if (const auto part = trimmed(text.substr(0, comma)); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

bool endsWithDotted(const std::string& host, const std::string& name) noexcept {
  return host.size() > name.size() && host.ends_with(name) && host[host.size() - name.size() - 1] == '.';
}

}  // namespace

std::string toString(const Proxy& proxy) { return "http://" + hostText(proxy.host, proxy.port, 0); }

boost::system::result<Proxy, UrlFault> parseProxy(std::string_view text) {
  if (const auto end = text.find("://"); end != std::string_view::npos) {
    const std::string scheme = lowered(text.substr(0, end));
    if (scheme != "http") {
      return UrlFault{"the proxy's URL begins with " + (isScheme(scheme) ? scheme + "://" : "something else") +
                      "; only http:// proxies are supported"};
    }
    text.remove_prefix(end + 3);
  }
  // People write a '/' in a password without escaping it. The host comes after the last '@'.
  const auto at = text.rfind('@');
  const auto hostAt = at == std::string_view::npos ? 0 : at + 1;
  text = text.substr(0, std::min(text.find_first_of("/?#", hostAt), text.size()));
  const auto authority = parseAuthority(text);
  if (!authority) return UrlFault{"the proxy's URL " + authority.error().message};
  Proxy proxy{authority->host, authority->port.value_or(std::uint16_t{80}), {}};
  if (!authority->user) return proxy;
  const auto colon = std::min(authority->user->find(':'), authority->user->size());
  const auto user = percentDecoded(authority->user->substr(0, colon));
  const auto password = percentDecoded(authority->user->substr(std::min(colon + 1, authority->user->size())));
  if (!user || !password)
    return UrlFault{"the user name or password in the proxy's URL has a '%' that does not begin an escape %xx"};
  proxy.authorization = "Basic " + base64(*user + ":" + *password);
  return proxy;
}

ProxySettings ProxySettings::from(const std::function<std::string(const char*)>& lookup) {
  const auto first = [&](const char* one, const char* other) {
    std::string value = lookup(one);
    return value.empty() ? lookup(other) : value;
  };
  return {first("https_proxy", "HTTPS_PROXY"), lookup("http_proxy"), split(first("no_proxy", "NO_PROXY"))};
}

NoProxy::NoProxy(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    if (const auto text = trimmed(rule); !text.empty()) rules_.push_back(parse(text));
  }
}

NoProxy::Rule NoProxy::parse(std::string_view text) {
  if (text == "*") return {.everything = true};
  Rule rule;
  std::string name = lowered(text);
  // One colon, or one after a bracket, separates a port; more of them are an IPv6 address.
  const auto colon = name.rfind(':');
  if (colon != std::string::npos && (name.find(':') == colon || (colon > 0 && name[colon - 1] == ']'))) {
    rule.port = parsePort(std::string_view{name}.substr(colon + 1));
    if (rule.port) name.erase(colon);
  }
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  const auto slash = std::min(name.find('/'), name.size());
  if (const auto address = parseIpAddress(name.substr(0, slash))) {
    const unsigned bits = address->v6 ? 128 : 32;
    const auto prefix = slash == name.size() ? std::optional{bits} : parseNumber(name.substr(slash + 1), bits);
    if (prefix) {
      rule.block = address;
      rule.prefix = *prefix;
    }
  }
  if (name.starts_with("*.")) name.erase(0, 1);
  rule.onlyBelow = name.starts_with('.');
  rule.name = rule.onlyBelow ? name.substr(1) : name;
  if (rule.name.ends_with('.')) rule.name.pop_back();
  return rule;
}

bool NoProxy::matches(const Rule& rule, const std::string& host, const std::optional<IpAddress>& address) noexcept {
  if (rule.everything) return true;
  if (rule.block) return address && inBlock(*address, *rule.block, rule.prefix);
  if (address || rule.name.empty()) return false;
  return (!rule.onlyBelow && host == rule.name) || endsWithDotted(host, rule.name);
}

bool NoProxy::covers(const std::string& host, std::uint16_t port) const {
  std::string name = lowered(host);
  if (name.ends_with('.')) name.pop_back();
  const auto address = parseIpAddress(name);
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return (!rule.port || *rule.port == port) && matches(rule, name, address);
  });
}

Route chooseRoute(const Origin& origin, const ProxySettings& settings) {
  Route route{origin};
  const std::string& url = origin.tls ? settings.https : settings.http;
  if (url.empty() || NoProxy{settings.none}.covers(origin.host, origin.port)) return route;
  auto proxy = parseProxy(url);
  if (proxy) {
    route.proxy = std::move(*proxy);
  } else {
    route.fault = proxy.error().message + (origin.tls ? " (HTTPS_PROXY)" : " (http_proxy)");
  }
  return route;
}

}  // namespace tenure::net
