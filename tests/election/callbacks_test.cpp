// The contract of Listener: what may be called from a callback, exceptions, several listeners, and the end of it all.
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

enum class Moment { elected, revoked, inDoubt, renewed, leaderChanged };

std::string nameOfMoment(const testing::TestParamInfo<Moment>& info) {
  constexpr std::array names{"onElected", "onRevoked", "onInDoubt", "onRenewed", "onLeaderChanged"};
  return names[static_cast<std::size_t>(info.param)];
}

/// Each case in each callback, with callbacks on the library's own threads and on an executor.
class InEachCallback : public testing::TestWithParam<Moment> {
 protected:
  /// A listener that records terms and does `what` once, at the given moment.
  Listener doing(std::function<void()> what) {
    auto once = [this, alive = alive_, what = std::move(what)] {
      if (!done_.exchange(true)) what();
    };
    Listener listener = record_.terms();
    const auto before = [](auto& callback, auto call) {
      callback = [inner = std::move(callback), call](const auto& argument) {
        if (inner) inner(argument);
        call();
      };
    };
    if (GetParam() == Moment::elected) before(listener.onElected, once);
    if (GetParam() == Moment::revoked) before(listener.onRevoked, once);
    if (GetParam() == Moment::inDoubt) before(listener.onInDoubt, once);
    if (GetParam() == Moment::renewed) before(listener.onRenewed, once);
    if (GetParam() == Moment::leaderChanged) before(listener.onLeaderChanged, once);
    return listener;
  }

  /// Makes all five callbacks of the elector happen.
  void provoke(const Candidate& a) {
    a->start();
    (void)stage_.advanceUntil([&] { return done_ || record_.count("elected") == 1; });
    a.store->set(Operation::renew, Fault::rejected);
    (void)stage_.advanceUntil([&] { return done_.load(); }, 1'500ms);
    a.store->set(Operation::renew, Fault::none);
    (void)stage_.advanceUntil([&] { return done_.load(); }, 2s);
    // In a late call of another moment, on the library's own threads, it is being destroyed.
    if (GetParam() == Moment::revoked && !done_) a->stepDown();
    // On the library's own threads the call may come a little after the time that caused it.
    ASSERT_TRUE(eventually([&] {
      stage_.settle();
      return done_.load();
    }));
  }
  void expectAllTold() {
    EXPECT_TRUE(stage_.advanceUntil([&] { return record_.count("elected") == record_.count("revoked"); }, 10s));
  }

  Stage stage_;
  Record record_;
  std::atomic<bool> done_{false};
  std::shared_ptr<int> alive_{std::make_shared<int>()};  ///< shared with the listener: destroyed with the elector
};

INSTANTIATE_TEST_SUITE_P(Callbacks, InEachCallback,
                         testing::Values(Moment::elected, Moment::revoked, Moment::inDoubt, Moment::renewed,
                                         Moment::leaderChanged),
                         nameOfMoment);

TEST_P(InEachCallback, stopReturnsAtOnceAndIsCarriedOutAfterwards) {
  Candidate a;
  ReleaseResult inside{};
  a = stage_.candidateWith("a", doing([&] { inside = a->stop(); }));
  provoke(a);
  EXPECT_EQ(inside, ReleaseResult::unknown);
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->status().lease.state == LeaseState::stopped; }, 5s));
  expectAllTold();
  EXPECT_NE(a->stop(), ReleaseResult::unknown) << "now it is known";
}

TEST_P(InEachCallback, theElectorMayBeDestroyed) {
  LeaderElector* raw = nullptr;
  Candidate a;
  a = stage_.candidateWith("a", doing([&] { delete raw; }));
  raw = a.elector.release();  // from here on the callback owns it
  Candidate borrowed{a.store, nullptr, {raw, {&stage_}}};
  provoke(borrowed);
  (void)borrowed.elector.release();
  stage_.advance(1s);
  expectAllTold();
  const auto record = stage_.stored();
  EXPECT_TRUE(!record || record->released);
}

TEST_P(InEachCallback, theElectorMayBeDestroyedOnThreadsOfTheLibrary) {
  std::promise<LeaderElector*> raw;
  const auto known = raw.get_future().share();
  auto store = std::make_shared<FaultStore>(stage_.memory, stage_.clock);
  Candidate made = stage_.threaded("a", doing([known] { delete known.get(); }));
  raw.set_value(made.elector.get());
  provoke(made);
  (void)made.elector.release();
  EXPECT_TRUE(eventually([&] {
    stage_.advance(10ms);
    return record_.count("elected") == record_.count("revoked");
  }));
  EXPECT_TRUE(eventually([&] {
    stage_.advance(10ms);
    return alive_.use_count() == 1;
  })) << "destroyed in a callback, it ends afterwards on its own threads, which this fixture must outlive";
}

TEST_P(InEachCallback, everythingElseMayBeCalled) {
  Candidate a;
  a = stage_.candidateWith("a", doing([&] {
                             a->start();
                             (void)a->isLeader();
                             (void)a->fencingToken();
                             (void)a->remaining();
                             (void)a->status();
                             EXPECT_THROW(a->addListener({}), std::logic_error);
                             a->stepDown("from a callback");
                           }));
  provoke(a);
  stage_.stop(a, 10ms);
  expectAllTold();
}

TEST_P(InEachCallback, anExceptionIsContainedAndLogged) {
  const Candidate a = stage_.candidateWith("a", doing([&] { throw std::runtime_error{"thrown by a callback"}; }));
  provoke(a);
  EXPECT_TRUE(stage_.logged("thrown by a callback"));
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); })) << "the candidacy goes on";
  if (GetParam() == Moment::elected) {
    EXPECT_EQ(record_.count("revoked 1 fatal"), 1);
  }
}

TEST_P(InEachCallback, whatIsNoExceptionIsContainedToo) {
  const Candidate a = stage_.candidateWith("a", doing([&] { throw 42; }));
  provoke(a);
  EXPECT_TRUE(stage_.logged("threw: something that is not a std::exception"));
}

class Callbacks : public testing::Test {
 protected:
  Stage stage_;
};

TEST_F(Callbacks, severalListenersAreToldInOrderAlsoIfOneThrows) {
  Record all;
  const auto speaker = [&](const std::string& name, bool throws) {
    Listener listener;
    listener.onElected = [&all, name, throws](const Leadership&) {
      all.add(name + " elected");
      if (throws) throw std::runtime_error{name + " is ill"};
    };
    listener.onRevoked = [&all, name, throws](const TermEnd& why) {
      all.add(name + " revoked " + std::string{toString(why.reason)});
      if (throws) throw std::runtime_error{name + " is ill"};
    };
    return listener;
  };
  const Candidate a = stage_.candidateWith("a", speaker("first", false));
  a->addListener(speaker("second", true));
  a->addListener({});
  a->addListener(speaker("third", false));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return all.count("third revoked") == 1; }));
  EXPECT_EQ(all.lines(), (Lines{"first elected", "second elected", "third elected", "first revoked fatal",
                                "second revoked fatal", "third revoked fatal"}));
  EXPECT_TRUE(stage_.stored()->released) << "after the last of them returned";
}

TEST_F(Callbacks, stopMayBeCalledByACallbackOfTheStopToken) {
  for (int round = 0; round < 20; ++round) {
    Stage stage;
    Record record;
    LeaderElector* elector = nullptr;
    std::atomic<int> stopped{0};
    std::unique_ptr<std::stop_callback<std::function<void()>>> onStop;
    Listener listener = record.terms();
    listener.onElected = [&](const Leadership& term) {
      onStop = std::make_unique<std::stop_callback<std::function<void()>>>(term.stopToken(), [&] {
        elector->stop();
        ++stopped;
      });
      record.add("elected");
    };
    const Candidate a = stage.candidateWith("a", std::move(listener));
    elector = a.elector.get();
    a->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }));
    a->stepDown();
    EXPECT_TRUE(eventually([&] {
      stage.settle();
      return stopped == 1;
    }));
    EXPECT_EQ(record.count("revoked"), 1);
  }
}

/// A callback of the stop token that blocks delays nothing but its own thread.
TEST_F(Callbacks, aBlockedStopCallbackDelaysNeitherOnRevokedNorOtherElectors) {
  std::promise<void> release;
  const std::shared_future<void> released{release.get_future()};
  std::unique_ptr<std::stop_callback<std::function<void()>>> onStop;
  Record record;
  Listener listener = record.terms();
  listener.onElected = [&](const Leadership& term) {
    onStop = std::make_unique<std::stop_callback<std::function<void()>>>(term.stopToken(), [&] { released.wait(); });
    record.add("elected");
  };
  const Candidate a = stage_.candidateWith("a", std::move(listener));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("elected") == 1; }));
  a->requestStop();
  stage_.clock->runReady();
  ASSERT_TRUE(eventually([&] { return onStop != nullptr && stage_.executor->waiting() > 0; }));
  // onRevoked fires the token itself if the other thread was slow; so let that thread run first.
  const Candidate b = stage_.candidate("b", [](GroupOptions& options) { options.group = "other"; });
  b->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("revoked") == 1 && b->isLeader(); }));
  release.set_value();
  onStop.reset();
}

/// A store is the user's code.
TEST_F(Callbacks, aStoreThatThrowsInItsSideJobsIsCompetedOnAllTheSame) {
  class LivenessFiles final : public DeathNotice {
   public:
    StoreResult<LivenessFile> livenessFile() override { throw std::runtime_error{"thrown by livenessFile"}; }
    [[nodiscard]] int descriptor() const noexcept override { return -1; }
    std::shared_ptr<void> follow(const LeaseRecord&, std::function<void(RecordVersion)>) override { return nullptr; }
  };
  const Candidate a = stage_.candidate("a");
  a.store->onWatch = [](const auto&) -> std::shared_ptr<void> { throw std::runtime_error{"thrown by watch"}; };
  a.store->onDeathNotice = []() -> std::shared_ptr<DeathNotice> { throw std::runtime_error{"thrown by deathNotice"}; };
  a.store->onDescribe = [] { throw std::runtime_error{"thrown by describe"}; };
  a->start();
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  EXPECT_TRUE(stage_.logged("thrown by deathNotice"));
  EXPECT_TRUE(stage_.logged("thrown by watch"));
  EXPECT_TRUE(stage_.logged(" competes on store"));
  EXPECT_EQ(a->status().store, "store");

  const Candidate b = stage_.candidate("b", [](GroupOptions& options) { options.group = "other"; });
  b.store->onDeathNotice = [] { return std::make_shared<LivenessFiles>(); };
  b->start();
  EXPECT_TRUE(eventually([&] { return stage_.logged("thrown by livenessFile"); }));
  EXPECT_TRUE(eventually([&] {
    stage_.advance(1ms);
    return b->isLeader();
  }));
}

TEST_F(Callbacks, leadershipOutlivesItsElector) {
  std::optional<Leadership> term;
  {
    const Candidate a = stage_.leader("a");
    term = a.record->term();
    EXPECT_EQ(term->leaseName(), "stage");
    EXPECT_EQ(term->holder(), a->candidate());
  }
  EXPECT_FALSE(term->leads());
  EXPECT_FALSE(term->isValid());
  EXPECT_EQ(term->remaining(), 0ns);
  EXPECT_TRUE(term->stopToken().stop_requested());
  term->reportProgress();
  term->reportStaleToken(FencingToken{99});
  EXPECT_EQ(term->fencingToken(), FencingToken{1});
}

TEST_F(Callbacks, aMovedElectorGoesOn) {
  Candidate a = stage_.leader("a");
  LeaderElector moved{std::move(*a.elector)};
  EXPECT_TRUE(moved.isLeader());
  EXPECT_EQ(moved.fencingToken(), FencingToken{1});
  *a.elector = std::move(moved);
  EXPECT_TRUE(a->isLeader());

  // An elector that is overwritten by assignment stops as in its destructor.
  Candidate other = stage_.candidate("other", [](GroupOptions& options) { options.group = "other"; });
  stage_.drive<bool>([&] { return *a.elector = std::move(*other.elector), true; });
  EXPECT_EQ(a.record->count("revoked 1 stopped"), 1);
  EXPECT_TRUE(a->candidate().starts_with("other#"));
  EXPECT_TRUE(stage_.stored()->released);
}

}  // namespace
}  // namespace tenure::test
