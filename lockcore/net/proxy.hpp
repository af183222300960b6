// Internal: the route of a request: straight to its origin, or through a proxy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "http_client.hpp"
#include "ip_address.hpp"

namespace tenure::net {

struct Proxy {
  std::string host{};
  std::uint16_t port{80};
  std::string authorization{};  ///< the value of Proxy-Authorization; a secret
  bool tls{false};              ///< the proxy itself is spoken to over TLS
  std::string source{};         ///< what names it, for messages: "HTTPS_PROXY"
};

/// `http://host:port`, without user name and password.
[[nodiscard]] std::string toString(const Proxy& proxy);

/// `[http://|https://][user:password@]host[:port][/]`. A proxy that speaks SOCKS is refused.
[[nodiscard]] TENURE_API boost::system::result<Proxy, UrlFault> parseProxy(std::string_view text,
                                                                           ProxyRules rules = ProxyRules::go);

/// The hosts that Go's programs reach without a proxy (golang.org/x/net/http/httpproxy). `example.com` matches itself
/// and what is below it; `.example.com` and `*.example.com` match only what is below. Addresses and blocks match hosts
/// that are written as an address; no name is looked up for this. `localhost` and addresses of loopback are always
/// covered.
class NoProxy {
 public:
  explicit NoProxy(std::string_view rules);

  [[nodiscard]] bool covers(const std::string& host, std::uint16_t port) const;

 private:
  struct Rule {
    bool everything{false};
    bool onlyBelow{false};
    std::string name{};
    std::optional<IpAddress> block{};
    unsigned prefix{0};
    std::optional<std::uint16_t> port{};
  };
  [[nodiscard]] static Rule parse(std::string_view text);
  [[nodiscard]] static bool matches(const Rule& rule, const std::string& host,
                                    const std::optional<IpAddress>& address) noexcept;

  std::vector<Rule> rules_{};
};

/// The same for botocore, which asks Python's urllib.request: names and addresses are ends of texts.
[[nodiscard]] bool isBypassedByBotocore(std::string_view rules, const Origin& origin);

/// Where connections for an origin go.
struct Route {
  Origin origin;
  std::optional<Proxy> proxy{};
  bool tunnels{false};  ///< the proxy is asked for a tunnel by CONNECT, and not for each request
  std::string fault{};  ///< not empty: the proxy cannot be used, and why; no request may bypass it

  [[nodiscard]] const std::string& host() const noexcept { return proxy ? proxy->host : origin.host; }
  [[nodiscard]] std::uint16_t port() const noexcept { return proxy ? proxy->port : origin.port; }
};

[[nodiscard]] Route chooseRoute(const Origin& origin, const ProxySettings& settings);

}  // namespace tenure::net
