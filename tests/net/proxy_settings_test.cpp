#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/net/proxy.hpp"

namespace tenure::net {
namespace {

ProxySettings fromMap(const std::map<std::string, std::string>& set) {
  return ProxySettings::from([&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? std::string{} : found->second;
  });
}

TEST(ProxySettings, areReadAsCurlReadsThem) {
  EXPECT_TRUE(fromMap({}).https.empty());
  EXPECT_EQ(fromMap({{"HTTPS_PROXY", "http://a"}}).https, "http://a");
  EXPECT_EQ(fromMap({{"https_proxy", "http://a"}, {"HTTPS_PROXY", "http://b"}}).https, "http://a");
  EXPECT_EQ(fromMap({{"http_proxy", "http://a"}}).http, "http://a");
  EXPECT_TRUE(fromMap({{"HTTP_PROXY", "http://a"}}).http.empty());
  EXPECT_EQ(fromMap({{"NO_PROXY", " a, .b ,,10.0.0.0/8"}}).none, (std::vector<std::string>{"a", ".b", "10.0.0.0/8"}));
  EXPECT_EQ(fromMap({{"no_proxy", "*"}}).none, (std::vector<std::string>{"*"}));
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
        Case{"http://me:a/b@c@p:1/", "p", 1, "Basic bWU6YS9iQGM="}}) {
    const auto proxy = parseProxy(c.text);
    ASSERT_TRUE(proxy) << c.text << ": " << proxy.error().message;
    EXPECT_EQ(proxy->host, c.host) << c.text;
    EXPECT_EQ(proxy->port, c.port) << c.text;
    EXPECT_EQ(proxy->authorization, c.authorization) << c.text;
    EXPECT_EQ(toString(*proxy).find("secret"), std::string::npos);
  }
}

TEST(Proxy, whatIsWrongIsRefusedWithoutTheSecret) {
  for (const char* text :
       {"https://me:geheim@p:1", "socks5://p", "http://", "http://me:geheim@p:x", "http://me:geheim%@p",
        "http://me:geheim%zz@p", "http://p q", "me:geheim@p://", "geheim and more://p"}) {
    const auto proxy = parseProxy(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_EQ(proxy.error().message.find("geheim"), std::string::npos) << proxy.error().message;
  }
}

TEST(Proxy, eachSchemeHasItsOwn) {
  const ProxySettings settings{"http://secure:1", "http://plain:2", {"direct.test"}};
  EXPECT_EQ(chooseRoute({true, "a.test", 443}, settings).host(), "secure");
  EXPECT_EQ(chooseRoute({false, "a.test", 80}, settings).host(), "plain");
  EXPECT_EQ(chooseRoute({true, "direct.test", 443}, settings).host(), "direct.test");
  EXPECT_EQ(chooseRoute({true, "direct.test", 443}, settings).port(), 443);
  EXPECT_EQ(chooseRoute({true, "a.test", 443}, {}).host(), "a.test");
}

}  // namespace
}  // namespace tenure::net
