// One watch for the store, as a hint: what is told, where it goes on, and that every end is followed by another.
#include "lockcore/stores/kubernetes/src/hints.hpp"

#include <vector>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/hint_watcher.hpp"
#include "lockcore/stores/kubernetes/src/store.hpp"
#include "simulation/kubernetes/sim_api_server.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;
using stored::HintWatcher;

/// Requests and streams of a server in memory, which the test may also end or refuse.
class StreamGateway final : public Gateway {
 public:
  StreamGateway(test::ApiServer& server, std::shared_ptr<test::ManualScheduler> scheduler)
      : server_{server}, scheduler_{std::move(scheduler)} {}

  void call(Request request, std::chrono::nanoseconds /*timeout*/, OutcomeHandler handler) override {
    lists += request.method == "GET" ? 1 : 0;
    if (!request.body.empty()) lastBody = request.body;
    scheduler_->post([this, request, handler] {
      const bool all = request.target.find("labelSelector") != std::string::npos;
      if (refuses && *refuses == all) {
        const test::ApiAnswer no =
            test::ApiServer::failure(refusal, refusal == 403 ? "Forbidden" : "Unauthorized", "no");
        return handler(Reply{no.status, no.body});
      }
      const test::ApiAnswer answer = server_.handle(request.method, request.target, request.body);
      handler(Reply{answer.status, answer.body});
    });
  }
  [[nodiscard]] std::shared_ptr<void> stream(std::string target, std::chrono::nanoseconds /*silence*/,
                                             StreamHandlers handlers) override {
    targets.push_back(target);
    last = std::move(handlers);
    const auto live = std::make_shared<bool>(true);
    const auto line = [this, scheduler = scheduler_, live, onLine = last.onLine](const std::string& text) {
      scheduler->post([=, this] {
        if (*live && !silent) onLine(text);
      });
    };
    const std::uint64_t number = server_.watch(target, line);
    return {live.get(), [this, number, live](void*) {
              *live = false;
              ++ended;
              server_.unwatch(number);
            }};
  }
  [[nodiscard]] std::string describe() const override { return "test"; }

  bool silent{false};  ///< the streams live, and tell nothing
  int lists{0};
  std::string lastBody{};
  int ended{0};
  std::optional<bool> refuses{};  ///< to list all (true), or a single one (false)
  int refusal{403};               ///< the status
  std::vector<std::string> targets{};
  StreamHandlers last{};

 private:
  test::ApiServer& server_;
  const std::shared_ptr<test::ManualScheduler> scheduler_;
};

class KubernetesHints : public testing::Test {
 protected:
  void apply(WriteRequest request, std::chrono::nanoseconds timeout = 10s) {
    last_ = request.record.version;
    store_->write(std::move(request), {timeout},
                  [](WriteOutcome outcome) { ASSERT_TRUE(std::holds_alternative<Applied>(outcome)); });
    scheduler_->runReady();
  }
  void take(const std::string& name, const std::string& holder = "h") {
    std::vector<RecordVersion> seen;
    store_->read({name}, {10s}, [&](ReadOutcome read) {
      if (*read) seen.push_back((*read)->version);
    });
    scheduler_->runReady();
    apply(contract::acquire({name}, holder, seen));
  }
  std::shared_ptr<void> watch(const std::string& name = "a") {
    auto handle = watcher_->watch({name}, [this, name] { ++hints_[name]; });
    scheduler_->runReady();
    return handle;
  }
  /// How many hints came since the last call.
  int hints(const std::string& name = "a") {
    scheduler_->runReady();
    return std::exchange(hints_[name], 0);
  }
  [[nodiscard]] std::size_t streams() const { return gateway_->targets.size(); }
  [[nodiscard]] bool isAboutAll() const { return gateway_->targets.back().find("labelSelector") != std::string::npos; }

  test::ApiServer server_{};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<StreamGateway> gateway_ = std::make_shared<StreamGateway>(server_, scheduler_);
  std::vector<std::string> log_{};
  const Logger logger_{LogLevel::warn, [this](LogLevel, std::string_view line) { log_.emplace_back(line); }};
  const CorePtr core_ = std::make_shared<Core>(Settings{"default"}, "kubernetes", logger_, scheduler_, gateway_);
  const std::shared_ptr<HintWatcher> watcher_ =
      std::make_shared<HintWatcher>(std::make_shared<LeaseHints>(core_), scheduler_, logger_, "kubernetes");
  /// Another process's, which writes.
  const std::shared_ptr<LeaseStore> store_ =
      makeStore({"default"}, {std::make_shared<StreamGateway>(server_, scheduler_), {}, scheduler_});
  RecordVersion last_{};
  std::map<std::string, int> hints_{};
};

TEST_F(KubernetesHints, tellsChangesOfTheHolderAndNoHeartbeats) {
  take("a");
  const auto handle = watch();
  EXPECT_EQ(hints(), 1) << "what was before is not known";
  apply(contract::renew({"a"}, "h", {last_}));
  EXPECT_EQ(hints(), 1) << "whose term it was is not known either";
  apply(contract::renew({"a"}, "h", {last_}));
  apply(contract::renew({"a"}, "h", {last_}));
  EXPECT_EQ(hints(), 0) << "heartbeats";
  server_.edit("a", [](auto& lease) { lease["metadata"].get_object()["labels"].get_object()["x"] = "y"; });
  EXPECT_EQ(hints(), 0) << "a label";
  apply(contract::release({"a"}, "h", {last_}));
  EXPECT_EQ(hints(), 1) << "a release";
  take("a");
  EXPECT_EQ(hints(), 1) << "a new term";
  server_.edit("a", [](auto& lease) { lease["spec"] = boost::json::object{}; });
  EXPECT_EQ(hints(), 1);
  server_.erase("a");
  EXPECT_EQ(hints(), 1);
  take("b");
  EXPECT_EQ(hints(), 0) << "another lease";
}

/// client-go's heartbeats are none either, though its records have no token.
TEST_F(KubernetesHints, tellsTakeoversByClientGoAndNotItsHeartbeats) {
  take("a");
  const auto handle = watch();
  static_cast<void>(hints());
  const auto write = [&](const std::string& holder, int transitions, const std::string& seconds) {
    server_.edit("a", [&](auto& lease) {
      lease["spec"] = boost::json::object{{"holderIdentity", holder},
                                          {"leaseTransitions", transitions},
                                          {"renewTime", "2026-11-26T08:00:" + seconds + ".000000Z"}};
    });
  };
  write("client-go-1", 2, "10");
  EXPECT_EQ(hints(), 1);
  write("client-go-1", 2, "12");
  write("client-go-1", 2, "14");
  EXPECT_EQ(hints(), 0);
  write("client-go-2", 3, "16");
  EXPECT_EQ(hints(), 1);
  write("", 3, "18");
  EXPECT_EQ(hints(), 1);
}

/// What a candidate does that has watched a holder for a whole lease.
class KubernetesReleases : public KubernetesHints {
 protected:
  void SetUp() override {
    take("a", "bob");
    watching_ = candidate_->watch({"a"}, [] {});
    scheduler_->runReady();
    scheduler_->advance(10s);
    apply(contract::renew({"a"}, "bob", {last_}));
    ASSERT_FALSE(read().released);
    gateway_->lists = 0;
  }
  LeaseRecord read(bool mayBeLate = true) {
    std::optional<LeaseRecord> record;
    candidate_->read({"a"}, {1s, mayBeLate}, [&](const ReadOutcome& answer) { record = answer.value(); });
    scheduler_->runReady();
    return record.value();
  }
  WriteOutcome acquire(const RecordVersion& version) {
    std::optional<WriteOutcome> outcome;
    candidate_->write(contract::acquire({"a"}, "alice", {version}), {1s},
                      [&](WriteOutcome answer) { outcome = std::move(answer); });
    scheduler_->runReady();
    return outcome.value();
  }

  const std::shared_ptr<LeaseStore> candidate_ = makeStore({"default"}, {gateway_, {}, scheduler_});
  std::shared_ptr<void> watching_{};
};

TEST_F(KubernetesReleases, areTakenByOnePutThatRequiresUidAndResourceVersion) {
  apply(contract::release({"a"}, "bob", {last_}));
  const LeaseRecord told = read();
  ASSERT_TRUE(told.released);
  const auto lease =
      boost::json::parse(server_.handle("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a", "").body);
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire(told.version)));
  EXPECT_EQ(gateway_->lists, 0) << "the watch has shown the object";
  const auto put = boost::json::parse(gateway_->lastBody);
  for (const char* member : {"uid", "resourceVersion"}) {
    EXPECT_EQ(put.at("metadata").at(member), lease.at("metadata").at(member)) << member;
  }
}

/// Whoever asks for a lock is not told what a stream that hangs has shown last.
TEST_F(KubernetesReleases, onlyAReadThatMayBeLateIsAnsweredByTheWatch) {
  const RecordVersion before = read().version;
  gateway_->silent = true;
  apply(contract::renew({"a"}, "bob", {last_}));
  EXPECT_EQ(read().version, before) << "a candidate that waits has no need to ask";
  EXPECT_EQ(gateway_->lists, 0);
  EXPECT_EQ(read(false).version, last_);
  EXPECT_EQ(read().version, last_) << "what was asked is known to all";
}

TEST_F(KubernetesReleases, aReleaseThatTheWatchHasShownIsNoAnswerToAReadThatMayNotBeLate) {
  apply(contract::release({"a"}, "bob", {last_}));
  gateway_->silent = true;
  take("a", "carol");
  EXPECT_EQ(read(false).holder, "carol");
}

TEST_F(KubernetesReleases, anObjectThatWasMadeAnewIsNotTakenForTheOneThatWasReleased) {
  apply(contract::release({"a"}, "bob", {last_}));
  const LeaseRecord told = read();
  ASSERT_TRUE(told.released);
  server_.erase("a");
  take("a", "carol");
  EXPECT_TRUE(std::holds_alternative<Conflict>(acquire(told.version)));
  EXPECT_EQ(gateway_->lists, 1) << "one read follows";
}

TEST_F(KubernetesHints, thereIsOneStreamAndNoneWhileNobodyWatches) {
  EXPECT_EQ(streams(), 0U);
  auto one = watch();
  auto two = watch();
  auto loss = watcher_->watchLoss([] {});
  scheduler_->runReady();
  EXPECT_EQ(streams(), 1U);
  EXPECT_EQ(gateway_->lists, 1);
  one.reset();
  two.reset();
  scheduler_->runReady();
  EXPECT_EQ(gateway_->ended, 0);
  loss.reset();
  scheduler_->runReady();
  EXPECT_EQ(gateway_->ended, 1);
}

TEST_F(KubernetesHints, aStreamThatEndsGoesOnWhereItWasAndNothingIsMissed) {
  take("a");
  const auto handle = watch();
  take("a");
  static_cast<void>(hints());
  gateway_->last.onEnd({0, "", "its time is over"});
  scheduler_->runReady();
  take("a");
  EXPECT_EQ(hints(), 0) << "nobody tells just now";
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(streams(), 2U);
  EXPECT_EQ(gateway_->lists, 1) << "it needs no listing";
  EXPECT_EQ(hints(), 1);
}

TEST_F(KubernetesHints, bookmarksMoveThePlace) {
  const auto handle = watch();
  take("other");
  server_.bookmark();
  scheduler_->runReady();
  gateway_->last.onEnd({0, "", "its time is over"});
  scheduler_->runReady();
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_NE(gateway_->targets.back().find("resourceVersion=" + std::to_string(server_.revision()) + "&"),
            std::string::npos)
      << gateway_->targets.back();
}

TEST_F(KubernetesHints, whereThePlaceIsForgottenAListingComesFirst) {
  const auto handle = watch();
  static_cast<void>(hints());
  take("other");
  server_.forgetHistory();
  gateway_->last.onEnd({0, "", "cut off"});
  scheduler_->runReady();
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(gateway_->lists, 1);
  scheduler_->advance(2 * HintWatcher::firstPause);
  EXPECT_EQ(gateway_->lists, 2) << "the stream said that it is too old";
  EXPECT_EQ(hints(), 1) << "what was missed is not known";
  take("a");
  EXPECT_EQ(hints(), 2) << "the object is made before the record";
  const test::ApiAnswer gone = test::ApiServer::failure(410, "Expired", "too old resource version");
  gateway_->last.onEnd({410, gone.body, "not accepted"});
  scheduler_->runReady();
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(gateway_->lists, 3);
}

TEST_F(KubernetesHints, aListingLeadsPastALineThatIsTooLong) {
  const auto handle = watch();
  static_cast<void>(hints());
  take("other");
  gateway_->last.onEnd({.why = "a line is too long", .lineTooLong = true});
  scheduler_->runReady();
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(gateway_->lists, 2);
  EXPECT_NE(gateway_->targets.back().find("resourceVersion=" + std::to_string(server_.revision()) + "&"),
            std::string::npos)
      << gateway_->targets.back();
  EXPECT_EQ(hints(), 1) << "what was missed is not known";
}

TEST_F(KubernetesHints, everyEndIsFollowedByAnotherStreamAfterAPauseThatGrows) {
  const auto handle = watch();
  std::chrono::nanoseconds pause = HintWatcher::firstPause;
  for (std::size_t round = 1; round <= 12; ++round) {
    switch (round % 3) {
      case 0:
        gateway_->last.onEnd({0, "", "cut off"});
        break;
      case 1:
        gateway_->last.onLine("nonsense");
        break;
      default:
        gateway_->last.onLine(R"({"type":"ERROR","object":{"status":"Failure","code":500}})");
    }
    scheduler_->runReady();
    EXPECT_EQ(gateway_->ended, static_cast<int>(round));
    scheduler_->advance(pause - 1ns);
    EXPECT_EQ(streams(), round) << "too early";
    scheduler_->advance(1ns);
    EXPECT_EQ(streams(), round + 1);
    pause = std::min<std::chrono::nanoseconds>(2 * pause, HintWatcher::longestPause);
  }
  take("a");
  gateway_->last.onEnd({0, "", "cut off"});
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(streams(), 14U) << "a stream that showed an event was a good one";
}

TEST_F(KubernetesHints, aSingleLeaseIsWatchedByItsName) {
  auto a = watch("a");
  EXPECT_FALSE(isAboutAll()) << "also where a client made it that sets no label, or a role names the Lease";
  auto loss = watcher_->watchLoss([this] { ++hints_["loss"]; });
  a.reset();
  scheduler_->runReady();
  EXPECT_EQ(streams(), 1U) << "a leader hears of the loss of the lease that it has just won";
  take("a");
  server_.erase("a");
  EXPECT_EQ(hints("loss"), 1);
  const auto b = watch("b");
  EXPECT_EQ(streams(), 2U);
  EXPECT_TRUE(isAboutAll()) << "it may hold another one";
  EXPECT_EQ(hints("b"), 1);
  take("b");
  EXPECT_EQ(hints("b"), 2) << "the object is made before the record";
  take("a");
  server_.erase("a");
  EXPECT_EQ(hints("loss"), 1);
}

TEST_F(KubernetesHints, whoMayNotWatchIsToldOnceAndAsksSeldom) {
  gateway_->refuses = false;
  const auto handle = watch();
  EXPECT_EQ(streams(), 0U);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("Grant list and watch on leases"), std::string::npos) << log_[0];
  scheduler_->advance(59s);
  EXPECT_EQ(gateway_->lists, 1);
  scheduler_->advance(1s);
  EXPECT_EQ(gateway_->lists, 2);
  EXPECT_EQ(log_.size(), 1U) << "once";
  gateway_->refuses.reset();
  scheduler_->advance(60s);
  EXPECT_EQ(streams(), 1U);
}

/// A role that names a Lease allows its watch, and no other.
TEST_F(KubernetesHints, whoMayNotWatchAllWatchesASingleOneAgain) {
  gateway_->refuses = true;
  auto a = watch("a");
  const auto b = watch("b");
  EXPECT_EQ(streams(), 1U) << "all are refused";
  a.reset();
  scheduler_->advance(LeaseHints::refusedPause);
  EXPECT_EQ(streams(), 2U);
  EXPECT_FALSE(isAboutAll());
}

/// A token ends and another one follows: that says nothing about rights.
TEST_F(KubernetesHints, aTokenThatIsRefusedOnceDoesNotNarrowTheWatch) {
  gateway_->refuses = true;
  gateway_->refusal = 401;
  auto a = watch("a");
  const auto b = watch("b");
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("Check the token or the certificate"), std::string::npos) << log_[0];
  EXPECT_EQ(log_[0].find("Grant"), std::string::npos) << log_[0];
  gateway_->refuses.reset();
  a.reset();
  scheduler_->advance(LeaseHints::refusedPause);
  EXPECT_EQ(streams(), 2U);
  EXPECT_TRUE(isAboutAll()) << "it may hold the other one";
}

TEST_F(KubernetesHints, aMissingRightIsToldAlsoAfterARefusedToken) {
  gateway_->refuses = false;
  gateway_->refusal = 401;
  const auto a = watch("a");
  gateway_->refusal = 403;
  scheduler_->advance(LeaseHints::refusedPause);
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_NE(log_[1].find("Grant list and watch"), std::string::npos) << log_[1];
}

/// As soon as a stream for all is accepted the right is there.
TEST_F(KubernetesHints, aRightThatIsGivenLaterWidensTheWatchAgain) {
  gateway_->refuses = true;
  auto a = watch("a");
  auto b = watch("b");
  gateway_->refuses.reset();
  scheduler_->advance(LeaseHints::refusedPause);
  EXPECT_TRUE(isAboutAll());
  take("a");
  b.reset();
  gateway_->last.onEnd({0, "", "its time is over"});
  scheduler_->runReady();
  scheduler_->advance(HintWatcher::firstPause);
  EXPECT_EQ(streams(), 3U);
  EXPECT_TRUE(isAboutAll()) << "it may hold the other one";
}

TEST_F(KubernetesHints, theLossOfALeaseIsToldAndRemovalsByTheStoreAreNone) {
  const auto handle = watcher_->watchLoss([this] { ++hints_["loss"]; });
  scheduler_->runReady();
  EXPECT_EQ(hints("loss"), 0) << "the start is none";
  take("a");
  WriteRequest removal = contract::release({"a"}, "h", {last_});
  removal.removes = true;
  apply(removal);
  EXPECT_EQ(hints("loss"), 0);
  server_.erase("a");
  EXPECT_EQ(hints("loss"), 1);
}

/// A leader must not believe in a term for a heartbeat more.
TEST_F(KubernetesHints, whereAnotherClientWritesOverOursThatIsToldOnce) {
  const auto handle = watcher_->watchLoss([this] { ++hints_["loss"]; });
  scheduler_->runReady();
  take("a");
  const auto write = [&](const std::string& holder, const std::string& seconds) {
    server_.edit("a", [&](auto& lease) {
      lease["spec"] = boost::json::object{{"holderIdentity", holder},
                                          {"leaseTransitions", 1},
                                          {"renewTime", "2026-11-26T08:00:" + seconds + ".000000Z"}};
    });
  };
  EXPECT_EQ(hints("loss"), 0);
  write("", "10");
  EXPECT_EQ(hints("loss"), 1);
  write("client-go-1", "12");
  write("client-go-1", "14");
  EXPECT_EQ(hints("loss"), 0) << "its heartbeats";
  take("a");
  write("client-go-1", "16");
  EXPECT_EQ(hints("loss"), 1);
}

TEST_F(KubernetesHints, nothingIsToldAfterTheHandleAndTheWatcherEnd) {
  auto handle = watch();
  handle.reset();
  static_cast<void>(hints());
  take("a");
  EXPECT_EQ(hints(), 0);
  const auto again = watch();
  static_cast<void>(hints());
  watcher_->close();
  const std::size_t before = streams();
  gateway_->last.onEnd({0, "", "cut off"});
  scheduler_->advance(60s);
  EXPECT_EQ(streams(), before);
}

TEST(KubernetesWatchOption, withoutWatchesThereIsNone) {
  test::ApiServer server;
  const auto scheduler = std::make_shared<test::ManualScheduler>();
  const auto gateway = std::make_shared<StreamGateway>(server, scheduler);
  const auto store = makeStore({"default"}, {gateway, {}, scheduler, false});
  EXPECT_EQ(store->watch({"a"}, [] {}), nullptr);
  EXPECT_EQ(extended(store)->watchLoss([] {}), nullptr);
}

}  // namespace
}  // namespace tenure::kubernetes_store
