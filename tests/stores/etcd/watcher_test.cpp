// One stream for the store, as a hint: what is told, and that every end is followed by another stream.
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/stored/hint_watcher.hpp"
#include "lockcore/stores/etcd/src/hints.hpp"
#include "lockcore/stores/etcd/src/record_codec.hpp"
#include "simulation/etcd/sim_etcd_cluster.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using stored::HintWatcher;
using test::EtcdCluster;

/// Streams of a cluster in memory, which the test may also end or leave silent.
class StreamGateway final : public Gateway {
 public:
  explicit StreamGateway(EtcdCluster& cluster) : cluster_{cluster} {}
  void call(std::string_view /*path*/, std::string /*body*/, std::chrono::nanoseconds /*timeout*/, Repeat /*repeat*/,
            OutcomeHandler /*handler*/) override {}
  [[nodiscard]] std::shared_ptr<void> stream(std::string_view /*path*/, std::string body,
                                             std::chrono::nanoseconds /*silence*/, StreamHandlers handlers) override {
    ++streams;
    last = std::move(handlers);
    if (dead) return std::make_shared<int>();
    const std::uint64_t number = cluster_.watch(body, [line = last.onLine](const std::string& text) { line(text); });
    return {&streams, [this, number](void*) {
              ++ended;
              cluster_.unwatch(number);
            }};
  }
  [[nodiscard]] std::string describe() const override { return "test"; }

  int streams{0};
  int ended{0};
  bool dead{false};
  StreamHandlers last{};

 private:
  EtcdCluster& cluster_;
};

class EtcdWatcher : public testing::Test {
 protected:
  void write(std::uint64_t token, const std::string& version, bool released = false) {
    StoredRecord stored{{.holder = "h", .version = RecordVersion{version}, .leaseDuration = 1s}};
    stored.record.token = FencingToken{token};
    stored.record.released = released;
    cluster_.put("/t/lease/a", textOf(stored));
    scheduler_->runReady();
  }
  std::shared_ptr<void> watch() {
    auto handle = watcher_->watch({"a"}, [this] { ++hints_; });
    scheduler_->runReady();
    return handle;
  }
  /// How many hints came since the last call.
  int hints() { return std::exchange(hints_, 0); }

  EtcdCluster cluster_{};
  const std::shared_ptr<StreamGateway> gateway_ = std::make_shared<StreamGateway>(cluster_);
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<HintWatcher> watcher_ = std::make_shared<HintWatcher>(
      std::make_shared<EtcdHints>(gateway_, Keys{"/t"}, "etcd"), scheduler_, Logger{}, "etcd");
  int hints_{0};
};

TEST_F(EtcdWatcher, tellsChangesOfTheHolderAndNoHeartbeats) {
  const auto handle = watch();
  EXPECT_EQ(hints(), 1) << "what was before the stream is not known";
  write(1, "v1");
  EXPECT_EQ(hints(), 1);
  write(1, "v2");
  write(1, "v3");
  EXPECT_EQ(hints(), 0) << "heartbeats";
  write(1, "v4", true);
  EXPECT_EQ(hints(), 1) << "a release";
  write(2, "v5");
  EXPECT_EQ(hints(), 1) << "a new term";
  cluster_.put("/t/lease/a", "rubbish");
  EXPECT_EQ(hints(), 1);
  cluster_.erase("/t/lease/a");
  EXPECT_EQ(hints(), 1);
  cluster_.put("/t/lease/b", "{}");
  cluster_.put("/t/fence/a", "{}");
  EXPECT_EQ(hints(), 0) << "another lease, and the counter";
}

TEST_F(EtcdWatcher, thereIsOneStreamAndNoneWhileNobodyWatches) {
  EXPECT_EQ(gateway_->streams, 0);
  auto one = watch();
  auto two = watch();
  auto loss = watcher_->watchLoss([] {});
  scheduler_->runReady();
  EXPECT_EQ(gateway_->streams, 1);
  one.reset();
  two.reset();
  scheduler_->runReady();
  EXPECT_EQ(gateway_->ended, 0);
  loss.reset();
  scheduler_->runReady();
  EXPECT_EQ(gateway_->ended, 1);
  const auto again = watch();
  EXPECT_EQ(gateway_->streams, 2);
}

TEST_F(EtcdWatcher, everyEndIsFollowedByAnotherStreamAfterAPauseThatGrows) {
  const auto handle = watch();
  const std::vector<std::string> ends{
      R"({"result":{"header":{"revision":"4"},"canceled":true,"compact_revision":"3"}})",
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})", "nonsense"};
  std::chrono::nanoseconds pause = HintWatcher::firstPause;
  for (int round = 1; round <= 12; ++round) {
    static_cast<void>(hints());
    if (round % 4 == 0) {
      gateway_->last.onEnd("cut off");
    } else {
      gateway_->last.onLine(ends[static_cast<std::size_t>(round) % ends.size()]);
    }
    scheduler_->runReady();
    EXPECT_EQ(gateway_->ended, round);
    scheduler_->advance(pause - 1ns);
    EXPECT_EQ(gateway_->streams, round) << "too early";
    scheduler_->advance(1ns);
    EXPECT_EQ(gateway_->streams, round + 1);
    EXPECT_EQ(hints(), 1) << "what was missed is not known";
    pause = std::min<std::chrono::nanoseconds>(2 * pause, HintWatcher::longestPause);
  }
  write(1, "v1");
  gateway_->last.onEnd("cut off");
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(gateway_->streams, 14) << "a stream that showed an event was a good one";
}

/// Where nothing happens for long, silence ends every stream, and none of them ever shows an event.
TEST_F(EtcdWatcher, aStreamThatHasLastedLongIsFollowedByAnotherAtOnce) {
  const auto handle = watch();
  for (int round = 1; round <= 8; ++round) {
    scheduler_->advance(EtcdHints::silence);
    gateway_->last.onEnd("nothing has come");
    scheduler_->runReady();
    scheduler_->advance(HintWatcher::firstPause);
    EXPECT_EQ(gateway_->streams, round + 1);
  }
}

TEST_F(EtcdWatcher, aStreamThatEndsTwiceAndLateLinesCountOnce) {
  const auto handle = watch();
  const StreamHandlers old = gateway_->last;
  old.onEnd("cut off");
  old.onEnd("cut off");
  scheduler_->advance(1s);
  EXPECT_EQ(gateway_->streams, 2);
  static_cast<void>(hints());
  old.onLine(R"({"result":{"header":{},"created":true}})");
  EXPECT_EQ(hints(), 0);
}

TEST_F(EtcdWatcher, theLossOfKeysIsTold) {
  int losses = 0;
  const auto handle = watcher_->watchLoss([&] { ++losses; });
  scheduler_->runReady();
  EXPECT_EQ(losses, 0) << "the start is none";
  cluster_.put("/t/lease/a", "{}");
  cluster_.put("/t/fence/a", "{}");
  // A removal by the store: the record goes and the counter is written, in one step.
  ASSERT_EQ(cluster_
                .txn(R"({"success":[{"request_delete_range":{"key":"L3QvbGVhc2UvYQ=="}},)"
                     R"({"request_put":{"key":"L3QvZmVuY2UvYQ==","value":"e30="}}]})")
                .status,
            200);
  EXPECT_EQ(losses, 0);
  cluster_.put("/t/lease/a", "{}");
  cluster_.erase("/t/lease/a");
  EXPECT_EQ(losses, 1);
  cluster_.erase("/t/fence/a");
  EXPECT_EQ(losses, 2);
}

TEST_F(EtcdWatcher, nothingIsToldAfterTheHandleAndTheWatcherEnd) {
  auto handle = watch();
  handle.reset();
  static_cast<void>(hints());
  write(1, "v1");
  EXPECT_EQ(hints(), 0);
  handle = watch();
  watcher_->close();
  gateway_->last.onEnd("closed");
  scheduler_->advance(1min);
  EXPECT_EQ(gateway_->streams, 2);
}

}  // namespace
}  // namespace tenure::etcd_store
