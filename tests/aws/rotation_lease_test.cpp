// A lease with credentials that are replaced continuously: the term must outlive them.
#include <iostream>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "client_fixture.hpp"
#include "fake_table.hpp"
#include "lockcore/port/lease_store.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto heartbeat = 200ms;

class RotationLeaseTest : public ClientTest {
 protected:
  RotationLeaseTest() {
    set("AWS_ENDPOINT_URL_DYNAMODB", service_.url());
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent_.url() + "/keys");
  }

  /// Keys that live for one or two seconds alternately; then the service refuses them.
  net::HttpOutcome issue() {
    const int number = ++issued_;
    const std::chrono::seconds lifetime{1 + number % 2};
    const std::string text = std::to_string(number);
    const Keys keys{"ASIA" + text, secretKey + text, tokenText + text};
    dynamo_.allow(keys, Clock::now() + lifetime);
    return reply(200, keysJson(keys, lifetime), {{"Date", httpDate(noon)}});
  }

  /// Checks the signature first, as the service does.
  net::HttpOutcome serve(const net::HttpRequest& request) {
    net::HttpOutcome checked = dynamo_.answer(request);
    if (checked->status != 200) return checked;
    return table_.answer(headerOf(request, "X-Amz-Target"), request.body);
  }

  std::shared_ptr<LeaseStore> makeStore() {
    DynamoDbStoreOptions options;
    options.table = "locks";
    return makeDynamoDbStore(options, make({}, true), logger());
  }

  std::atomic<int> issued_{0};
  FakeTable table_{};
  LocalServer service_{[this](const auto&, const net::HttpRequest& request) { return serve(request); }};
  LocalServer agent_{[this](const auto&, const auto&) { return issue(); }};
};

struct Story {
  std::atomic<int> elected{0};
  std::atomic<int> revoked{0};
  std::atomic<int> doubts{0};
  std::atomic<int> renewed{0};
  std::mutex mutex{};
  std::string words{};

  void tell(const std::string& text) {
    const std::lock_guard lock{mutex};
    words += text + '\n';
  }

  Listener listener() {
    Listener out;
    out.onElected = [this](const Leadership&) { ++elected; };
    out.onRevoked = [this](const TermEnd& why) {
      ++revoked;
      tell("revoked: " + why.detail);
    };
    out.onInDoubt = [this](const Doubt& doubt) {
      ++doubts;
      tell("in doubt: " + doubt.error.message);
    };
    out.onRenewed = [this](const Renewal&) { ++renewed; };
    return out;
  }
};

TEST_F(RotationLeaseTest, oneTermAndNoDoubt) {
  Story story;
  GroupOptions options;
  options.group = "rotation";
  options.candidate.id = "a";
  options.lease.duration = 3s;
  options.lease.heartbeat = heartbeat;
  const auto store = makeStore();
  auto group = Group::make(options, store, logger());
  ASSERT_TRUE(group);
  const tenure::test::LatenessProbe probe;
  LeaderElector elector{*group, story.listener()};
  elector.start();
  ASSERT_TRUE(eventually([&] { return elector.isLeader(); })) << logged();
  const auto token = elector.fencingToken();
  // Other threads use the same client without a pause, as the leases of a larger program do.
  std::atomic<int> failed{0};
  std::atomic<int> reads{0};
  const auto end = Clock::now() + 5s;
  std::vector<std::thread> load;
  for (int i = 0; i < 2; ++i) {
    load.emplace_back([&] {
      while (Clock::now() < end) {
        std::promise<bool> read;
        store->read({"rotation"}, {20s}, [&](const ReadOutcome& outcome) { read.set_value(outcome.has_value()); });
        if (!read.get_future().get()) ++failed;
        ++reads;
      }
    });
  }
  bool led = true;
  EXPECT_TRUE(eventually([&] {
    led = led && elector.isLeader();
    return Clock::now() >= end;
  }));
  for (std::thread& thread : load) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(reads, 100);
  EXPECT_TRUE(led);
  EXPECT_EQ(elector.fencingToken(), token);
  EXPECT_EQ(story.elected, 1);
  EXPECT_EQ(story.revoked, 0) << story.words;
  EXPECT_GE(story.renewed, 10);
  EXPECT_GE(issued_, 4) << "keys of one to two seconds";
  // A machine that stood still may have answered late, and keys may have ended meanwhile.
  const auto stoodStill = probe.worst();
  std::cout << "the machine stood still for up to " << stoodStill / 1us << " us\n";
  if (stoodStill < heartbeat) {
    EXPECT_EQ(story.doubts, 0) << story.words;
    EXPECT_EQ(dynamo_.refused(), 0) << "replaced ahead of their end";
  }
  EXPECT_EQ(elector.stop(), ReleaseResult::released);
}

/// The handler of a store's own call destroys the store and its client, on the network's thread.
TEST_F(RotationLeaseTest, aStoreMayGoInItsOwnHandler) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<LeaseStore> store = makeStore();
    LeaseStore& used = *store;
    std::atomic<int> ended{0};
    std::atomic<bool> allStarted{false};
    used.read({"one"}, {20s}, [&](const ReadOutcome& outcome) {
      EXPECT_TRUE(outcome) << outcome.error().message;
      EXPECT_TRUE(eventually([&] { return allStarted.load(); }));
      store.reset();
      ++ended;
    });
    constexpr int others = 5;
    for (int i = 0; i < others; ++i) used.read({"two"}, {20s}, [&](const ReadOutcome&) { ++ended; });
    used.ensureSchema({20s}, [&](const StoreStatus&) { ++ended; });
    allStarted = true;
    ASSERT_TRUE(eventually([&] { return ended == others + 2; })) << ended;
  }
}

TEST_F(RotationLeaseTest, aStoreMayGoWhenItsSchemaIsKnownToBeGood) {
  for (int round = 0; round < 50; ++round) {
    std::shared_ptr<LeaseStore> store = makeStore();
    LeaseStore& used = *store;
    std::promise<bool> first;
    used.ensureSchema({20s}, [&](const StoreStatus& status) { first.set_value(status.has_value()); });
    ASSERT_TRUE(first.get_future().get());
    std::atomic<bool> ended{false};
    used.ensureSchema({20s}, [&](const StoreStatus&) {
      store.reset();
      ended = true;
    });
    ASSERT_TRUE(eventually([&] { return ended.load(); }));
  }
}

}  // namespace
}  // namespace tenure::aws::test
