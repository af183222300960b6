// The deadline of a call, at each of its steps.
#include <atomic>
#include <latch>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;
using net::makeHttpClient;

constexpr auto allowed = 500ms;  // a busy machine comes to each step in this time

/// A timeout that comes when it is due, neither sooner nor much later, and names `step`.
void expectTimeout(net::HttpClient& client, const net::Origin& origin, bool maybeSent, const std::string& step,
                   net::HttpRequest request = {}) {
  const Instant before = readClock();
  const auto outcome = call(client, origin, std::move(request), allowed);
  const auto took = readClock().boottime - before.boottime;
  ASSERT_FALSE(outcome);
  const HttpError& error = outcome.error();
  EXPECT_EQ(error.kind, HttpError::Kind::timeout) << error.message;
  EXPECT_EQ(error.maybeSent, maybeSent) << error.message;
  EXPECT_NE(error.message.find(step), std::string::npos) << error.message;
  EXPECT_GE(took, allowed);
  EXPECT_LT(took, 5s);
}

/// A resolver that hangs until the test releases it.
struct HangingResolver {
  std::shared_ptr<std::atomic<bool>> hang{std::make_shared<std::atomic<bool>>(true)};
  std::shared_ptr<std::atomic<int>> asked{std::make_shared<std::atomic<int>>(0)};

  [[nodiscard]] net::Lookup lookup() const {
    return [hang = hang, asked = asked](const std::string& name) -> net::LookupResult {
      ++*asked;
      if (name == "quick.name") return net::Addresses{ip("127.0.0.1")};
      hang->wait(true);
      return net::Addresses{ip("127.0.0.1")};
    };
  }
  void letGo() const {
    *hang = false;
    hang->notify_all();
  }
};

TEST(HttpDeadline, holdsWhileTheLookupHangs) {
  TestServer server{echo};
  const HangingResolver resolver;
  const auto client = makeHttpClient({}, {.lookup = resolver.lookup()});
  expectTimeout(*client, plainAt(server.port(), "slow.name"), false, "while looking up the name slow.name");
  const auto other = call(*client, plainAt(server.port(), "quick.name"));
  EXPECT_TRUE(other) << other.error().message;
  const auto literal = call(*client, plainAt(server.port()));
  EXPECT_TRUE(literal) << literal.error().message;
  resolver.letGo();
  const auto later = call(*client, plainAt(server.port(), "slow.name"));
  EXPECT_TRUE(later) << later.error().message;
}

TEST(HttpDeadline, knownAddressesServeWhileTheResolverHangs) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }};
  const HangingResolver resolver;
  resolver.letGo();
  const auto client = makeHttpClient({.resolveEvery = 0ms}, {.lookup = resolver.lookup()});
  ASSERT_TRUE(call(*client, plainAt(server.port(), "slow.name")));
  *resolver.hang = true;
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(*client, plainAt(server.port(), "slow.name"), {}, 2s);
    EXPECT_TRUE(outcome) << outcome.error().message;
  }
  EXPECT_EQ(resolver.asked->load(), 2);
  resolver.letGo();
}

TEST(HttpDeadline, aClientWithAHangingLookupIsDestroyedAtOnce) {
  const HangingResolver resolver;
  auto client = makeHttpClient({}, {.lookup = resolver.lookup()});
  auto pending = start(*client, plainAt(1, "slow.name"));
  ASSERT_TRUE(eventually([&] { return resolver.asked->load() == 1; }));
  client.reset();
  EXPECT_EQ(await(pending).error().kind, HttpError::Kind::cancelled);
  resolver.letGo();
}

TEST(HttpDeadline, holdsWhileAConnectionHangs) {
  const SilentPort silent;
  const auto client = HttpClient::make();
  expectTimeout(*client, plainAt(silent.port()), false, "connecti");
}

TEST(HttpDeadline, aSilentAddressLeavesTimeForTheNext) {
  const SilentPort silent;  // on 127.0.0.1 only; 127.0.0.2 refuses
  const auto client = makeHttpClient({}, {.lookup = [](const std::string&) {
                                       return net::Addresses{ip("127.0.0.1"), ip("127.0.0.2")};
                                     }});
  const auto outcome = call(*client, plainAt(silent.port(), "two.addresses"), {}, 400ms);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("127.0.0.2"), std::string::npos) << outcome.error().message;
  EXPECT_FALSE(outcome.error().maybeSent);
}

TEST(HttpDeadline, holdsWhileTheHandshakeStalls) {
  TestServer server{[](Peer& peer) { peer.waitForEnd(); }};
  const auto client = HttpClient::make();
  expectTimeout(*client, tlsAt(server.port()), false, "TLS handshake");
}

TEST(HttpDeadline, holdsWhileAProxyIsSilent) {
  TestServer server{[](Peer& peer) { peer.waitForEnd(); }};
  const auto client = HttpClient::make({.proxy = {.https = "http://127.0.0.1:" + std::to_string(server.port())}});
  expectTimeout(*client, tlsAt(443, "some.name"), false, "proxy");
}

TEST(HttpDeadline, holdsWhileNoReplyComes) {
  TestServer server{[](Peer& peer) { peer.waitForEnd(); }};
  const auto client = HttpClient::make();
  expectTimeout(*client, plainAt(server.port()), true, "waiting for the reply");
}

TEST(HttpDeadline, holdsWhileTheRequestIsNotTaken) {
  std::latch done{1};
  {
    TestServer server{[&](Peer&) { done.wait(); }};
    const auto client = HttpClient::make();
    expectTimeout(*client, plainAt(server.port()), true, "sending the request", withBody(std::string(30U << 20U, 'z')));
    done.count_down();
  }
}

TEST(HttpDeadline, holdsWhileTheReplyDrips) {
  TestServer server{[](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (peer.write("x")) {
      pollfd gone{peer.fd(), POLLIN, 0};
      if (poll(&gone, 1, 5) != 0) return;
    }
  }};
  const auto client = HttpClient::make();
  expectTimeout(*client, plainAt(server.port()), true, "reading the reply");
}

TEST(HttpDeadline, holdsWhileTheReplyStalls) {
  TestServer server{[](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    peer.waitForEnd();
  }};
  const auto client = HttpClient::make();
  expectTimeout(*client, plainAt(server.port()), true, "reading the reply");
}

TEST(HttpDeadline, holdsWhileAllConnectionsAreInUse) {
  TestServer server{[](Peer& peer) { peer.waitForEnd(); }};
  const auto client = HttpClient::make({.maxConnections = 1});
  auto first = start(*client, plainAt(server.port()), {}, 2s);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 1; }));
  expectTimeout(*client, plainAt(server.port()), false, "all of which are in use");
  EXPECT_EQ(await(first).error().kind, HttpError::Kind::timeout);
}

TEST(HttpDeadline, aLateReplyIsNotTakenForThatOfTheNextCall) {
  std::atomic<bool> late{false};
  std::atomic<int> requests{0};
  TestServer server{[&](Peer& peer) {
    while (!peer.readRequest().empty()) {
      const int number = ++requests;
      while (number == 1 && !late.load()) std::this_thread::yield();
      if (!peer.reply(std::to_string(number))) return;
    }
  }};
  const auto client = HttpClient::make();
  expectTimeout(*client, plainAt(server.port()), true, "waiting for the reply");
  late = true;
  const auto next = call(*client, plainAt(server.port()));
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->body, "2");
}

/// The connection of a call that ran out of time is kept for its late reply, and serves nobody until that comes.
TEST(HttpDeadline, aRefusalIsToldAtOnceWhileALateReplyIsAwaited) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.waitForEnd();
  }};
  const auto client = HttpClient::make({});
  expectTimeout(*client, plainAt(server.port()), true, "waiting for the reply");
  server.refuseConnections();
  const Instant before = readClock();
  const auto outcome = call(*client, plainAt(server.port()), {}, 4s);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, HttpError::Kind::connect) << outcome.error().message;
  EXPECT_LT(readClock().boottime - before.boottime, 2s);
}

TEST(HttpDeadline, noTimeAtAllSendsNothing) {
  TestServer server{echo};
  const auto client = HttpClient::make();
  for (const auto timeout : {std::chrono::nanoseconds{0}, std::chrono::nanoseconds{-1}}) {
    const auto outcome = call(*client, plainAt(server.port()), {}, timeout);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::timeout);
    EXPECT_FALSE(outcome.error().maybeSent);
  }
  EXPECT_EQ(server.accepted(), 0);
}

/// Such connections have 10 s, and for that long nobody would notice that a server works again.
TEST(HttpDeadline, callsDoNotAllWaitForAConnectionThatWasMadeAheadAndHangs) {
  const TestAuthority authority;
  std::atomic<bool> stalls{true};
  TestServer server{[&](Peer& peer) {
                      if (stalls.load()) return peer.waitForEnd();
                      if (peer.startTls()) echo(peer);
                    },
                    {.identity = authority.issue({"IP:127.0.0.1"}), .scriptStartsTls = true}};
  const auto client = HttpClient::make({.caFile = authority.caFile()});
  client->preconnect(tlsAt(server.port()), 2);
  ASSERT_TRUE(eventually([&] { return server.accepted() == 2; }));
  expectTimeout(*client, tlsAt(server.port()), false, "in the TLS handshake");
  stalls = false;
  const Instant before = readClock();
  const auto outcome = call(*client, tlsAt(server.port()), withBody("back"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_LT(readClock().boottime - before.boottime, 3s);
}

}  // namespace
}  // namespace tenure::test
