// Many bad clients, and polls beside revocations. The long ones run with `ctest -C long`.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/ops/http_listener.hpp>

#include "election/ops/src/listen_socket.hpp"
#include "election/stage.hpp"
#include "lockcore/port/extended_store.hpp"
#include "ops/http_peer.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ops::HttpListener;
using std::chrono::nanoseconds;

/// Writes down until when each acknowledged write makes its holder valid, and refuses writes on demand. The judge of
/// the polls: it knows nothing of the elector.
class JudgingStore final : public ForwardingStore {
 public:
  explicit JudgingStore(std::chrono::milliseconds lease) : ForwardingStore{makeMemoryStore()}, lease_{lease} {}

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (broken.load())
      return ForwardingStore::read(request.key, options, [handler](const ReadOutcome&) {
        handler(Rejected{{ErrorClass::transient, "broken by the test"}});
      });
    const nanoseconds until = readClock().boottime + lease_;
    const bool extends = request.purpose != WriteRequest::Purpose::release;
    ForwardingStore::write(std::move(request), options, [this, until, extends, handler](const WriteOutcome& outcome) {
      if (extends && std::holds_alternative<Applied>(outcome)) validUntil.store(until.count());
      handler(outcome);
    });
  }

  std::atomic<bool> broken{false};
  std::atomic<std::int64_t> validUntil{0};  ///< CLOCK_BOOTTIME

 private:
  const std::chrono::milliseconds lease_;
};

struct Polls {
  int yes{0}, no{0}, wrong{0};
};

/// Polls at 1 ms until `count` polls or the end of the revocation have been seen. A 200 to a poll that began after the
/// validity is wrong.
Polls pollOverRevocations(int revocations, int pollsEach) {
  constexpr std::chrono::milliseconds lease{400};
  const auto store = std::make_shared<JudgingStore>(lease);
  LeaderElector elector{
      Group::make({.group = "g", .candidate = {.id = "a"}, .lease = {.duration = lease}}, store).value()};
  HttpListener http = HttpListener::start({.listen = "127.0.0.1:0"}).value();
  http.watch(elector.view());
  elector.start();
  Polls polls;
  HttpPeer peer{http.address()};
  for (int i = 0; i < revocations; ++i) {
    EXPECT_TRUE(eventually([&] { return elector.isLeader(); }));
    for (int poll = 0; poll < pollsEach; ++poll) {
      if (poll == pollsEach / 4) store->broken.store(true);
      const nanoseconds began = readClock().boottime;
      const bool valid = began.count() < store->validUntil.load();
      EXPECT_TRUE(peer.send("HEAD /leader HTTP/1.1\r\nHost: localhost\r\n\r\n"));
      const auto reply = peer.reply(false);
      EXPECT_TRUE(reply);
      if (!reply) return polls;
      ++(reply->status == 200 ? polls.yes : polls.no);
      // A renewal may have been acknowledged between the two readings; then the later one is the judge.
      const bool stillValid = began.count() < store->validUntil.load();
      if (reply->status == 200 && !valid && !stillValid) ++polls.wrong;
      ::poll(nullptr, 0, 1);
    }
    store->broken.store(false);
  }
  elector.stop();
  return polls;
}

TEST(LeaderPolls, NoneThatBeganAfterTheValidityIsAnsweredWith200) {
  const Polls polls = pollOverRevocations(1, 600);
  EXPECT_EQ(polls.wrong, 0);
  EXPECT_GT(polls.yes, 0);
  EXPECT_GT(polls.no, 0);
}

TEST(LeaderPolls, LongRunOver20Revocations) {
  const Polls polls = pollOverRevocations(20, 1'000);
  std::cout << polls.yes << " answers of 200, " << polls.no << " of 503, " << polls.wrong << " wrong\n";
  EXPECT_EQ(polls.wrong, 0);
  EXPECT_GT(polls.yes, 1'000);
  EXPECT_GT(polls.no, 1'000);
}

/// One thread with many connections, each as bad as it can be: some send a byte at a time, some nonsense, some ask for
/// much and read nothing, some connect and go.
class HostileClients {
 public:
  HostileClients(std::string address, std::size_t count) : address_{std::move(address)}, clients_(count) {
    thread_ = std::thread{[this] { work(); }};
  }
  ~HostileClients() {
    stop_.store(true);
    thread_.join();
  }
  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_.load(); }

 private:
  struct Client {
    UniqueFd fd{};
    int kind{0};
  };

  void work() {
    for (std::size_t i = 0; !stop_.load(); i = (i + 1) % clients_.size()) {
      act(clients_[i]);
      if (i == 0) ::poll(nullptr, 0, 1);
    }
  }

  void act(Client& client) {
    if (!client.fd) {
      int error = 0;
      client.fd = ops::connectTo(*parseListen(address_), error);
      client.kind = static_cast<int>(random_() % 4);
      ++connections_;
      return;
    }
    static const std::string texts[] = {"G", "\x01\xFF\r\n\r\n nonsense \r\n\r\n",
                                        "GET /metrics HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", ""};
    const std::string& text = texts[client.kind];
    const bool goes = text.empty() || random_() % 50 == 0;
    if (goes || send(client.fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) client.fd.reset();
  }

  const std::string address_;
  std::vector<Client> clients_;
  std::mt19937 random_{1};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> connections_{0};
  std::thread thread_{};
};

/// How late heartbeats were, sorted.
/// `answers`: how often a good client was answered. One that is too slow for the others may be turned away.
std::vector<nanoseconds> lagsFor(std::chrono::seconds time, std::size_t hostile, std::uint64_t& answers) {
  const auto store = makeMemoryStore();
  std::mutex mutex;
  std::vector<nanoseconds> lags;
  std::unique_ptr<LeaderElector> elector;
  Listener listener;
  listener.onRenewed = [&](const Renewal&) {
    const std::lock_guard lock{mutex};
    lags.push_back(elector->status().lease.heartbeatLag);
  };
  const Group group =
      Group::make({.group = "g", .candidate = {.id = "a"}, .lease = {.duration = 3s, .heartbeat = 20ms}}, store)
          .value();
  elector = std::make_unique<LeaderElector>(group, listener);
  HttpListener http = HttpListener::start({.listen = "127.0.0.1:0"}).value();
  http.watch(elector->view());
  elector->start();
  EXPECT_TRUE(eventually([&] { return elector->isLeader(); }));
  {
    std::unique_ptr<HostileClients> clients;
    if (hostile > 0) clients = std::make_unique<HostileClients>(http.address(), hostile);
    const Instant from = readClock();
    std::uint64_t asked = 0;
    for (answers = 0; readClock().boottime - from.boottime < time; ++asked) {
      const int status = ask(http.address(), "/leader").status;
      EXPECT_TRUE(status == 200 || status == 0) << status;
      if (status == 200) ++answers;
      ::poll(nullptr, 0, 5);
    }
    // One more, since a machine under load asks so seldom within this time that one is more than a twentieth.
    EXPECT_LE(asked - answers, asked / 20 + 1) << "a good client is served beside them";
    EXPECT_TRUE(!clients || clients->connections() > hostile);
  }
  EXPECT_EQ(elector->view().counts().terms, 1U) << "the term went on";
  elector->stop();
  elector.reset();
  std::sort(lags.begin(), lags.end());
  return lags;
}

nanoseconds p99(const std::vector<nanoseconds>& sorted) {
  return sorted.empty() ? nanoseconds{0} : sorted[sorted.size() * 99 / 100];
}

TEST(HostileClientsTest, GoodClientIsServedBeside200OfThem) {
  std::uint64_t answers = 0;
  const auto lags = lagsFor(2s, 200, answers);
  EXPECT_GT(answers, 0U);
  EXPECT_FALSE(lags.empty());
}

TEST(HostileClientsTest, LongRunDelaysNoRenewal) {
  std::uint64_t alone = 0, beside = 0;
  const auto quiet = lagsFor(20s, 0, alone);
  const auto loud = lagsFor(20s, 200, beside);
  const auto millis = [](nanoseconds t) { return static_cast<double>(t.count()) / 1e6; };
  std::cout << "heartbeat lag p99: " << millis(p99(quiet)) << " ms alone (" << quiet.size() << " heartbeats, " << alone
            << " answers), " << millis(p99(loud)) << " ms beside 200 hostile clients (" << loud.size() << ", " << beside
            << ")\n";
  EXPECT_LT(p99(loud), p99(quiet) + 20ms) << "one heartbeat";
}

const std::string eventsRequest = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::size_t mostStreams = 32;

/// An elector that leads and a listener with few connections.
struct Led {
  explicit Led(ops::ListenerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    http.emplace(HttpListener::start(std::move(options)).value());
    http->watch(elector.view());
    elector.start();
    EXPECT_TRUE(eventually([&] { return elector.isLeader(); }));
  }
  LeaderElector elector{Group::make({.group = "g", .candidate = {.id = "a"}}, makeMemoryStore()).value()};
  std::optional<HttpListener> http;
};

TEST(EventStreams, TellWhoLeadsAtOnceAndEachChange) {
  Led led;
  HttpPeer client{led.http->address()};
  client.send(eventsRequest);
  ASSERT_TRUE(client.gets(R"("leads":true,"fencing_token":1)")) << client.received();
  EXPECT_NE(client.received().find("Content-Type: text/event-stream\r\n"), std::string::npos);
  led.elector.stepDown();
  ASSERT_TRUE(client.gets(R"("leads":false,"fencing_token":null,"leader":null)")) << client.received();
  const std::size_t at = client.received().rfind("id: ");
  const std::string id = client.received().substr(at + 4, client.received().find('\n', at) - at - 4);
  HttpPeer again{led.http->address()};
  again.send("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: " + id + "\r\n\r\n");
  ASSERT_TRUE(again.gets("retry: "));
  EXPECT_FALSE(again.gets("data: ", 1s)) << "nothing is new: " << again.received();
}

/// The bound is one of their own: they take no place from /leader, however few places that has.
TEST(EventStreams, AllOfThemTakeNoPlaceFromLeader) {
  Led led{{.connections = 2}};
  std::vector<std::unique_ptr<HttpPeer>> clients;
  for (std::size_t i = 0; i < mostStreams; ++i) {
    clients.push_back(std::make_unique<HttpPeer>(led.http->address()));
    clients.back()->send(eventsRequest);
    ASSERT_TRUE(clients.back()->gets("data: ")) << i;
  }
  EXPECT_EQ(ask(led.http->address(), "/events").status, 503);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(led.http->address(), "/leader").status, 200);
  for (int i = 0; i < 3; ++i) {
    HttpPeer idle{led.http->address()};
    EXPECT_EQ(ask(led.http->address(), "/leader").status, 200) << "idle ones give way, and streams do not";
  }
  led.elector.stepDown();
  for (const auto& client : clients) EXPECT_TRUE(client->gets(R"("leads":false)"));
  clients.pop_back();
  EXPECT_TRUE(eventually([&] {
    HttpPeer next{led.http->address()};
    next.send(eventsRequest);
    return next.gets("data: ", 1s);
  })) << "the place of one that has left is free";
}

TEST(EventStreams, GoOnBeyondTheTimeForARequestAndShowThatTheyAreThere) {
  Led led{{.requestTime = 200ms}};
  HttpPeer client{led.http->address()};
  client.send(eventsRequest);
  EXPECT_TRUE(client.gets("data: "));
  EXPECT_TRUE(client.gets("\n\n:\n\n")) << client.received();
}

}  // namespace
}  // namespace tenure::test
