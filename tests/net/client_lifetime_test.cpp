// Handlers are called exactly once, whoever ends the client and when.
#include <atomic>
#include <fcntl.h>
#include <latch>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/client_calls.hpp"
#include "net/test_server.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;

struct Sockets {
  int toServer{0};
  int inherited{0};    ///< of those: a child process would have it too
  int unconnected{0};  ///< neither connected nor listening
};

Sockets socketsTo(std::uint16_t port) {
  Sockets found;
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  for (int fd = 0; fd < static_cast<int>(std::min<rlim_t>(most.rlim_cur, 4096)); ++fd) {
    int type = 0, domain = 0, listens = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) continue;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    if (domain != AF_INET || listens != 0) continue;
    sockaddr_in peer{};
    size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
      ++found.unconnected;
    } else if (ntohs(peer.sin_port) == port) {
      ++found.toServer;
      if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) ++found.inherited;
    }
  }
  return found;
}

TEST(HttpLifetime, aConnectionIsOneDescriptorThatNoChildInherits) {
  TestServer server{echo};
  const Sockets before = socketsTo(server.port());
  const auto client = HttpClient::make({.maxConnections = 1});
  auto call = start(*client, plainAt(server.port()), {}, 20s);
  ASSERT_TRUE(await(call));
  const Sockets now = socketsTo(server.port());
  EXPECT_EQ(now.toServer, 1);
  EXPECT_EQ(now.inherited, 0);
  EXPECT_EQ(now.unconnected, before.unconnected);
}

TEST(HttpLifetime, cancelsWhatIsUnderWay) {
  TestServer server{[](Peer& peer) {
    if (!peer.readRequest().empty()) peer.waitForEnd();
  }};
  auto client = HttpClient::make({.maxConnections = 2});
  std::vector<std::future<net::HttpOutcome>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(start(*client, plainAt(server.port()), {}, 20s));
  calls.push_back(start(*client, plainAt(closedPort(), "127.0.0.3"), {}, 20s));
  ASSERT_TRUE(eventually([&] { return server.accepted() == 2; }));
  client.reset();
  int waited = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const auto outcome = await(calls[i]);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::cancelled) << outcome.error().message;
    if (!outcome.error().maybeSent) ++waited;
  }
  EXPECT_GE(waited, 8);
}

TEST(HttpLifetime, theHandlerRunsOnTheClientsThreadAndNeverInsideSend) {
  TestServer server{echo};
  const auto client = HttpClient::make();
  std::promise<std::thread::id> ran;
  std::promise<void> sent;
  auto mayRun = sent.get_future().share();
  client->send(plainAt(server.port()), {}, 5s, [&](const net::HttpOutcome&) {
    client->send(plainAt(server.port()), {"GET /", "/", {}, {}}, 5s,
                 [&](const net::HttpOutcome&) { ran.set_value(std::this_thread::get_id()); });
    EXPECT_EQ(mayRun.wait_for(10s), std::future_status::ready);
  });
  auto id = ran.get_future();
  EXPECT_EQ(id.wait_for(0s), std::future_status::timeout);
  sent.set_value();
  ASSERT_EQ(id.wait_for(10s), std::future_status::ready);
  EXPECT_NE(id.get(), std::this_thread::get_id());
}

TEST(HttpLifetime, theHandlerMayDestroyTheClient) {
  TestServer server{echo};
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> called{0};
    auto client = HttpClient::make({.maxConnections = 1});
    HttpClient* raw = client.get();
    auto owner = std::make_shared<std::shared_ptr<HttpClient>>(std::move(client));
    std::latch ready{1};
    raw->send(plainAt(server.port()), {}, 10s, [&, owner](const net::HttpOutcome&) {
      ready.wait();
      owner->reset();
      ++called;
    });
    for (int k = 0; k < 5; ++k) raw->send(plainAt(server.port()), {}, 10s, [&](const net::HttpOutcome&) { ++called; });
    ready.count_down();
    ASSERT_TRUE(eventually([&] { return called.load() == 6; }));
  }
}

TEST(HttpLifetime, eachOfManyCallsOfManyThreadsIsAnsweredOnce) {
  TestServer server{echo};
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> answers{0};
    auto client = HttpClient::make({.maxConnections = 3});
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 100; ++i) {
            client->send(plainAt(server.port()), withBody("x"), 20s, [&](const net::HttpOutcome&) { ++answers; });
          }
        });
      }
    }
    if (round % 2 == 0) {
      ASSERT_TRUE(eventually([&] { return answers.load() > 50; }));
    }
    client.reset();
    EXPECT_EQ(answers.load(), 400);
  }
}

}  // namespace
}  // namespace tenure::test
