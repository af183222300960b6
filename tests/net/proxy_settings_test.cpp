#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "lockcore/net/proxy.hpp"

namespace tenure::net {
namespace {

using Variables = std::map<std::string, std::string>;

ProxySettings fromMap(ProxyRules rules, const Variables& set) {
  return ProxySettings::from(rules, [&](const char* name) -> const char* {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

/// The proxy's URL; empty: none.
std::string routeOf(ProxyRules rules, const Variables& set, const std::string& url) {
  const Route route = chooseRoute(parseUrl(url).value().origin, fromMap(rules, set));
  if (!route.fault.empty()) return "refused";
  return route.proxy ? toString(*route.proxy) : "";
}

/// With the standard port, which the judges leave out.
std::string complete(const std::string& proxy) { return proxy == "http://p" ? "http://p:80" : proxy; }

std::string textIn(const boost::json::object& row, std::string_view key) {
  return std::string{row.at(key).as_string()};
}

/// proxy_cases.json has what Go's httpproxy and botocore say (tests/kubernetes/peers/kubeconfig, tests/interop).
TEST(ProxySettings, areThoseOfGoAndOfBotocore) {
  std::ifstream file{TENURE_SOURCE_DIR "/tests/net/proxy_cases.json"};
  std::ostringstream text;
  text << file.rdbuf();
  const boost::json::array cases = boost::json::parse(text.str()).as_array();
  ASSERT_GE(cases.size(), 102U);
  for (const auto& value : cases) {
    const auto& row = value.as_object();
    Variables set;
    for (const auto& [name, given] : row.at("environment").as_object()) set[std::string{name}] = given.as_string();
    const std::string url = textIn(row, "url");
    // A URL's host is kept in lower case here.
    const bool known = url == "http://LOCALHOST:8000";
    EXPECT_EQ(routeOf(ProxyRules::go, set, url), known ? "" : complete(textIn(row, "go"))) << textIn(row, "name");
    EXPECT_EQ(routeOf(ProxyRules::botocore, set, url), complete(textIn(row, "botocore"))) << textIn(row, "name");
  }
}

/// gRPC of Go asks for a tunnel by HTTPS_PROXY, and does not look at the scheme.
TEST(ProxySettings, ofEtcdAreThoseOfHttpsForEachMember) {
  const Variables set{{"HTTPS_PROXY", "http://secure:1"}, {"HTTP_PROXY", "http://plain:2"}, {"NO_PROXY", "b.test"}};
  for (const char* url : {"http://a.test:2379", "https://a.test:2379"}) {
    EXPECT_EQ(routeOf(ProxyRules::grpc, set, url), "http://secure:1");
    EXPECT_TRUE(chooseRoute(parseUrl(url)->origin, fromMap(ProxyRules::grpc, set)).tunnels) << url;
  }
  EXPECT_EQ(routeOf(ProxyRules::grpc, set, "http://b.test:2379"), "");
  EXPECT_EQ(routeOf(ProxyRules::grpc, set, "http://127.0.0.1:2379"), "");
  EXPECT_EQ(routeOf(ProxyRules::grpc, {{"HTTP_PROXY", "http://plain:2"}}, "http://a.test:2379"), "");
  // It takes host and port of the proxy's URL only (delegatingresolver.go), and its resolver's default port.
  EXPECT_EQ(routeOf(ProxyRules::grpc, {{"HTTPS_PROXY", "https://s:1"}}, "https://a.test:2379"), "http://s:1");
  EXPECT_EQ(routeOf(ProxyRules::grpc, {{"HTTPS_PROXY", "http://s"}}, "https://a.test:2379"), "http://s:443");
  EXPECT_EQ(routeOf(ProxyRules::grpc, {{"HTTPS_PROXY", "http://s:1"}, {"REQUEST_METHOD", "GET"}}, "http://a.test"),
            "http://s:1");
}

TEST(ProxySettings, thatAreGivenCountForEachHost) {
  const ProxySettings always = ProxySettings::ofProcess(ProxyRules::go, "https://p", "proxy-url");
  for (const char* url : {"http://127.0.0.1:1", "https://localhost", "https://a.test"}) {
    const Route route = chooseRoute(parseUrl(url)->origin, always);
    ASSERT_TRUE(route.proxy) << url;
    EXPECT_EQ(toString(*route.proxy), "https://p:443");
    EXPECT_EQ(route.proxy->source, "proxy-url");
  }
  const Route wrong = chooseRoute({true, "a", 1}, ProxySettings::ofProcess(ProxyRules::go, "socks5://p", "proxy-url"));
  EXPECT_NE(wrong.fault.find("(proxy-url)"), std::string::npos) << wrong.fault;
}

TEST(Proxy, urlsAreTakenApart) {
  struct Case {
    std::string text;
    std::string host;
    std::uint16_t port;
    std::string authorization;
  };
  for (const Case& c :
       {Case{"http://proxy.test:3128", "proxy.test", 3128, ""}, Case{"proxy.test:3128", "proxy.test", 3128, ""},
        Case{"http://proxy.test/", "proxy.test", 80, ""}, Case{"http://[::1]:8", "::1", 8, ""},
        Case{"http://me:secret@p:1", "p", 1, "Basic bWU6c2VjcmV0"}, Case{"me@p:1", "p", 1, "Basic bWU6"},
        Case{"http://me:p%3A%2f@p:1", "p", 1, "Basic bWU6cDov"},
        Case{"http://me:a/b@c@p:1/", "p", 1, "Basic bWU6YS9iQGM="}, Case{"https://p", "p", 443, ""},
        Case{"https://me:secret@p:1", "p", 1, "Basic bWU6c2VjcmV0"}, Case{"//p:1", "p", 1, ""}}) {
    const auto proxy = parseProxy(c.text);
    ASSERT_TRUE(proxy) << c.text << ": " << proxy.error().message;
    EXPECT_EQ(proxy->host, c.host) << c.text;
    EXPECT_EQ(proxy->port, c.port) << c.text;
    EXPECT_EQ(proxy->authorization, c.authorization) << c.text;
    EXPECT_EQ(toString(*proxy).find("secret"), std::string::npos);
    EXPECT_EQ(proxy->tls, c.text.starts_with("https://"));
  }
}

TEST(Proxy, whatIsWrongIsRefusedWithoutTheSecret) {
  for (const char* text :
       {"https://me:geheim@p:x", "socks5://p", "http://", "http://me:geheim@p:x", "http://me:geheim%@p",
        "http://me:geheim%zz@p", "http://p q", "me:geheim@p://", "geheim and more://p"}) {
    const auto proxy = parseProxy(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_EQ(proxy.error().message.find("geheim"), std::string::npos) << proxy.error().message;
  }
}

TEST(Proxy, eachSchemeHasItsOwn) {
  const ProxySettings settings{"http://secure:1", "http://plain:2", "direct.test"};
  EXPECT_EQ(chooseRoute({true, "a.test", 443}, settings).host(), "secure");
  EXPECT_EQ(chooseRoute({false, "a.test", 80}, settings).host(), "plain");
  EXPECT_EQ(chooseRoute({true, "direct.test", 443}, settings).host(), "direct.test");
  EXPECT_EQ(chooseRoute({true, "direct.test", 443}, settings).port(), 443);
  EXPECT_EQ(chooseRoute({true, "a.test", 443}, {}).host(), "a.test");
}

}  // namespace
}  // namespace tenure::net
