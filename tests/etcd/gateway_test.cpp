// The gateway to real servers: change of members within a call's time, users and their tokens, TLS, streams.
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "etcd/etcd_cluster.hpp"
#include "lockcore/child_process.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "net/test_server.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using test::EtcdCluster;
using Repeat = Gateway::Repeat;
using Clock = std::chrono::steady_clock;

constexpr test::Eventually eventually{20s, 0s};
const std::string aKey = "L3RlbnVyZS9h";       // /tenure/a
const std::string elsewhere = "L290aGVyL2E=";  // /other/a

std::string put(const std::string& key) { return R"({"key":")" + key + R"(","value":"MQ=="})"; }

EtcdStoreOptions optionsFor(const EtcdCluster& cluster) {
  return {.endpoints = cluster.endpoints(),
          .user = cluster.user(),
          .passwordFile = cluster.passwordFile(),
          .caFile = cluster.caFile(),
          .certificate = cluster.certificate(),
          .key = cluster.key()};
}

Outcome ask(Gateway& gateway, const std::string& path, std::string body, std::chrono::nanoseconds timeout = 10s,
            Repeat repeat = Repeat::yes) {
  auto promise = std::make_shared<std::promise<Outcome>>();
  auto future = promise->get_future();
  gateway.call(path, std::move(body), timeout, repeat,
               [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  if (future.wait_for(30s) != std::future_status::ready) throw std::runtime_error("the handler was not called");
  return future.get();
}

void expectStatus(const Outcome& outcome, int status) {
  ASSERT_TRUE(outcome) << outcome.error().error.message;
  EXPECT_EQ(outcome->status, status) << outcome->body;
}

struct Heard {
  std::mutex mutex{};
  std::vector<std::string> lines{};
  std::vector<std::string> ends{};

  StreamHandlers handlers() {
    return {[this](std::string_view line) {
              const std::lock_guard lock{mutex};
              lines.emplace_back(line);
            },
            [this](std::string why) {
              const std::lock_guard lock{mutex};
              ends.push_back(std::move(why));
            }};
  }
  bool hasLine(const std::string& words) {
    const std::lock_guard lock{mutex};
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& one) { return one.find(words) != std::string::npos; });
  }
  std::size_t endCount() {
    const std::lock_guard lock{mutex};
    return ends.size();
  }
};

const std::string watchBody = R"({"create_request":{"key":"L3RlbnVyZS8=","range_end":"L3RlbnVyZTA="}})";

TEST(EtcdGateway, usersTokensAndTls) {
  const EtcdCluster cluster{{"--tls", "--users", "--set", "auth-token-ttl=2"}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  for (int i = 0; i < 3; ++i) expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  // A role that is missing is no matter of the token.
  expectStatus(ask(*gateway, "/v3/kv/put", put(elsewhere)), 403);

  Heard heard;
  auto stream = gateway->stream("/v3/watch", watchBody, 30s, heard.handlers());
  ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\":true"); }));
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  EXPECT_TRUE(eventually([&] { return heard.hasLine("\"events\""); }));
  stream.reset();
  EXPECT_EQ(heard.endCount(), 0U);

  // The server forgets a token two to four seconds after its last use.
  const auto until = Clock::now() + 5s;
  ASSERT_TRUE(eventually([&] { return Clock::now() > until; }));
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
}

/// The gateway of the cluster's root, who changes users and roles.
class Root {
 public:
  explicit Root(const EtcdCluster& cluster) {
    EtcdStoreOptions options = optionsFor(cluster);
    options.user = "root";
    options.passwordFile = directory_.file("root");
    std::ofstream{options.passwordFile} << "root-secret\n";
    gateway_ = makeHttpGateway(options, {});
  }
  void changes(const std::string& path, const std::string& body) {
    expectStatus(ask(*gateway_, "/v3/auth/" + path, body, 10s, Repeat::no), 200);
  }

 private:
  const test::TempDir directory_{};
  std::shared_ptr<Gateway> gateway_{};
};

/// A signed token is refused after any change of users or roles, although it is valid for an hour. Up to etcd 3.5.1 the
/// rejection looks like an answer of a failing member.
TEST(EtcdGateway, signedTokensAfterAChangeOfUsers) {
  const EtcdCluster cluster{{"--users", "--jwt", "1h"}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  Root root{cluster};
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  Heard heard;
  const auto stream = gateway->stream("/v3/watch", watchBody, 60s, heard.handlers());
  ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\""); }));
  const std::pair<std::string, std::string> changes[]{
      {"user/add", R"({"name":"other","password":"x"})"},
      {"role/add", R"({"role":"r","name":"r"})"},
      {"user/grant", R"({"user":"other","role":"r"})"},
      {"user/changepw", R"({"name":"tenure","password":"tenure-secret"})"},
      {"user/delete", R"({"name":"other"})"},
      {"role/delete", R"({"role":"r"})"}};
  for (const auto& [path, body] : changes) {
    for (const auto repeat : {Repeat::no, Repeat::yes}) {
      root.changes(path, body);
      const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 10s, repeat);
      expectStatus(outcome, 200);
      EXPECT_FALSE(outcome && outcome->copiesOut) << path;
      if (path != "user/changepw") break;
    }
    expectStatus(ask(*gateway, "/v3/kv/put", put(elsewhere), 10s, Repeat::no), 403);
  }
  EXPECT_EQ(heard.endCount(), 0U) << "the watch goes on";
  Heard anew;
  const auto next = gateway->stream("/v3/watch", watchBody, 60s, anew.handlers());
  EXPECT_TRUE(eventually([&] { return anew.hasLine("\"created\""); }));
}

TEST(EtcdGateway, signedTokensWhoseUserOrClusterChanges) {
  const EtcdCluster cluster{{"--users", "--jwt", "1h"}};
  const test::TempDir directory;
  EtcdStoreOptions options = optionsFor(cluster);
  options.passwordFile = directory.file("password");
  std::ofstream{options.passwordFile} << "tenure-secret\n";
  const auto gateway = makeHttpGateway(options, {});
  Root root{cluster};
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  const auto expectCredentials = [&] {
    const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().error.errorClass, ErrorClass::credentials) << outcome.error().error.message;
    EXPECT_FALSE(outcome.error().maybeSent) << "the refused request was not looked at";
  };
  root.changes("user/changepw", R"({"name":"tenure","password":"next"})");
  expectCredentials();
  std::ofstream{options.passwordFile} << "next\n";
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  root.changes("user/delete", R"({"name":"tenure"})");
  expectCredentials();
  root.changes("user/add", R"({"name":"tenure","password":"next"})");
  root.changes("user/grant", R"({"user":"tenure","role":"tenure"})");
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  root.changes("disable", "{}");
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  root.changes("enable", "{}");
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
}

TEST(EtcdGateway, aSignedTokenThatEndsDuringAStream) {
  const EtcdCluster cluster{{"--users", "--jwt", "2s"}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  Heard heard;
  const auto stream = gateway->stream("/v3/watch", watchBody, 60s, heard.handlers());
  ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\""); }));
  const auto until = Clock::now() + 3s;
  ASSERT_TRUE(eventually([&] { return Clock::now() > until; }));
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 10s, Repeat::no), 200);
  EXPECT_TRUE(eventually([&] { return heard.hasLine("\"events\""); }));
  Heard anew;
  const auto next = gateway->stream("/v3/watch", watchBody, 60s, anew.handlers());
  EXPECT_TRUE(eventually([&] { return anew.hasLine("\"created\""); }));
}

TEST(EtcdGateway, aWrongPasswordIsToldAndReadAgain) {
  const EtcdCluster cluster{{"--users"}};
  const test::TempDir directory;
  EtcdStoreOptions options = optionsFor(cluster);
  options.passwordFile = directory.file("password");
  const auto gateway = makeHttpGateway(options, {});
  const auto none = ask(*gateway, "/v3/kv/put", put(aKey));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().error.errorClass, ErrorClass::credentials);
  EXPECT_NE(none.error().error.message.find("cannot be read"), std::string::npos) << none.error().error.message;
  EXPECT_FALSE(none.error().maybeSent);
  std::ofstream{options.passwordFile} << "wrong-secret\n";
  const auto wrong = ask(*gateway, "/v3/kv/put", put(aKey));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().error.errorClass, ErrorClass::credentials);
  EXPECT_NE(wrong.error().error.message.find("refused user \"tenure\""), std::string::npos)
      << wrong.error().error.message;
  EXPECT_EQ(wrong.error().error.message.find("wrong-secret"), std::string::npos);
  EXPECT_FALSE(wrong.error().maybeSent);
  Heard heard;
  const auto stream = gateway->stream("/v3/watch", watchBody, 30s, heard.handlers());
  EXPECT_TRUE(eventually([&] { return heard.endCount() == 1; }));
  std::ofstream{options.passwordFile} << "tenure-secret\n";
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
}

TEST(EtcdGateway, usersThatTheClusterDoesNotAskFor) {
  const EtcdCluster cluster{{}};
  const test::TempDir directory;
  EtcdStoreOptions options = optionsFor(cluster);
  options.user = "tenure";
  options.passwordFile = directory.file("password");
  std::ofstream{options.passwordFile} << "x\n";
  const auto gateway = makeHttpGateway(options, {});
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
}

TEST(EtcdGateway, aWrongAuthorityAndAMemberWithoutTls) {
  const EtcdCluster cluster{{"--tls"}};
  const test::TestAuthority stranger;
  EtcdStoreOptions options = optionsFor(cluster);
  options.caFile = stranger.caFile();
  const auto wrong = ask(*makeHttpGateway(options, {}), "/v3/kv/put", put(aKey));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().error.errorClass, ErrorClass::misconfigured) << wrong.error().error.message;
  EXPECT_FALSE(wrong.error().maybeSent);

  options = optionsFor(cluster);
  options.certificate = options.key = {};
  EXPECT_FALSE(ask(*makeHttpGateway(options, {}), "/v3/kv/put", put(aKey)));

  const EtcdCluster plain{{}};
  options = optionsFor(cluster);
  options.endpoints = {"https" + plain.endpoints()[0].substr(4)};
  const auto noTls = ask(*makeHttpGateway(options, {}), "/v3/kv/put", put(aKey));
  ASSERT_FALSE(noTls);
  EXPECT_EQ(noTls.error().error.errorClass, ErrorClass::misconfigured) << noTls.error().error.message;
}

/// Each member in turn is killed or frozen, so the leader is among them. A call has found another one in its time.
TEST(EtcdGateway, membersThatAreKilledOrFrozen) {
  for (const bool frozen : {false, true}) {
    for (std::size_t victim = 0; victim < 3; ++victim) {
      EtcdCluster cluster{{"--members", "3"}};
      const auto gateway = makeHttpGateway(optionsFor(cluster), {});
      expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
      Heard heard;
      const auto stream = gateway->stream("/v3/watch", watchBody, 2s, heard.handlers());
      ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\":true"); }));
      frozen ? cluster.freeze(victim) : cluster.kill(victim);
      // A new leader takes a second or more; a call of three seconds asks each member for one.
      EXPECT_TRUE(eventually([&] {
        const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 3s);
        return outcome && outcome->status == 200;
      }));
      const auto start = Clock::now();
      expectStatus(ask(*gateway, "/v3/kv/put", put(aKey), 30s), 200);
      EXPECT_LT(Clock::now() - start, 9s) << "the member that answered comes first: a frozen one would take ten";
      if (frozen) cluster.thaw(victim);
    }
  }
}

TEST(EtcdGateway, withoutAQuorumNothingIsPromisedAndTheStreamEnds) {
  EtcdCluster cluster{{"--members", "3"}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  Heard heard;
  EtcdStoreOptions last = optionsFor(cluster);
  last.endpoints = {cluster.endpoints()[2]};
  const auto other = makeHttpGateway(last, {});
  const auto stream = other->stream("/v3/watch", watchBody, 60s, heard.handlers());
  ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\":true"); }));
  cluster.freeze(0);
  cluster.freeze(1);
  const auto start = Clock::now();
  const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 1s);
  EXPECT_LT(Clock::now() - start, 5s);
  if (outcome) {  // the last member has noticed already
    EXPECT_GE(outcome->status, 500) << outcome->body;
  } else {
    EXPECT_TRUE(outcome.error().maybeSent);
    EXPECT_EQ(outcome.error().error.errorClass, ErrorClass::transient);
  }
  // The member says by itself that it has lost its leader.
  EXPECT_TRUE(eventually([&] { return heard.endCount() == 1; }));
  const auto late = ask(*other, "/v3/kv/put", put(aKey), 15s, Repeat::no);
  ASSERT_TRUE(late) << late.error().error.message;
  EXPECT_GE(late->status, 500) << late->body;
}

/// A request that may not be repeated goes to the next member only if nothing of it was sent.
TEST(EtcdGateway, aRequestThatIsNotRepeated) {
  test::TestServer silent{[](test::Peer& peer) { peer.waitForEnd(); }};
  const EtcdCluster cluster{{}};
  const std::string toSilent = "http://127.0.0.1:" + std::to_string(silent.port());
  const std::string toNobody = "http://127.0.0.1:" + std::to_string(test::closedPort());
  for (const auto repeat : {Repeat::no, Repeat::yes}) {
    const auto refused = makeHttpGateway({.endpoints = {toNobody, cluster.endpoints()[0]}}, {});
    const auto moved = ask(*refused, "/v3/kv/put", put(aKey), 3s, repeat);
    expectStatus(moved, 200);
    EXPECT_FALSE(moved->copiesOut);
    const auto gateway = makeHttpGateway({.endpoints = {toSilent, cluster.endpoints()[0]}}, {});
    const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 1s, repeat);
    ASSERT_EQ(outcome.has_value(), repeat == Repeat::yes);
    if (outcome) {
      EXPECT_TRUE(outcome->copiesOut);
      EXPECT_EQ(outcome->member, cluster.endpoints()[0]);
    } else {
      EXPECT_TRUE(outcome.error().maybeSent);
    }
  }
}

TEST(EtcdGateway, itsEndAnswersWhatIsUnderWay) {
  test::TestServer silent{[](test::Peer& peer) { peer.waitForEnd(); }};
  auto gateway = makeHttpGateway({.endpoints = {"http://127.0.0.1:" + std::to_string(silent.port())}}, {});
  std::promise<Outcome> promise;
  gateway->call("/v3/kv/put", "{}", 30s, Repeat::yes, [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
  ASSERT_TRUE(eventually([&] { return silent.open() == 1; }));
  gateway.reset();
  auto future = promise.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(future.get());
}

/// Two clusters would both give a lease away. The second one is refused by its name, for calls and for streams.
TEST(EtcdGateway, aMemberOfAnotherClusterIsNotBelieved) {
  EtcdCluster ours{{}};
  const EtcdCluster other{{}};
  std::atomic<int> errors{0};
  const Logger logger{LogLevel::error, [&](LogLevel, std::string_view) { ++errors; }};
  const auto gateway = makeHttpGateway({.endpoints = {ours.endpoints()[0], other.endpoints()[0]}}, logger);
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  ours.kill(0);
  for (const auto repeat : {Repeat::yes, Repeat::no}) {
    std::string told;
    // The killed member's connection may end only now, and what was sent on it is not sent again.
    EXPECT_TRUE(eventually([&] {
      const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey), 3s, repeat);
      EXPECT_FALSE(outcome);
      told = outcome ? outcome->body : outcome.error().error.message;
      return told.find(other.endpoints()[0] + " belongs to the cluster ") != std::string::npos;
    })) << told;
    EXPECT_NE(told.find(ours.endpoints()[0] + ", which answered first"), std::string::npos) << told;
  }
  EXPECT_EQ(errors, 1) << "it is logged once";
  Heard heard;
  const auto stream = gateway->stream("/v3/watch", watchBody, 30s, heard.handlers());
  EXPECT_TRUE(eventually([&] { return heard.endCount() == 1; }));
  EXPECT_FALSE(heard.hasLine("created"));
}

/// A call waits for the authentication that another one began, and neither waits beyond its own time.
TEST(EtcdGateway, aSlowAuthenticationBelongsToNoCall) {
  const test::TempDir directory;
  const std::string password = directory.file("password");
  std::ofstream{password} << "x\n";
  std::promise<void> goOn;
  test::TestServer server{[went = goOn.get_future().share()](test::Peer& peer) {
    for (std::string request = peer.readRequest(); !request.empty(); request = peer.readRequest()) {
      if (request.find("/v3/auth/authenticate") != std::string::npos) went.wait();
      if (!peer.reply(R"({"header":{"cluster_id":"1"},"token":"t"})")) return;
    }
  }};
  const auto gateway = makeHttpGateway(
      {.endpoints = {"http://127.0.0.1:" + std::to_string(server.port())}, .user = "tenure", .passwordFile = password},
      {});
  std::promise<Outcome> longer;
  const auto start = Clock::now();
  std::promise<Outcome> shorter;
  gateway->call("/v3/kv/put", "{}", 200ms, Repeat::yes,
                [&](Outcome outcome) { shorter.set_value(std::move(outcome)); });
  gateway->call("/v3/kv/put", "{}", 20s, Repeat::yes, [&](Outcome outcome) { longer.set_value(std::move(outcome)); });
  const Outcome first = shorter.get_future().get();
  EXPECT_LT(Clock::now() - start, 2s);
  ASSERT_FALSE(first);
  EXPECT_FALSE(first.error().maybeSent);
  goOn.set_value();
  expectStatus(longer.get_future().get(), 200);
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer lets no child of a process with threads start one
TEST(EtcdGateway, aForkedChildIsAnsweredAndTheParentGoesOn) {
  const EtcdCluster cluster{{}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  Heard heard;
  auto stream = gateway->stream("/v3/watch", watchBody, 30s, heard.handlers());
  ASSERT_TRUE(eventually([&] { return heard.hasLine("\"created\":true"); }));
  const int failed = test::inChild([&] {
    const auto outcome = ask(*gateway, "/v3/kv/put", put(aKey));
    if (outcome || outcome.error().maybeSent) return 1;
    if (outcome.error().error.message.find("forked child") == std::string::npos) return 2;
    Heard nothing;
    const auto none = gateway->stream("/v3/watch", watchBody, 30s, nothing.handlers());
    stream.reset();
    return 0;
  });
  EXPECT_EQ(failed, 0);
  expectStatus(ask(*gateway, "/v3/kv/put", put(aKey)), 200);
  EXPECT_TRUE(eventually([&] { return heard.hasLine("\"events\""); }));
}
#endif

TEST(EtcdGateway, aThousandCallsAtOnce) {
  const EtcdCluster cluster{{"--users"}};
  const auto gateway = makeHttpGateway(optionsFor(cluster), {});
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  for (int i = 0; i < 1000; ++i) {
    gateway->call("/v3/kv/put", put(aKey), 30s, Repeat::no,
                  [&](const Outcome& outcome) { outcome && outcome->status == 200 ? ++good : ++bad; });
  }
  EXPECT_TRUE((test::Eventually{40s, 0s}([&] { return good + bad == 1000; })));
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace tenure::etcd_store
