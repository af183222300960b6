#include "proxy.hpp"

#include <cstdlib>
#include <utility>

#include "authority.hpp"
#include "lockcore/port/json_text.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

/// A scheme by RFC 3986, 3.1, and short: other text may be a part of a password.
bool isScheme(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 10 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string_view::npos;
}

/// Calls `use` with each part between commas, without blanks around it.
template <class Use>
void forEachPart(std::string_view text, const Use& use) {
  for (const std::string_view each : split(text, ',')) {
    if (const auto part = trimmed(each); !part.empty()) use(part);
  }
}

/// An IPv4 address in the form of IPv6 is that IPv4 address.
std::optional<IpAddress> addressIn(const std::string& text) {
  auto address = parseIpAddress(text);
  static const IpAddress mapped = parseIpAddress("::ffff:0.0.0.0").value();
  if (!address || !inBlock(*address, mapped, 96)) return address;
  IpAddress v4;
  std::copy_n(address->bytes.begin() + 12, 4, v4.bytes.begin());
  return v4;
}

bool isLoopback(const IpAddress& address) {
  static const IpAddress v4 = parseIpAddress("127.0.0.0").value(), v6 = parseIpAddress("::1").value();
  return inBlock(address, v4, 8) || inBlock(address, v6, 128);
}

bool endsWithDotted(const std::string& host, const std::string& name) noexcept {
  return host.size() > name.size() && host.ends_with(name) && host[host.size() - name.size() - 1] == '.';
}

}  // namespace

std::string toString(const Proxy& proxy) {
  return (proxy.tls ? "https://" : "http://") + hostText(proxy.host, proxy.port, 0);
}

boost::system::result<Proxy, UrlFault> parseProxy(std::string_view text, ProxyRules rules) {
  bool tls = false;
  if (const auto end = text.find("://"); end != std::string_view::npos) {
    const std::string scheme = lowered(text.substr(0, end));
    tls = scheme == "https";
    if (!tls && scheme != "http") {
      return UrlFault{"the proxy's URL begins with " + (isScheme(scheme) ? scheme + "://" : "another scheme") +
                      "; only http:// and https:// proxies are supported"};
    }
    text.remove_prefix(end + 3);
  } else if (text.starts_with("//")) {
    text.remove_prefix(2);
  }
  // People write a '/' in a password without escaping it. The host comes after the last '@'.
  const auto at = text.rfind('@');
  const auto hostAt = at == std::string_view::npos ? 0 : at + 1;
  text = text.substr(0, std::min(text.find_first_of("/?#", hostAt), text.size()));
  const auto authority = parseAuthority(text);
  if (!authority) return UrlFault{"the proxy's URL " + authority.error().message};
  // gRPC of Go takes host and port only: it speaks without TLS to each proxy, and its resolver's default port is 443.
  const bool grpc = rules == ProxyRules::grpc;
  const std::uint16_t port = tls || grpc ? 443 : 80;
  Proxy proxy{authority->host, authority->port.value_or(port), {}, tls && !grpc, {}};
  if (!authority->user) return proxy;
  const auto colon = std::min(authority->user->find(':'), authority->user->size());
  const auto user = percentDecoded(authority->user->substr(0, colon));
  const auto password = percentDecoded(authority->user->substr(std::min(colon + 1, authority->user->size())));
  if (!user || !password)
    return UrlFault{"the user name or password in the proxy's URL has a '%' that does not begin an escape %xx"};
  proxy.authorization = "Basic " + base64(*user + ":" + *password);
  return proxy;
}

ProxySettings ProxySettings::from(ProxyRules rules, const std::function<const char*(const char*)>& lookup) {
  const bool cgi = lookup("REQUEST_METHOD") != nullptr;
  const bool python = rules == ProxyRules::botocore;
  const auto valueOf = [&](const char* capitals, const char* small) -> std::string {
    const char* first = lookup(python ? small : capitals);
    // For Python a variable in lower case that is empty takes the other one away.
    if (first != nullptr && (python || *first != '\0')) return first;
    const char* second = lookup(python ? capitals : small);
    return second != nullptr ? second : "";
  };
  ProxySettings settings{valueOf("HTTPS_PROXY", "https_proxy"), valueOf("HTTP_PROXY", "http_proxy"),
                         valueOf("NO_PROXY", "no_proxy"), rules};
  if (python && cgi && lookup("http_proxy") == nullptr) settings.http.clear();
  settings.cgi = cgi && rules == ProxyRules::go;
  return settings;
}

ProxySettings ProxySettings::ofProcess(ProxyRules rules, const std::string& always, const std::string& source) {
  if (!always.empty()) return {.https = always, .http = always, .none = {}, .rules = rules, .source = source};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, when a client is made
  return from(rules, [](const char* name) -> const char* { return std::getenv(name); });
}

bool isBypassedByBotocore(std::string_view rules, const Origin& origin) {
  if (rules == "*") return true;
  const std::string host = hostText(lowered(origin.host), 0, 0);
  const std::string withPort = hostText(lowered(origin.host), origin.port, origin.tls ? 443 : 80);
  bool found = false;
  forEachPart(rules, [&](std::string_view part) {
    const std::string name = lowered(part.substr(std::min(part.find_first_not_of('.'), part.size())));
    for (const std::string& one : {host, withPort}) found = found || one == name || one.ends_with('.' + name);
  });
  return found;
}

NoProxy::NoProxy(std::string_view rules) {
  forEachPart(rules, [&](std::string_view part) { rules_.push_back(parse(part)); });
}

NoProxy::Rule NoProxy::parse(std::string_view text) {
  if (text == "*") return {.everything = true};
  Rule rule;
  bool withPort = false;
  std::string name = lowered(text);
  // One colon, or one after a bracket, separates a port; more of them are an IPv6 address.
  const auto colon = name.rfind(':');
  if (colon != std::string::npos && (name.find(':') == colon || (colon > 0 && name[colon - 1] == ']'))) {
    const auto port = std::string_view{name}.substr(colon + 1);
    rule.port = parsePort(port);
    withPort = rule.port || port.empty();  // an empty one stands for any
    if (withPort) name.erase(colon);
    if (withPort && name.size() > 2 && name.front() == '[') name = name.substr(1, name.size() - 2);
  }
  const auto slash = std::min(name.find('/'), name.size());
  if (const auto address = addressIn(name.substr(0, slash))) {
    const unsigned bits = address->v6 ? 128 : 32;
    const auto prefix = slash == name.size() ? std::optional{bits} : parseNumber(name.substr(slash + 1), bits);
    if (prefix && (slash == name.size() || !withPort)) {  // a block has no port
      rule.block = address;
      rule.prefix = *prefix;
    }
  }
  if (name.starts_with("*.")) name.erase(0, 1);
  rule.onlyBelow = name.starts_with('.');
  rule.name = rule.onlyBelow ? name.substr(1) : name;
  return rule;
}

bool NoProxy::matches(const Rule& rule, const std::string& host, const std::optional<IpAddress>& address) noexcept {
  if (rule.everything) return true;
  if (rule.block) return address && inBlock(*address, *rule.block, rule.prefix);
  if (address || rule.name.empty()) return false;
  return (!rule.onlyBelow && host == rule.name) || endsWithDotted(host, rule.name);
}

bool NoProxy::covers(const std::string& host, std::uint16_t port) const {
  if (host == "localhost") return true;
  const std::string name = lowered(host);
  const auto address = addressIn(name);
  if (address && isLoopback(*address)) return true;
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return (!rule.port || *rule.port == port) && matches(rule, name, address);
  });
}

namespace {

bool isBypassed(const Origin& origin, const ProxySettings& settings) {
  if (!settings.source.empty()) return false;
  return settings.rules == ProxyRules::botocore ? isBypassedByBotocore(settings.none, origin)
                                                : NoProxy{settings.none}.covers(origin.host, origin.port);
}

}  // namespace

Route chooseRoute(const Origin& origin, const ProxySettings& settings) {
  Route route{origin};
  const bool secure = origin.tls || settings.rules == ProxyRules::grpc;
  const std::string& url = secure ? settings.https : settings.http;
  if (url.empty()) return route;
  const std::string source = !settings.source.empty() ? settings.source : secure ? "HTTPS_PROXY" : "HTTP_PROXY";
  if (!secure && settings.cgi) {
    route.fault = "HTTP_PROXY is not used where REQUEST_METHOD is set, because a web server may have set both";
    return route;
  }
  if (isBypassed(origin, settings)) return route;
  auto proxy = parseProxy(url, settings.rules);
  if (!proxy) {
    route.fault = proxy.error().message + " (" + source + ")";
    return route;
  }
  proxy->source = source;
  route.proxy = std::move(*proxy);
  route.tunnels = secure;
  return route;
}

}  // namespace tenure::net
