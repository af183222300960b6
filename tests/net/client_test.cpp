// The client over plain loopback: replies of all forms, reuse of connections, the errors when a connection breaks.
#include <atomic>
#include <future>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;
using net::HttpClientOptions;
using net::makeHttpClient;

TEST(HttpClient, sendsTheWholeRequestAndReadsTheReply) {
  std::string seen;
  TestServer server{[&](Peer& peer) {
    seen = peer.readRequest();
    peer.write("HTTP/1.1 400 Bad Request\r\nX-One: 1\r\nContent-Length: 4\r\nx-two:  b \r\n\r\nbody");
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  const auto outcome =
      call(*client, plainAt(server.port()), {"POST", "/a?b=c", {{"X-Amz-Target", "T"}, {"Host", "wrong"}}, "hello"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, 400);
  EXPECT_EQ(outcome->body, "body");
  EXPECT_EQ(outcome->header("x-one"), "1");
  EXPECT_EQ(outcome->header("X-TWO"), "b");
  EXPECT_EQ(outcome->header("x-three"), "");
  EXPECT_EQ(
      seen,
      "POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
          "\r\nX-Amz-Target: T\r\nUser-Agent: tenure\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello");
}

TEST(HttpClient, keepsTheConnection) {
  TestServer server{echo};
  const auto client = HttpClient::make();
  for (int i = 0; i < 50; ++i) {
    const auto outcome = call(*client, plainAt(server.port()), withBody(std::to_string(i)));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, std::to_string(i));
  }
  EXPECT_EQ(server.accepted(), 1);
}

/// The server ends each connection after its reply without announcing it.
TEST(HttpClient, losesNoRequestToAConnectionThatEndedWhileIdle) {
  std::atomic<int> closed{0};
  TestServer server{[&](Peer& peer) {
    if (!peer.readRequest().empty()) peer.reply("once");
    peer.close();
    ++closed;
  }};
  const auto client = HttpClient::make();
  for (int i = 0; i < 200; ++i) {
    const auto outcome = call(*client, plainAt(server.port()));
    ASSERT_TRUE(outcome) << i << ": " << outcome.error().message;
    ASSERT_TRUE(eventually([&] { return closed.load() == i + 1; }));
  }
  EXPECT_EQ(server.accepted(), 200);
}

TEST(HttpClient, dropsAnIdleConnectionOnWhichSomethingCameUnasked) {
  std::atomic<int> wrote{0};
  TestServer server{[&](Peer& peer) {
    if (!peer.readRequest().empty()) peer.reply(std::to_string(peer.number()));
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake");
    ++wrote;
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  for (int i = 1; i <= 20; ++i) {
    const auto outcome = call(*client, plainAt(server.port()));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, std::to_string(i));
    ASSERT_TRUE(eventually([&] { return wrote.load() == i; }));
  }
}

TEST(HttpClient, honoursConnectionClose) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(call(*client, plainAt(server.port())));
  EXPECT_EQ(server.accepted(), 5);
}

struct Shape {
  const char* name;
  std::string bytes;
  int status;
  std::string body;
  bool closes{false};
};

TEST(HttpClient, readsRepliesOfAllShapesWholeAndInSingleBytes) {
  const std::vector<Shape> shapes = {
      {"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc"},
      {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
      {"chunks",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n", 200,
       "abc0123456789"},
      {"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
      {"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, ""},
      {"interim",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
       200, "x"},
      {"until the end", "HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it", true},
      {"old", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi"},
  };
  for (const bool single : {false, true}) {
    for (const Shape& shape : shapes) {
      TestServer server{[&](Peer& peer) {
        while (!peer.readRequest().empty()) {
          for (std::size_t i = 0; single && i < shape.bytes.size(); ++i) peer.write(shape.bytes.substr(i, 1));
          if (!single) peer.write(shape.bytes);
          if (shape.closes) return peer.close();
        }
      }};
      const auto client = HttpClient::make();
      for (int i = 0; i < 2; ++i) {
        const auto outcome = call(*client, plainAt(server.port()));
        ASSERT_TRUE(outcome) << shape.name << ": " << outcome.error().message;
        EXPECT_EQ(outcome->status, shape.status) << shape.name;
        EXPECT_EQ(outcome->body, shape.body) << shape.name;
      }
    }
  }
}

TEST(HttpClient, trailersAreFieldsOfTheReply) {
  TestServer server{[](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Head: h\r\n\r\n1\r\na\r\n0\r\nX-Trailer: t\r\n\r\n");
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, "a");
  EXPECT_EQ(outcome->header("X-Head"), "h");
  EXPECT_EQ(outcome->header("X-Trailer"), "t");
}

TEST(HttpClient, tellsWhatIsWrongWithAReply) {
  const auto kindOf = [](const std::string& bytes, std::size_t most) {
    TestServer server{[&](Peer& peer) {
      if (!peer.readRequest().empty()) peer.write(bytes);
      peer.close();
    }};
    const auto client = HttpClient::make({.maxReply = most});
    const auto outcome = call(*client, plainAt(server.port()));
    EXPECT_FALSE(outcome) << bytes.substr(0, 60);
    if (outcome) return HttpError::Kind::cancelled;
    EXPECT_TRUE(outcome.error().maybeSent) << outcome.error().message;
    return outcome.error().kind;
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(kindOf("SSH-2.0-OpenSSH_9.2\r\n", 1000), HttpError::Kind::protocol);
  EXPECT_EQ(kindOf("HTTP/2 200\r\n\r\n", 1000), HttpError::Kind::protocol);
  EXPECT_EQ(kindOf("HTTP/1.1 000 Odd\r\n\r\n", 1000), HttpError::Kind::protocol);
  EXPECT_EQ(kindOf("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", 1000), HttpError::Kind::protocol);
  EXPECT_EQ(kindOf(ok + "Content-Length: 1000001\r\n\r\n", 1000000), HttpError::Kind::tooLarge);
  EXPECT_EQ(kindOf(ok + "\r\n" + std::string(2000, 'x'), 1000), HttpError::Kind::tooLarge);
  EXPECT_EQ(kindOf(ok + "A: " + std::string(2000, 'x'), 1000), HttpError::Kind::tooLarge);
  EXPECT_EQ(kindOf(ok + "Content-Length: 10\r\n\r\nabc", 1000), HttpError::Kind::closed);
  EXPECT_EQ(kindOf(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", 1000), HttpError::Kind::closed);
  EXPECT_EQ(kindOf("HTTP/1.1 20", 1000), HttpError::Kind::closed);
  EXPECT_EQ(kindOf("", 1000), HttpError::Kind::closed);
}

TEST(HttpClient, namesTheAddressWhoseReplyIsWrong) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.write("SSH-2.0-OpenSSH_9.2\r\n");
    peer.close();
  }};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()));
  ASSERT_FALSE(outcome);
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_NE(outcome.error().message.find(": " + address + ": "), std::string::npos) << outcome.error().message;
}

TEST(HttpClient, readsTenThousandHeaders) {
  std::string reply = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) reply += "X-" + std::to_string(i) + ": " + std::to_string(i) + "\r\n";
  reply += "Content-Length: 2\r\n\r\nok";
  TestServer server{[&](Peer& peer) {
    while (!peer.readRequest().empty()) peer.write(reply);
  }};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->headers.size(), 10'001U);
  EXPECT_EQ(outcome->header("x-9999"), "9999");
}

TEST(HttpClient, carriesLargeBodiesBothWays) {
  TestServer server{echo};
  const auto client = HttpClient::make({.maxReply = 8U << 20U});
  const std::string body(6U << 20U, 'z');
  const auto outcome = call(*client, plainAt(server.port()), withBody(body), 20s);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->body == body);
}

TEST(HttpClient, aRequestMayAllowAShorterReplyThanTheClient) {
  TestServer server{echo};
  const auto client = HttpClient::make({.maxReply = 100'000});
  net::HttpRequest request = withBody(std::string(50'000, 'z'));
  request.maxReply = 40'000;
  const auto refused = call(*client, plainAt(server.port()), request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, HttpError::Kind::tooLarge);
  request.maxReply = 0;
  EXPECT_TRUE(call(*client, plainAt(server.port()), request));
}

TEST(HttpClient, takesAnAnswerThatComesBeforeTheRequestIsThrough) {
  std::promise<void> answerTaken;
  const auto taken = answerTaken.get_future().share();
  TestServer server{[taken](Peer& peer) {
    if (peer.readSome().empty()) return;
    peer.write("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    // If a request was complete after all, its connection could be used again.
    taken.wait();
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()), withBody(std::string(20U << 20U, 'z')));
  answerTaken.set_value();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, 413);
  // The rest of the request must not be read as the next one.
  EXPECT_EQ(call(*client, plainAt(server.port())).value().status, 413);
  EXPECT_EQ(server.accepted(), 2);
}

TEST(HttpClient, tellsThatNothingWasSentWhereNobodyListens) {
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(closedPort()));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::connect);
  EXPECT_FALSE(outcome.error().maybeSent);
  EXPECT_NE(outcome.error().message.find("Connection refused"), std::string::npos) << outcome.error().message;
}

TEST(HttpClient, tellsThatTheRequestMayHaveArrivedWhenTheConnectionIsReset) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.reset();
  }};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::closed);
  EXPECT_TRUE(outcome.error().maybeSent);
}

TEST(HttpClient, triesTheSecondAddressAndRemembersIt) {
  TestServer server{echo};
  const auto client = makeHttpClient({}, {.lookup = [](const std::string&) {
                                       return net::Addresses{ip("::1"), ip("127.0.0.2"), ip("127.0.0.1")};
                                     }});
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(*client, plainAt(server.port(), "some.name"), withBody("x"));
    ASSERT_TRUE(outcome) << outcome.error().message;
  }
  EXPECT_EQ(server.accepted(), 1);
}

/// The first address of a name accepts connections and is not the service, in many ways.
class OneBadAddress : public testing::Test {
 protected:
  static constexpr const char* good = "127.0.0.1";

  /// Two servers at one port of two addresses; ::1 is the first address of the name.
  void expectAnswers(const Script& bad, const std::function<net::Origin(std::uint16_t)>& at,
                     const TestServer::Options& options, net::HttpClientOptions client, int badConnections) {
    TestServer served{echo, options};
    TestServer::Options other = options;
    other.v6 = true;
    other.port = served.port();
    if (other.identity) other.scriptStartsTls = true;
    TestServer wrong{bad, other};
    const auto made = makeHttpClient(std::move(client), {.lookup = [](const std::string&) {
                                       return net::Addresses{ip("::1"), ip(good)};
                                     }});
    for (int i = 0; i < 3; ++i) {
      const auto outcome = call(*made, at(served.port()), withBody("x"), 4s);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->body, "x");
    }
    EXPECT_EQ(wrong.accepted(), badConnections);
    EXPECT_EQ(served.accepted(), 1);
  }
};

TEST_F(OneBadAddress, oneWhoseHandshakeFailsIsLeft) {
  const TestAuthority authority, stranger{"a stranger"};
  const TestServer::Options options{.identity = authority.issue({"DNS:some.name"})};
  const auto at = [](std::uint16_t port) { return tlsAt(port, "some.name"); };
  const net::HttpClientOptions client{.caFile = authority.caFile()};
  expectAnswers([](Peer& peer) { peer.close(); }, at, options, client, 1);
  expectAnswers([](Peer& peer) { peer.reset(); }, at, options, client, 1);
  expectAnswers([](Peer& peer) { peer.waitForEnd(); }, at, options, client, 1);
  expectAnswers(
      [](Peer& peer) {
        peer.write("HTTP/1.1 400 Bad Request\r\n\r\n");
        peer.waitForEnd();
      },
      at, options, client, 1);
  expectAnswers(
      [](Peer& peer) {
        peer.write("SSH-2.0-x\r\n");
        peer.waitForEnd();
      },
      at, options, client, 1);
}

/// A name may have eight addresses. Seen from far away a handshake with any of them takes longer than an eighth.
TEST_F(OneBadAddress, oneThatAcceptsHasHalfOfTheTimeThatIsLeft) {
  const TestAuthority authority;
  TestServer served{echo, {.identity = authority.issue({"DNS:some.name"})}};
  TestServer silent{[](Peer& peer) { peer.waitForEnd(); }, {.v6 = true, .port = served.port()}};
  net::Addresses all{ip("::1")};
  for (int last = 2; last <= 7; ++last) all.push_back(ip("127.0.0." + std::to_string(last)));
  all.push_back(ip(good));
  const auto client =
      makeHttpClient({.caFile = authority.caFile()}, {.lookup = [&](const std::string&) { return all; }});
  const auto start = readClock().boottime;
  const auto outcome = call(*client, tlsAt(served.port(), "some.name"), withBody("x"), 3s);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GE(readClock().boottime - start, 1450ms);
  EXPECT_EQ(silent.accepted(), 1);
}

TEST_F(OneBadAddress, whatEachAddressSaidIsTold) {
  TestServer wrong{[](Peer& peer) { peer.close(); }};
  for (const bool isFirst : {false, true}) {
    const auto client =
        makeHttpClient({}, {.lookup = [isFirst](const std::string&) {
                         return isFirst ? net::Addresses{ip(good), ip("::1")} : net::Addresses{ip("::1"), ip(good)};
                       }});
    const auto outcome = call(*client, tlsAt(wrong.port(), "some.name"), withBody("x"));
    ASSERT_FALSE(outcome);
    const std::string port = std::to_string(wrong.port());
    for (const std::string& words :
         {"127.0.0.1:" + port + ": the connection ended in the TLS handshake", "no connection to [::1]:" + port}) {
      EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
    }
  }
}

TEST_F(OneBadAddress, aCertificateOfAnotherServerLeavesTheAddress) {
  const TestAuthority authority;
  TestServer served{echo, {.identity = authority.issue({"DNS:some.name"})}};
  TestServer wrong{echo, {.v6 = true, .identity = authority.issue({"DNS:other.name"}), .port = served.port()}};
  const auto made = makeHttpClient({.caFile = authority.caFile()}, {.lookup = [](const std::string&) {
                                     return net::Addresses{ip("::1"), ip(good)};
                                   }});
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(*made, tlsAt(served.port(), "some.name"), withBody("x"));
    ASSERT_TRUE(outcome) << outcome.error().message;
  }
  EXPECT_EQ(wrong.accepted(), 1);
}

TEST_F(OneBadAddress, aProxyThatIsNoneIsLeft) {
  const TestAuthority authority;
  const auto tunnel = [&](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write("HTTP/1.1 200 x\r\n\r\n");
    if (peer.startTls()) echo(peer);
  };
  for (const std::string& answer :
       {std::string{}, std::string{"HTTP/1.1 403 no\r\nContent-Length: 0\r\n\r\n"}, std::string{"SSH-2.0-x\r\n"}}) {
    const TestServer::Options options{.identity = authority.issue({"DNS:lease.test"}), .scriptStartsTls = true};
    TestServer proxy{tunnel, options};
    TestServer wrong{[&](Peer& peer) {
                       if (peer.readRequest().empty()) return;
                       if (!answer.empty()) peer.write(answer);
                       peer.close();
                     },
                     {.v6 = true, .port = proxy.port()}};
    const auto made = makeHttpClient(
        {.caFile = authority.caFile(), .proxy = {.https = "http://some.proxy:" + std::to_string(proxy.port())}},
        {.lookup = [](const std::string&) {
          return net::Addresses{ip("::1"), ip(good)};
        }});
    for (int i = 0; i < 3; ++i) {
      const auto outcome = call(*made, tlsAt(443, "lease.test"), withBody("x"));
      ASSERT_TRUE(outcome) << outcome.error().message;
    }
    EXPECT_EQ(wrong.accepted(), 1);
  }
}

/// Only who asks knows whether an answer is that of the service.
TEST_F(OneBadAddress, anAddressThatIsDoubtedIsLeft) {
  TestServer served{echo};
  TestServer wrong{[](Peer& peer) {
                     while (!peer.readRequest().empty()) peer.reply("please log in");
                   },
                   {.v6 = true, .port = served.port()}};
  const auto made = makeHttpClient({}, {.lookup = [](const std::string&) {
                                     return net::Addresses{ip("::1"), ip(good)};
                                   }});
  const net::Origin origin = plainAt(served.port(), "some.name");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(*made, origin, withBody("x"))->body, "please log in");
  made->doubt(origin);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(*made, origin, withBody("x"))->body, "x");
  EXPECT_EQ(wrong.accepted(), 1);
  made->doubt(plainAt(served.port(), "127.0.0.1"));
  EXPECT_EQ(call(*made, origin, withBody("x"))->body, "x");
  EXPECT_EQ(served.accepted(), 1) << "an origin that was never asked, and one with a single address, cost nothing";
}

TEST(HttpClient, speaksIpv6) {
  std::string seen;
  TestServer server{[&](Peer& peer) {
                      seen = peer.readRequest();
                      peer.reply("six");
                      peer.waitForEnd();
                    },
                    {.v6 = true}};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port(), "::1"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, "six");
  EXPECT_NE(seen.find("Host: [::1]:" + std::to_string(server.port()) + "\r\n"), std::string::npos);
}

TEST(HttpClient, looksNamesUp) {
  TestServer server{echo};
  const auto client = HttpClient::make();
  const auto good = call(*client, plainAt(server.port(), "localhost"), withBody("x"));
  EXPECT_TRUE(good) << good.error().message;
  const auto bad = call(*client, plainAt(server.port(), "no-such-host.invalid"), {}, 15s);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, HttpError::Kind::resolve) << bad.error().message;
  EXPECT_FALSE(bad.error().maybeSent);
}

TEST(HttpClient, refusesARequestThatWouldBreakTheFraming) {
  TestServer server{echo};
  const auto client = HttpClient::make();
  for (const net::HttpRequest& request :
       std::vector<net::HttpRequest>{{"GET /", "/", {}, {}},
                                     {"GET", "/a b", {}, {}},
                                     {"GET", "", {}, {}},
                                     {"GET", "/", {{"A\r\nB", "c"}}, {}},
                                     {"GET", "/", {{"Token", "geheim\r\nX: y"}}, {}}}) {
    const auto outcome = call(*client, plainAt(server.port()), request);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::protocol);
    EXPECT_FALSE(outcome.error().maybeSent);
    EXPECT_EQ(outcome.error().message.find("geheim"), std::string::npos);
  }
  EXPECT_EQ(server.accepted(), 0);
}

TEST(HttpClient, sendsTwoHundredCallsAtOnceOverFourConnections) {
  TestServer server{echo};
  const auto client = HttpClient::make({.maxConnections = 4});
  std::vector<std::future<net::HttpOutcome>> calls;
  for (int i = 0; i < 200; ++i)
    calls.push_back(start(*client, plainAt(server.port()), withBody(std::to_string(i)), 20s));
  for (int i = 0; i < 200; ++i) {
    const auto outcome = await(calls[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, std::to_string(i));
  }
  EXPECT_EQ(server.accepted(), 4);
}

TEST(HttpClient, failsAllWaitingCallsOfADeadServerAtOnce) {
  const auto port = closedPort();
  const auto client = HttpClient::make({.maxConnections = 4});
  std::vector<std::future<net::HttpOutcome>> calls;
  for (int i = 0; i < 500; ++i) calls.push_back(start(*client, plainAt(port), {}, 20s));
  for (auto& one : calls) EXPECT_EQ(await(one).error().kind, HttpError::Kind::connect);
}

/// New connections fail in their handshake; the one that works serves all calls.
TEST(HttpClient, servesWaitingCallsOnWhatStillWorks) {
  const TestAuthority authority;
  std::atomic<bool> release{false};
  TestServer server{[&](Peer& peer) {
                      if (peer.number() > 1) return peer.close();
                      if (!peer.startTls()) return;
                      while (!peer.readRequest().empty()) {
                        if (!eventually([&] { return release.load(); }) || !peer.reply("served")) return;
                      }
                    },
                    {.identity = authority.issue({"IP:127.0.0.1"}), .scriptStartsTls = true}};
  const auto client = HttpClient::make({.caFile = authority.caFile()});
  auto first = start(*client, tlsAt(server.port()));
  ASSERT_TRUE(eventually([&] { return server.accepted() == 1; }));
  auto second = start(*client, tlsAt(server.port()));
  auto third = start(*client, tlsAt(server.port()));
  ASSERT_TRUE(eventually([&] { return server.accepted() >= 3; }));
  release = true;
  for (auto* one : {&first, &second, &third}) {
    const auto outcome = await(*one);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, "served");
  }
}

TEST(HttpClient, preconnects) {
  std::atomic<int> open{0};
  TestServer server{[&](Peer& peer) {
    ++open;
    echo(peer);
  }};
  const auto client = HttpClient::make();
  client->preconnect(plainAt(server.port()), 3);
  ASSERT_TRUE(eventually([&] { return open.load() == 3; }));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(call(*client, plainAt(server.port())));
  EXPECT_EQ(server.accepted(), 3);
}

TEST(HttpClient, replacesAConnectionThatTheServerEnds) {
  TestServer server{[](Peer& peer) {
    if (peer.number() == 1) return;  // closes at once
    echo(peer);
  }};
  const auto client = HttpClient::make();
  client->preconnect(plainAt(server.port()), 1);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 2; }));
}

/// A load balancer without servers behind it does so; each handshake costs both sides a millisecond.
TEST(HttpClient, doesNotDialInACircleWhereConnectionsAreEndedUnused) {
  TestServer server{[](Peer&) {}};
  const auto client = HttpClient::make();
  const Instant before = readClock();
  client->preconnect(plainAt(server.port()), 1);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 3; }));
  EXPECT_GE(readClock().boottime - before.boottime, 700ms);  // 250 ms and then 500 ms, minus the clocks' difference
}

TEST(HttpClient, preconnectsAgainWhenAServerComesUp) {
  std::atomic<int> lookups{0};
  const auto client = makeHttpClient({}, {.lookup = [&](const std::string&) {
                                       if (++lookups < 3) return net::LookupResult{net::LookupFault{"not yet"}};
                                       return net::LookupResult{net::Addresses{ip("127.0.0.1")}};
                                     }});
  TestServer server{echo};
  client->preconnect(plainAt(server.port(), "late.name"), 2);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 2; }));
}

TEST(HttpClient, closesAConnectionThatIsNotUsed) {
  std::atomic<bool> ended{false};
  TestServer server{[&](Peer& peer) {
    echo(peer);
    ended = true;
  }};
  const auto client = HttpClient::make({.idleTimeout = 50ms});
  ASSERT_TRUE(call(*client, plainAt(server.port())));
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

}  // namespace
}  // namespace tenure::test
