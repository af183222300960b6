// Requests that may be sent in copies, and connections with a late reply.
#include <atomic>
#include <sys/socket.h>
#include <thread>

#include <gtest/gtest.h>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;

net::HttpRequest inCopies(std::string body) { return {.body = std::move(body), .repeatAfter = 20ms}; }

std::string bodyOf(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }

/// Holds back the first replies of the first connections for as long as the test wants.
class HoldingServer {
 public:
  explicit HoldingServer(int holding) : holding_{holding} {}

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  [[nodiscard]] int accepted() const { return server_.accepted(); }
  [[nodiscard]] int requests() const { return requests_.load(); }
  [[nodiscard]] int ended() const { return ended_.load(); }
  void letGo() { hold_ = false; }

 private:
  void serve(Peer& peer) {
    for (std::string request; !(request = peer.readRequest()).empty();) {
      const bool held = ++requests_ <= holding_;
      while (held && hold_.load() && !gone(peer)) std::this_thread::yield();
      if (!peer.reply(bodyOf(request))) break;
    }
    ++ended_;
  }
  static bool gone(const Peer& peer) {
    char byte = 0;
    return recv(peer.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  const int holding_;
  std::atomic<bool> hold_{true};
  std::atomic<int> requests_{0};
  std::atomic<int> ended_{0};
  TestServer server_{[this](Peer& peer) { serve(peer); }};
};

void makeReady(net::HttpClient& client, const HoldingServer& server, std::size_t connections) {
  client.preconnect(plainAt(server.port()), connections);
  // The server has accepted before the client knows; a call that comes earlier waits for that.
  ASSERT_TRUE(eventually([&] { return server.accepted() == static_cast<int>(connections); }));
}

/// Calls whose time ends before the server answers; a call that was not sent in time does not count.
void leaveUnanswered(net::HttpClient& client, const HoldingServer& server, int count) {
  while (server.requests() < count) {
    const int before = server.requests();
    const auto outcome = call(client, plainAt(server.port()), withBody("late"), 50ms);
    ASSERT_FALSE(outcome);
    if (!outcome.error().maybeSent) continue;
    ASSERT_TRUE(eventually([&] { return server.requests() == before + 1; }));
  }
}

TEST(HttpCopies, theReplyOfAnyCopyIsTheAnswer) {
  HoldingServer server{1};
  const auto client = HttpClient::make();
  makeReady(*client, server, 2);
  const auto outcome = call(*client, plainAt(server.port()), inCopies("one"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, "one");
  EXPECT_TRUE(outcome->copiesOut) << "the first copy may be carried out yet";
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(server.accepted(), 2);
}

TEST(HttpCopies, onlyOneGoesOutWhereTheAnswerIsQuick) {
  HoldingServer server{0};
  const auto client = HttpClient::make();
  makeReady(*client, server, 2);
  for (int i = 1; i <= 5; ++i) {
    auto request = inCopies("quick");
    request.repeatAfter = 4s;
    const auto outcome = call(*client, plainAt(server.port()), request);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->copiesOut);
    EXPECT_EQ(server.requests(), i);
  }
}

TEST(HttpCopies, noneGoesOutOfARequestThatDoesNotSayThatItMay) {
  HoldingServer server{1};
  const auto client = HttpClient::make();
  makeReady(*client, server, 2);
  const auto outcome = call(*client, plainAt(server.port()), withBody("once"), 1s);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().maybeSent);
  EXPECT_EQ(server.requests(), 1);
}

/// A copy does not justify a handshake, which would take as long as the answer.
TEST(HttpCopies, noneWaitsForAConnection) {
  HoldingServer server{1};
  const auto client = HttpClient::make();
  const auto outcome = call(*client, plainAt(server.port()), inCopies("alone"), 1s);
  EXPECT_FALSE(outcome);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(server.accepted(), 1);
}

TEST(HttpCopies, areBounded) {
  HoldingServer server{100};
  const auto client = HttpClient::make({.maxLate = 2});
  makeReady(*client, server, 8);
  const auto outcome = call(*client, plainAt(server.port()), inCopies("many"), 1s);
  EXPECT_FALSE(outcome);
  EXPECT_EQ(server.requests(), 3) << "the request itself and two copies";
}

/// A server that answers nobody must not get many times the requests.
TEST(HttpCopies, goToNoServerThatHasBeenSilentForLong) {
  HoldingServer server{100};
  const auto client = HttpClient::make();
  makeReady(*client, server, 4);
  EXPECT_FALSE(call(*client, plainAt(server.port()), inCopies("first"), 500ms));
  EXPECT_GE(server.requests(), 2);
  leaveUnanswered(*client, server, server.requests() + 7);
  EXPECT_TRUE(eventually([&] { return server.accepted() >= 8; })) << "others are ready";
  const int before = server.requests();
  EXPECT_FALSE(call(*client, plainAt(server.port()), inCopies("ninth"), 500ms));
  EXPECT_LE(server.requests(), before + 1) << "the request itself";
}

/// Near the end of a lease the calls get shorter; a single call without an answer does not mean that the server is
/// silent.
TEST(HttpCopies, goOutAgainWhereTheCallsBeforeGotNoAnswer) {
  HoldingServer server{6};
  const auto client = HttpClient::make({.maxLate = 32});
  makeReady(*client, server, 4);
  leaveUnanswered(*client, server, 5);
  EXPECT_TRUE(eventually([&] { return server.accepted() >= 12; })) << "others are ready";
  const auto outcome = call(*client, plainAt(server.port()), inCopies("last"), 2s);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, "last");
}

/// An unrequested complete reply after the requested one must not become the answer of a waiting call.
TEST(HttpReply, noWaitingCallGetsAConnectionOnWhichMoreHasCome) {
  std::atomic<bool> bothWait{false};
  TestServer server{[&](Peer& peer) {
    for (std::string request; !(request = peer.readRequest()).empty();) {
      while (!bothWait.load()) std::this_thread::yield();
      // The client reads this many bytes at once: the reply ends where the read does.
      const std::size_t atOnce = 16384;
      std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 16000\r\nFiller: ";
      reply +=
          std::string(atOnce - 16000 - 4 - reply.size(), 'f') + "\r\n\r\n" + std::string(16000, bodyOf(request)[0]);
      if (!peer.write(reply + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray")) return;
    }
  }};
  const auto client = HttpClient::make({.maxConnections = 1});
  for (int i = 0; i < 10; ++i) {
    bothWait = false;
    auto one = start(*client, plainAt(server.port()), withBody("1"));
    auto two = start(*client, plainAt(server.port()), withBody("2"));
    bothWait = true;
    EXPECT_EQ(await(one)->body, std::string(16000, '1'));
    EXPECT_EQ(await(two)->body, std::string(16000, '2'));
  }
}

TEST(HttpCopies, oneThatIsCutOffDoesNotEndTheCall) {
  std::atomic<int> requests{0};
  std::atomic<bool> cut{false};
  TestServer server{[&](Peer& peer) {
    if (peer.readRequest().empty()) return;
    const bool first = ++requests == 1;
    while (first && requests.load() < 2) std::this_thread::yield();
    if (first) {
      peer.reset();
      cut = true;
      return;
    }
    while (!cut.load()) std::this_thread::yield();
    peer.reply("answered");
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  client->preconnect(plainAt(server.port()), 2);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 2; }));
  const auto outcome = call(*client, plainAt(server.port()), inCopies("two"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, "answered");
  EXPECT_TRUE(outcome->copiesOut);
}

TEST(HttpLateReply, isReadAndDroppedBeforeItsConnectionServesAgain) {
  HoldingServer server{2};
  const auto client = HttpClient::make({.maxConnections = 2});
  leaveUnanswered(*client, server, 1);
  auto first = start(*client, plainAt(server.port()), withBody("first"));
  ASSERT_TRUE(eventually([&] { return server.requests() == 2; }));
  auto pending = start(*client, plainAt(server.port()), withBody("second"));
  server.letGo();
  EXPECT_EQ(await(first)->body, "first");
  const auto second = await(pending);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "second");
  EXPECT_EQ(server.accepted(), 2) << "without a new handshake";
}

/// A small pool must not be full of late connections while calls wait.
TEST(HttpLateReply, isWaitedForOnHalfOfTheConnectionsAtMost) {
  for (const std::size_t connections : {1U, 2U, 3U}) {
    HoldingServer server{static_cast<int>(connections)};
    const auto client = HttpClient::make({.maxConnections = connections, .latePatience = 1h});
    leaveUnanswered(*client, server, static_cast<int>(connections));
    const auto outcome = call(*client, plainAt(server.port()), withBody("next"));
    ASSERT_TRUE(outcome) << connections << " connections: " << outcome.error().message;
    EXPECT_EQ(outcome->body, "next");
  }
}

TEST(HttpLateReply, ofACopyIsNotTakenForThatOfTheNextCall) {
  HoldingServer server{1};
  const auto client = HttpClient::make({.maxConnections = 2});
  makeReady(*client, server, 2);
  ASSERT_TRUE(call(*client, plainAt(server.port()), inCopies("one")));
  auto two = start(*client, plainAt(server.port()), withBody("two"));
  auto three = start(*client, plainAt(server.port()), withBody("three"));
  EXPECT_EQ(await(two)->body, "two") << "on the connection that answered";
  server.letGo();
  EXPECT_EQ(await(three)->body, "three");
  for (const std::string body : {"four", "five"}) {
    const auto outcome = call(*client, plainAt(server.port()), withBody(body));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, body);
  }
  EXPECT_EQ(server.accepted(), 2);
}

TEST(HttpLateReply, isWaitedForOnlySoLong) {
  HoldingServer server{1};
  const auto client = HttpClient::make({.latePatience = 50ms});
  leaveUnanswered(*client, server, 1);
  EXPECT_TRUE(eventually([&] { return server.ended() == 1; })) << "the connection is closed then";
}

TEST(HttpLateReply, isWaitedForOnSoManyConnectionsOnly) {
  HoldingServer server{3};
  const auto client = HttpClient::make({.latePatience = 1h, .maxLate = 2});
  leaveUnanswered(*client, server, 3);
  EXPECT_TRUE(eventually([&] { return server.ended() == 1; }));
  EXPECT_TRUE(call(*client, plainAt(server.port()), withBody("next")));
  EXPECT_EQ(server.ended(), 1);
}

/// Late connections are not ready. The same number of others are ready, and one more for each late one, because copies
/// need connections.
TEST(HttpLateReply, othersStandReadyMeanwhile) {
  HoldingServer server{1};
  const auto client = HttpClient::make();
  makeReady(*client, server, 2);
  leaveUnanswered(*client, server, 1);
  EXPECT_TRUE(eventually([&] { return server.accepted() == 4; }));
}

}  // namespace
}  // namespace tenure::test
