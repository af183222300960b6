// What the client demands of a server's certificate, and its errors if the certificate does not meet that.
#include <atomic>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;
using net::makeHttpClient;

net::Lookup loopback() {
  return [](const std::string&) { return net::Addresses{ip("127.0.0.1")}; };
}

class HttpTls : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<HttpClient> client() const {
    return makeHttpClient({.caFile = authority_.caFile()}, {.lookup = loopback()});
  }

  /// A call to such a server must fail because the client refuses it, with these words and nothing sent.
  void expectRefused(const Identity& identity, const std::string& words, const std::string& host = "lease.test",
                     int newestTls = TLS1_3_VERSION) const {
    std::atomic<bool> gotRequest{false};
    TestServer server{[&](Peer& peer) { gotRequest = gotRequest.load() || !peer.readRequest().empty(); },
                      {.identity = identity, .newestTls = newestTls}};
    const auto made = client();
    const auto outcome = call(*made, tlsAt(server.port(), host));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls) << outcome.error().message;
    EXPECT_FALSE(outcome.error().maybeSent);
    EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
    EXPECT_FALSE(gotRequest.load());
  }

  TestAuthority authority_{};
};

TEST_F(HttpTls, speaksToAServerWithTheRightName) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TestServer server{echo, {.identity = authority_.issue({"DNS:lease.test"}), .newestTls = version}};
    const auto made = client();
    for (int i = 0; i < 20; ++i) {
      const auto outcome = call(*made, tlsAt(server.port(), "lease.test"), withBody(std::to_string(i)));
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->body, std::to_string(i));
    }
    EXPECT_EQ(server.accepted(), 1);
  }
}

TEST_F(HttpTls, carriesLargeBodiesBothWays) {
  TestServer server{echo, {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = makeHttpClient({.caFile = authority_.caFile(), .maxReply = 4U << 20U}, {.lookup = loopback()});
  const std::string body(3U << 20U, 'z');
  const auto outcome = call(*made, tlsAt(server.port(), "lease.test"), withBody(body), 20s);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->body == body);
}

/// A server behind a tunnel has another name than the one that leads to it.
TEST_F(HttpTls, demandsTheNameThatIsGivenInPlaceOfTheHosts) {
  std::string name;
  TestServer server{[&](Peer& peer) {
                      name = peer.serverName();
                      echo(peer);
                    },
                    {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = makeHttpClient({.caFile = authority_.caFile(), .serverName = "lease.test"}, {.lookup = loopback()});
  const auto outcome = call(*made, tlsAt(server.port(), "tunnel.test"), withBody("x"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(name, "lease.test");
  const auto other =
      makeHttpClient({.caFile = authority_.caFile(), .serverName = "tunnel.test"}, {.lookup = loopback()});
  const auto refused = call(*other, tlsAt(server.port(), "lease.test"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, HttpError::Kind::tls) << refused.error().message;
}

TEST_F(HttpTls, sendsTheNameAheadOfTheHandshake) {
  std::string name;
  TestServer server{[&](Peer& peer) {
                      name = peer.serverName();
                      echo(peer);
                    },
                    {.identity = authority_.issue({"DNS:*.lease.test"})}};
  const auto made = client();
  const auto outcome = call(*made, tlsAt(server.port(), "a.lease.test"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(name, "a.lease.test");
}

TEST_F(HttpTls, anAddressMustStandInTheCertificate) {
  {
    TestServer server{echo, {.identity = authority_.issue({"IP:127.0.0.1"})}};
    const auto outcome = call(*client(), tlsAt(server.port()));
    EXPECT_TRUE(outcome) << outcome.error().message;
  }
  expectRefused(authority_.issue({"IP:127.0.0.2"}), "IP address mismatch", "127.0.0.1");
  expectRefused(authority_.issue({"DNS:127.0.0.1"}), "IP address mismatch", "127.0.0.1");
}

TEST_F(HttpTls, refusesAnotherName) {
  expectRefused(authority_.issue({"DNS:other.test"}), "must be issued for the name lease.test");
  expectRefused(authority_.issue({"DNS:a*.lease.test"}), "must be issued for the name ab.lease.test", "ab.lease.test");
  expectRefused(authority_.issue({"DNS:lease.test"}), "must be issued for the name a.lease.test", "a.lease.test");
}

/// As for Go (RFC 9525).
TEST_F(HttpTls, aCommonNameIsNoNameOfAHost) {
  expectRefused(authority_.issue({}, 1, "lease.test"), "must be issued for the name lease.test");
  expectRefused(authority_.issue({"IP:127.0.0.1"}, 1, "lease.test"), "must be issued for the name lease.test");
}

/// As for Go and curl.
TEST_F(HttpTls, aWildcardCoversOneLabelAlsoWithAnUnderscore) {
  TestServer server{echo, {.identity = authority_.issue({"DNS:*.lease.test"})}};
  for (const char* host : {"a.lease.test", "A.Lease.TEST", "a_b.lease.test", "_a.lease.test.", "a_.LEASE.test"}) {
    const auto outcome = call(*client(), tlsAt(server.port(), host));
    EXPECT_TRUE(outcome) << host << ": " << outcome.error().message;
  }
  for (const char* host : {"lease.test", "a_b.c.lease.test", "a.b_c.lease.test", "a_b.other.test"}) {
    EXPECT_FALSE(call(*client(), tlsAt(server.port(), host))) << host;
  }
  expectRefused(authority_.issue({"DNS:a*.lease.test"}), "must be issued for the name a_b.lease.test",
                "a_b.lease.test");
  expectRefused(authority_.issue({"DNS:*.test"}), "must be issued for the name a_b.test", "a_b.test");
  expectRefused(authority_.issue({"DNS:ab.lease.test"}), "must be issued for the name a_b.lease.test",
                "a_b.lease.test");
}

TEST_F(HttpTls, refusesAnExpiredCertificate) {
  expectRefused(authority_.issue({"DNS:lease.test"}, -2), "certificate has expired");
}

TEST_F(HttpTls, refusesAnIssuerThatItDoesNotTrust) {
  const TestAuthority stranger;
  expectRefused(stranger.issue({"DNS:lease.test"}), "issuer");
  TestServer server{echo, {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto systemTrust = makeHttpClient({}, {.lookup = loopback()});
  const auto outcome = call(*systemTrust, tlsAt(server.port(), "lease.test"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls) << outcome.error().message;
}

/// curl and Go judge alike.
class AnyAnchor : public HttpTls {
 protected:
  [[nodiscard]] static net::HttpOutcome answerTo(const std::string& caFile, const Identity& identity,
                                                 const std::string& host = "lease.test") {
    TestServer server{echo, {.identity = identity}};
    return call(*makeHttpClient({.caFile = caFile}, {.lookup = loopback()}), tlsAt(server.port(), host));
  }
  [[nodiscard]] std::string fileOf(const Identity& identity) const {
    writeCertificate(identity, directory_.file("anchor.pem"));
    return directory_.file("anchor.pem");
  }

  TempDir directory_{};
  const TestAuthority intermediate_{"tenure test intermediate", authority_};
};

TEST_F(AnyAnchor, anIntermediateAloneIsTrusted) {
  const auto outcome = answerTo(intermediate_.caFile(), intermediate_.issue({"DNS:lease.test"}));
  EXPECT_TRUE(outcome) << outcome.error().message;
}

TEST_F(AnyAnchor, theServersCertificateAloneIsTrusted) {
  const Identity leaf = authority_.issue({"DNS:lease.test"});
  const auto outcome = answerTo(fileOf(leaf), leaf);
  EXPECT_TRUE(outcome) << outcome.error().message;
}

TEST_F(AnyAnchor, anotherCertificateOfTheSameNameIsNot) {
  const std::string anchor = fileOf(authority_.issue({"DNS:lease.test"}));
  EXPECT_FALSE(answerTo(anchor, authority_.issue({"DNS:lease.test"})));
  EXPECT_FALSE(answerTo(intermediate_.caFile(), authority_.issue({"DNS:lease.test"}))) << "its issuer's other one";
}

TEST_F(AnyAnchor, nameAndTimeCountAllTheSame) {
  const Identity other = authority_.issue({"DNS:other.test"});
  EXPECT_FALSE(answerTo(fileOf(other), other));
  const Identity old = authority_.issue({"DNS:lease.test"}, -2);
  EXPECT_FALSE(answerTo(fileOf(old), old));
}

TEST_F(HttpTls, theDotAtTheEndOfANameCountsForTheLookupAlone) {
  std::string asked, name, request;
  TestServer server{[&](Peer& peer) {
                      name = peer.serverName();
                      request = peer.readRequest();
                      peer.reply("x");
                    },
                    {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = makeHttpClient({.caFile = authority_.caFile()}, {.lookup = [&](const std::string& host) {
                                     asked = host;
                                     return net::Addresses{ip("127.0.0.1")};
                                   }});
  const auto outcome = call(*made, tlsAt(server.port(), "lease.test."));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(asked, "lease.test.");
  EXPECT_EQ(name, "lease.test");
  EXPECT_NE(request.find("\r\nHost: lease.test:"), std::string::npos) << request;
}

TEST_F(HttpTls, refusesOldVersions) {
  expectRefused(authority_.issue({"DNS:lease.test"}), "handshake", "lease.test", TLS1_1_VERSION);
}

TEST_F(HttpTls, doesNotFallBackToPlainText) {
  std::string seen;
  TestServer server{[&](Peer& peer) {
    seen += peer.readSome();
    peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    peer.close();
  }};
  const auto outcome = call(*client(), tlsAt(server.port(), "lease.test"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls) << outcome.error().message;
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTls, aHandshakeThatIsCutIsTold) {
  TestServer server{[](Peer& peer) { peer.close(); }};
  const auto outcome = call(*client(), tlsAt(server.port(), "lease.test"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls) << outcome.error().message;
  EXPECT_FALSE(outcome.error().maybeSent);
}

/// A reply that ends with the stream is whole only if TLS says that the stream ended.
TEST_F(HttpTls, aStreamThatIsCutShortIsNoReply) {
  for (const bool farewell : {true, false}) {
    TestServer server{[&](Peer& peer) {
                        if (peer.readRequest().empty()) return;
                        peer.write("HTTP/1.1 200 OK\r\n\r\nhalf");
                        if (farewell) peer.close();
                      },
                      {.identity = authority_.issue({"DNS:lease.test"})}};
    const auto outcome = call(*client(), tlsAt(server.port(), "lease.test"));
    EXPECT_EQ(outcome.has_value(), farewell);
    if (outcome) continue;
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::closed) << outcome.error().message;
    EXPECT_TRUE(outcome.error().maybeSent);
  }
}

TEST_F(HttpTls, noticesAConnectionThatEndedWhileIdle) {
  std::atomic<int> closed{0};
  TestServer server{[&](Peer& peer) {
                      if (!peer.readRequest().empty()) peer.reply("once");
                      peer.close();
                      ++closed;
                    },
                    {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = client();
  for (int i = 0; i < 30; ++i) {
    const auto outcome = call(*made, tlsAt(server.port(), "lease.test"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(eventually([&] { return closed.load() == i + 1; }));
  }
}

/// The reply and the close notification come in one packet: the next call must not use the ended connection.
TEST_F(HttpTls, aFarewellWithTheReplyEndsTheConnection) {
  std::atomic<bool> bothWait{false};
  TestServer server{[&](Peer& peer) {
                      if (peer.readRequest().empty()) return;
                      while (!bothWait.load()) std::this_thread::yield();
                      const int on = 1;
                      const int off = 0;
                      setsockopt(peer.fd(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
                      peer.reply("once");
                      peer.sayFarewell();
                      setsockopt(peer.fd(), IPPROTO_TCP, TCP_CORK, &off, sizeof off);
                      peer.waitForEnd();
                    },
                    {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = makeHttpClient({.caFile = authority_.caFile(), .maxConnections = 1}, {.lookup = loopback()});
  for (int i = 0; i < 10; ++i) {
    bothWait = false;
    auto one = start(*made, tlsAt(server.port(), "lease.test"));
    auto two = start(*made, tlsAt(server.port(), "lease.test"));
    bothWait = true;
    for (auto* pending : {&one, &two}) {
      const auto outcome = await(*pending);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->body, "once");
    }
  }
}

TEST_F(HttpTls, takesUpTheSessionOfAnEarlierConnection) {
  std::atomic<int> resumed{0};
  TestServer server{[&](Peer& peer) {
                      if (peer.resumed()) ++resumed;
                      if (!peer.readRequest().empty()) peer.reply("once");
                      peer.close();
                    },
                    {.identity = authority_.issue({"DNS:lease.test"})}};
  const auto made = client();
  for (int i = 0; i < 5; ++i) {
    const auto outcome = call(*made, tlsAt(server.port(), "lease.test"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(eventually([&] { return server.open() == 0; }));
  }
  EXPECT_EQ(server.accepted(), 5);
  EXPECT_EQ(resumed.load(), 4);
}

TEST_F(HttpTls, aWrongCaFileIsToldAtOnce) {
  const TempDir directory;
  const std::string absent = directory.file("absent.pem");
  const std::string empty = directory.file("empty.pem");
  std::ofstream{empty} << "no certificate\n";
  for (const auto& [file, why] : {std::pair{absent, " cannot be read: No such file or directory"},
                                  std::pair{empty, ": no certificate can be read from it ("}}) {
    try {
      (void)HttpClient::make({.caFile = file});
      FAIL() << file;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string{error.what()}.find("CA file " + file + why), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace tenure::test
