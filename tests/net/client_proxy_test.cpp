// Requests through a proxy: tunnels, absolute targets, rejections.
#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;
using net::makeHttpClient;

std::string urlOf(const TestServer& proxy, const std::string& user = "") {
  return "http://" + user + "127.0.0.1:" + std::to_string(proxy.port());
}

net::Lookup noNames() {
  return [](const std::string& host) {
    return net::LookupResult{net::LookupFault{"the name " + host + " was looked up"}};
  };
}

/// A proxy that opens tunnels to itself: after CONNECT it acts as the server.
TEST(HttpProxy, tunnelsTlsAndKeepsTheTunnel) {
  const TestAuthority authority;
  std::string asked;
  TestServer proxy{[&](Peer& peer) {
                     asked = peer.readRequest();
                     peer.write("HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n");
                     if (peer.startTls()) echo(peer);
                   },
                   {.identity = authority.issue({"DNS:lease.test"}), .scriptStartsTls = true}};
  const auto client = makeHttpClient({.caFile = authority.caFile(), .proxy = {.https = urlOf(proxy, "me:p%40ss@")}},
                                     {.lookup = noNames()});
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(*client, tlsAt(8443, "lease.test"), withBody("through"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, "through");
  }
  EXPECT_EQ(proxy.accepted(), 1);
  EXPECT_EQ(asked,
            "CONNECT lease.test:8443 HTTP/1.1\r\nHost: lease.test:8443\r\nUser-Agent: tenure\r\n"
            "Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n");
}

TEST(HttpProxy, sendsPlainRequestsWithAnAbsoluteTarget) {
  std::string asked;
  TestServer proxy{[&](Peer& peer) {
    asked = peer.readRequest();
    peer.reply("via");
    peer.waitForEnd();
  }};
  const auto client = makeHttpClient({.proxy = {.http = urlOf(proxy, "me:secret@")}}, {.lookup = noNames()});
  const auto outcome = call(*client, plainAt(8000, "lease.test"), {"GET", "/x?y", {}, {}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(asked,
            "GET http://lease.test:8000/x?y HTTP/1.1\r\nHost: lease.test:8000\r\nUser-Agent: tenure\r\n"
            "Proxy-Authorization: Basic bWU6c2VjcmV0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(HttpProxy, tellsARejectionWithoutTheSecret) {
  for (const std::string status : {"407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"}) {
    TestServer proxy{[&](Peer& peer) {
      if (peer.readRequest().empty()) return;
      peer.write("HTTP/1.1 " + status + "\r\nContent-Length: 4\r\n\r\noops");
      peer.waitForEnd();
    }};
    const auto client = HttpClient::make({.proxy = {.https = urlOf(proxy, "me:geheim@")}});
    const auto outcome = call(*client, tlsAt(443, "lease.test"));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::connect);
    EXPECT_FALSE(outcome.error().maybeSent);
    EXPECT_NE(outcome.error().message.find(status.substr(0, 3)), std::string::npos) << outcome.error().message;
    EXPECT_EQ(outcome.error().message.find("geheim"), std::string::npos);
  }
}

TEST(HttpProxy, tellsAProxyThatIsNone) {
  const auto port = closedPort();
  const auto nobody = HttpClient::make({.proxy = {.https = "http://127.0.0.1:" + std::to_string(port)}});
  const auto refused = call(*nobody, tlsAt(443, "lease.test"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, HttpError::Kind::connect);
  EXPECT_NE(refused.error().message.find("the proxy at"), std::string::npos) << refused.error().message;

  for (const bool speaks : {true, false}) {
    TestServer other{[&](Peer& peer) {
      if (!peer.readRequest().empty() && speaks) peer.write("220 mail.test ESMTP\r\n");
      peer.close();
    }};
    const auto client = HttpClient::make({.proxy = {.https = urlOf(other)}});
    const auto outcome = call(*client, tlsAt(443, "lease.test"));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::connect) << outcome.error().message;
  }
}

/// The proxy itself has TLS: CONNECT and a server's own TLS go through it, or plain requests.
TEST(HttpProxy, thatSpeaksTlsItself) {
  const TestAuthority authority;
  TestServer server{[](Peer& peer) {
                      while (!peer.readRequest().empty()) peer.reply("through");
                    },
                    {.identity = authority.issue({"DNS:lease.test"})}};
  for (const bool secure : {true, false}) {
    std::mutex mutex;
    std::string last;
    const auto next = [&](Peer& peer) {
      std::string request = peer.readRequest();
      const std::lock_guard lock{mutex};
      if (!request.empty()) last = request;
      return request;
    };
    TestServer proxy{[&](Peer& peer) {
                       if (!secure) {
                         while (!next(peer).empty()) peer.reply("through");
                         return;
                       }
                       (void)next(peer);
                       peer.write("HTTP/1.1 200 ok\r\n\r\n");
                       tunnel(peer, server.port());
                     },
                     {.identity = authority.issue({"DNS:proxy.test"})}};
    const std::string url = "https://me:secret@proxy.test:" + std::to_string(proxy.port());
    const auto client = makeHttpClient({.caFile = authority.caFile(), .proxy = {.https = url, .http = url}},
                                       {.lookup = [](const std::string&) { return net::Addresses{ip("127.0.0.1")}; }});
    for (int i = 0; i < 5; ++i) {
      const auto outcome = call(*client, secure ? tlsAt(8443, "lease.test") : plainAt(8000, "lease.test"));
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->body, "through");
    }
    const std::lock_guard lock{mutex};
    EXPECT_TRUE(
        last.starts_with(secure ? "CONNECT lease.test:8443 HTTP/1.1\r\n" : "POST http://lease.test:8000/ HTTP/1.1\r\n"))
        << last;
    EXPECT_NE(last.find("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), std::string::npos);
    EXPECT_EQ(proxy.accepted(), 1);
  }
}

TEST(HttpProxy, whoseCertificateIsWrongIsNotTold) {
  const TestAuthority authority;
  std::atomic<bool> asked{false};
  TestServer proxy{[&](Peer& peer) { asked = !peer.readRequest().empty(); },
                   {.identity = authority.issue({"DNS:other.test"})}};
  const std::string url = "https://me:geheim@127.0.0.1:" + std::to_string(proxy.port());
  const auto client = makeHttpClient({.caFile = authority.caFile(), .proxy = {.https = url}}, {.lookup = noNames()});
  const auto outcome = call(*client, tlsAt(8443, "lease.test"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls);
  EXPECT_NE(outcome.error().message.find("the proxy https://127.0.0.1:"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(outcome.error().message.find("geheim"), std::string::npos);
  EXPECT_FALSE(asked);
}

/// Members of etcd without TLS are reached by a tunnel as well.
TEST(HttpProxy, tunnelsWithoutTlsForEtcd) {
  std::string asked;
  TestServer proxy{[&](Peer& peer) {
    asked = peer.readRequest();
    peer.write("HTTP/1.1 200 ok\r\n\r\n");
    echo(peer);
  }};
  const auto client =
      makeHttpClient({.proxy = {.https = urlOf(proxy), .rules = net::ProxyRules::grpc}}, {.lookup = noNames()});
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(*client, plainAt(2379, "etcd.test"), withBody("through"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, "through");
  }
  EXPECT_TRUE(asked.starts_with("CONNECT etcd.test:2379 HTTP/1.1\r\n")) << asked;
  EXPECT_EQ(proxy.accepted(), 1);
}

/// A wrong URL of a proxy must not make requests bypass the proxy.
TEST(HttpProxy, aWrongUrlFailsTheCalls) {
  TestServer server{echo};
  const auto client = HttpClient::make({.proxy = {.http = "socks5://me:geheim@127.0.0.1:1080"}});
  const auto outcome = call(*client, plainAt(server.port(), "lease.test"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::connect);
  EXPECT_NE(outcome.error().message.find("socks5"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(outcome.error().message.find("geheim"), std::string::npos);
  EXPECT_EQ(server.accepted(), 0);
}

TEST(HttpProxy, exceptionsGoStraight) {
  TestServer server{echo};
  TestServer proxy{[](Peer& peer) { peer.waitForEnd(); }};
  for (const net::ProxyRules rules : {net::ProxyRules::go, net::ProxyRules::botocore}) {
    const auto client =
        HttpClient::make({.proxy = {.http = urlOf(proxy), .none = "10.0.0.1,127.0.0.1", .rules = rules}});
    const auto outcome = call(*client, plainAt(server.port()), withBody("straight"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, "straight");
  }
  EXPECT_EQ(proxy.accepted(), 0);
}

}  // namespace
}  // namespace tenure::test
