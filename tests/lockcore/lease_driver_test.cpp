// What the driver does in addition to stepping its machine: stores that throw, its end, progress, status.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"
#include "lockcore/driver_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

bool logged(const DriverWorld& world, const std::string& line) {
  return std::find(world.lines.begin(), world.lines.end(), line) != world.lines.end();
}

TEST(LeaseDriverThrows, whatOnlyMakesItQuickerIsDoneWithout) {
  for (const bool oddly : {false, true}) {
    DriverWorld world;
    const auto fail = [oddly]() -> std::nullptr_t {
      if (oddly) throw 42;
      throw std::runtime_error("injected");
    };
    world.store->onWatch = [&](const std::function<void()>&) { return fail(); };
    world.store->onDeathNotice = [&] { return fail(); };
    world.putOther();
    world.start();
    world.pass(25s);
    EXPECT_TRUE(world.leads());
    const std::string why = oddly ? "something that is not a std::exception" : "injected";
    EXPECT_TRUE(logged(world, "lease: no notification of changes: the store threw: " + why));
    EXPECT_TRUE(logged(world, "lease: no death notice: the store threw: " + why));
  }
}

void failAll(DriverWorld& world, std::size_t from, std::size_t to, Fault fault) {
  for (std::size_t call = from; call <= to; ++call) world.store->failAt(call, fault);
}

TEST(LeaseDriverThrows, aStoreThatAlwaysThrowsKeepsTheCandidacyGoing) {
  for (const Fault fault : {Fault::throws, Fault::throwsOddly}) {
    DriverWorld world;
    failAll(world, 1, 20, fault);
    world.start();
    world.pass(0s);
    while (world.store->calls() < 20) ASSERT_TRUE(world.scheduler->advanceToNextTimer());
    const LeaseStatus status = world.driver->status();
    EXPECT_EQ(status.state, LeaseState::candidate);
    ASSERT_TRUE(status.lastError.has_value());
    EXPECT_EQ(status.lastError->message, fault == Fault::throws
                                             ? "the store threw: injected"
                                             : "the store threw: something that is not a std::exception");
    world.pass(10s);
    EXPECT_TRUE(world.leads()) << "it throws no more";
    EXPECT_EQ(world.driver->status().terms, 1U);
  }
}

TEST(LeaseDriverThrows, aLeaderLosesItsTermInTime) {
  DriverWorld world;
  world.start();
  world.pass(1s);
  ASSERT_TRUE(world.leads());
  failAll(world, world.store->calls() + 1, world.store->calls() + 1000, Fault::throws);
  world.pass(12s);
  EXPECT_FALSE(world.leads());
  ASSERT_EQ(world.revocations.size(), 1U);
  EXPECT_EQ(world.revocations[0].reason, RevokeReason::storeUnreachable);
}

TEST(LeaseDriverEnd, repliesUnderWayChangeNothing) {
  for (const LeaseState at : {LeaseState::candidate, LeaseState::acquiring, LeaseState::leading}) {
    DriverWorld world;
    world.store->failAt(at == LeaseState::candidate ? 1 : at == LeaseState::acquiring ? 2 : 3, Fault::answeredLate);
    world.start();
    world.pass(at == LeaseState::leading ? 4s : 0s);
    while (world.driver->status().state != at && world.scheduler->advanceToNextTimer()) continue;
    ASSERT_EQ(world.driver->status().state, at) << "with a request that is not answered yet";
    const std::vector<std::string> notices = world.notices;
    const std::size_t calls = world.store->calls();
    world.driver.reset();
    world.pass(60s);
    EXPECT_EQ(world.notices, notices) << at;
    EXPECT_EQ(world.store->calls(), calls) << at;
  }
}

TEST(LeaseDriverEnd, thePublishedTermOutlivesTheDriverAndRunsOut) {
  DriverWorld world;
  world.start();
  world.pass(1s);
  ASSERT_TRUE(world.leads());
  const std::shared_ptr<const TermCell> term = world.driver->term();
  world.driver.reset();
  EXPECT_TRUE(term->load().leadsAt(world.scheduler->now()));
  world.pass(10s);
  EXPECT_FALSE(term->load().validAt(world.scheduler->now()));
}

TEST(LeaseDriverEnd, mayComeInsideANotice) {
  DriverWorld world;
  world.onNotice = [&](const LeaseNotice& notice) {
    if (std::holds_alternative<action::Elected>(notice)) world.driver.reset();
  };
  world.start();
  world.pass(60s);
  EXPECT_EQ(world.driver, nullptr);
  ASSERT_FALSE(world.notices.empty());
  EXPECT_EQ(world.notices.back(), "elected(1)");
}

TEST(LeaseDriverProgress, keepsTheLeaseAndItsLackLosesIt) {
  LeaseOptions lease = tenSecondLease();
  lease.progressTimeout = 4s;
  DriverWorld world{1, lease};
  world.start();
  for (int second = 0; second < 60; ++second) {
    world.pass(1s);
    world.driver->reportProgress(world.scheduler->now());
  }
  EXPECT_TRUE(world.leads());
  EXPECT_TRUE(world.revocations.empty());
  world.pass(20s);
  ASSERT_GE(world.revocations.size(), 1U);
  EXPECT_EQ(world.revocations[0].reason, RevokeReason::expired);
}

TEST(LeaseDriverStatus, tellsAgesByItsClock) {
  DriverWorld world;
  EXPECT_EQ(world.driver->status().state, LeaseState::idle);
  EXPECT_LT(world.driver->status().leaderSeenAgo, 0ns) << "nothing seen yet";
  EXPECT_LT(world.driver->status().lastErrorAgo, 0ns) << "no error yet";
  world.putOther();
  world.store->failAt(1, Fault::rejected);
  world.start();
  world.pass(0s);
  EXPECT_EQ(world.driver->status().lastErrorAgo, 0ns);
  world.pass(5s);
  const LeaseStatus status = world.driver->status();
  EXPECT_EQ(status.lastErrorAgo, 5s);
  EXPECT_EQ(status.leader, (LeaderInfo{"b#2", FencingToken{5}, false}));
  world.scheduler->suspend(1h);
  EXPECT_EQ(world.driver->status().leaderSeenAgo, status.leaderSeenAgo + 1h);
}

/// Keeps each answer until the test sends it.
class LateStore final : public LeaseStore {
 public:
  std::vector<ReadHandler> waiting{};

  [[nodiscard]] std::string describe() const override { return "late"; }
  void ensureSchema(CallOptions /*options*/, StatusHandler /*handler*/) override {}
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler handler) override {
    waiting.push_back(std::move(handler));
  }
  void write(WriteRequest /*request*/, CallOptions /*options*/, WriteHandler /*handler*/) override {}
  void list(std::string /*prefix*/, CallOptions /*options*/, ListHandler /*handler*/) override {}
  void requestStepDown(const LeaseKey& /*key*/, FencingToken /*token*/, CallOptions /*options*/,
                       WriteHandler /*handler*/) override {}
};

/// A store whose schema does not exist at first.
class BareStore final : public LeaseStore {
 public:
  explicit BareStore(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}
  std::vector<StoreError> faults{};
  int looks{0};
  int reads{0};

  [[nodiscard]] std::string describe() const override { return "bare"; }
  void ensureSchema(CallOptions /*options*/, StatusHandler handler) override {
    StoreStatus status;
    if (static_cast<std::size_t>(looks) < faults.size()) status = faults[static_cast<std::size_t>(looks)];
    ++looks;
    scheduler_->post([handler = std::move(handler), status] { handler(status); });
  }
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler handler) override {
    ++reads;
    scheduler_->post([handler = std::move(handler), error = readFault] { handler(error); });
  }
  void write(WriteRequest /*request*/, CallOptions /*options*/, WriteHandler /*handler*/) override {}
  void list(std::string /*prefix*/, CallOptions /*options*/, ListHandler /*handler*/) override {}
  void requestStepDown(const LeaseKey& /*key*/, FencingToken /*token*/, CallOptions /*options*/,
                       WriteHandler /*handler*/) override {}

  StoreError readFault{ErrorClass::transient, "cannot be read"};

 private:
  const std::shared_ptr<Scheduler> scheduler_;
};

TEST(LeaseDriverError, ofACandidateIsToldAtOnceAndThenOnceAMinute) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  std::vector<std::string> lines;
  LeaseDriver::Options options{MachineOptions{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}};
  options.logger = Logger{LogLevel::warn, [&](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  LeaseDriver driver{std::move(options), store, scheduler, std::make_unique<SeededRandom>(1)};
  const auto told = [&](const std::string& what) {
    return std::count(lines.begin(), lines.end(), "lease: cannot compete just now, " + what);
  };
  driver.submit(event::Start{});
  scheduler->runReady();
  EXPECT_EQ(told("which is tried again: cannot be read"), 1);
  scheduler->advance(30s);
  EXPECT_EQ(told("which is tried again: cannot be read"), 1);
  scheduler->advance(5min);
  EXPECT_GE(told("which is tried again: cannot be read"), 4);
  EXPECT_LE(told("which is tried again: cannot be read"), 6);
  store->readFault = {ErrorClass::credentials, "no keys"};
  scheduler->advance(20s);
  EXPECT_EQ(told("until the cause is fixed: no keys"), 1) << "an error of another kind is news";
  store->readFault = {ErrorClass::credentials, "the keys of 7 have expired"};
  scheduler->advance(20s);
  store->readFault = {ErrorClass::credentials, "the keys of 8 have expired"};
  scheduler->advance(20s);
  EXPECT_EQ(told("until the cause is fixed: the keys of 7 have expired"), 1) << "within a class too";
  EXPECT_EQ(told("until the cause is fixed: the keys of 8 have expired"), 0) << "but not where only a number changed";
}

TEST(LeaseDriverSchema, isLookedAtEverMoreSeldomInALongOutage) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  store->faults.assign(100, {ErrorClass::transient, "no answer"});
  LeaseDriver driver{{{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}},
                     store,
                     scheduler,
                     std::make_unique<SeededRandom>(1)};
  driver.submit(event::Start{});
  scheduler->advance(10min);
  EXPECT_GT(store->looks, 40);
  EXPECT_LT(store->looks, 45) << "each 15 s, where there are 200 polls in the same time";
}

TEST(LeaseDriverSchema, isLookedAtNoMoreOnceTheCandidacyHasStopped) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  store->faults.assign(100, {ErrorClass::transient, "no answer"});
  const auto start = [&] {
    auto driver = std::make_unique<LeaseDriver>(
        LeaseDriver::Options{{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}}, store, scheduler,
        std::make_unique<SeededRandom>(1));
    driver->submit(event::Start{});
    return driver;
  };
  const auto waits = start();
  scheduler->runReady();
  waits->submit(event::Stop{});
  scheduler->advance(1h);
  EXPECT_EQ(store->looks, 1) << "it stopped before the next look";
  const auto asks = start();
  asks->submit(event::Stop{});
  scheduler->advance(1h);
  EXPECT_EQ(store->looks, 2) << "it stopped before the answer";
  EXPECT_EQ(asks->status().state, LeaseState::stopped);
}

TEST(LeaseDriverSchema, whatIsWrongWithItIsShownInPlaceOfWhatReadsSay) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  store->faults.assign(1, {ErrorClass::misconfigured, "the key is another"});
  LeaseDriver driver{{{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}},
                     store,
                     scheduler,
                     std::make_unique<SeededRandom>(1)};
  EXPECT_FALSE(driver.status().schema) << "nobody has looked";
  driver.submit(event::Start{});
  scheduler->runReady();
  EXPECT_TRUE(driver.status().schema == StoreStatus{store->faults.front()});
  EXPECT_EQ(driver.status().lastError->message, "cannot be read") << "that is of another kind";
  store->readFault = {ErrorClass::misconfigured, "an invalid request"};
  scheduler->advance(10s);
  EXPECT_EQ(driver.status().lastError->message, "the key is another");
  scheduler->advance(20s);
  EXPECT_EQ(driver.status().lastError->message, "an invalid request") << "the schema is good by now";
  EXPECT_TRUE(driver.status().schema == StoreStatus{});
}

/// With a lease of minutes the polls are minutes apart; a table that was just created must be read sooner.
TEST(LeaseDriverSchema, onceItIsThereALongLeaseIsReadAtOnce) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  store->faults.assign(1, {ErrorClass::transient, "being created"});
  store->readFault = {ErrorClass::misconfigured, "there is no table"};
  const LeaseTiming timing = LeaseTiming::from({.duration = 30min}).value();
  LeaseDriver driver{{{{"lease"}, selfName, timing}}, store, scheduler, std::make_unique<SeededRandom>(1)};
  driver.submit(event::Start{});
  scheduler->advance(1'999ms);
  const int before = store->reads;
  scheduler->advance(1ms);
  EXPECT_EQ(store->looks, 2);
  EXPECT_EQ(store->reads, before + 1);
}

TEST(LeaseDriverSchema, isMadeAtTheStartAndTriedAgainUntilItIsThere) {
  const auto scheduler = std::make_shared<ManualScheduler>();
  const auto store = std::make_shared<BareStore>(scheduler);
  store->faults = {{ErrorClass::transient, "no answer"}, {ErrorClass::misconfigured, "another shape"}};
  std::vector<std::string> lines;
  LeaseDriver::Options options{MachineOptions{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}};
  options.logger = Logger{LogLevel::warn, [&](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  LeaseDriver driver{std::move(options), store, scheduler, std::make_unique<SeededRandom>(1)};
  scheduler->runReady();
  EXPECT_EQ(store->looks, 0) << "nothing before the start";

  driver.submit(event::Start{});
  scheduler->runReady();
  EXPECT_EQ(store->looks, 1);
  scheduler->advance(2s);
  EXPECT_EQ(store->looks, 2) << "what passes is tried again soon";
  scheduler->advance(14s);
  EXPECT_EQ(store->looks, 2) << "what somebody has to put right is not";
  scheduler->advance(1s);
  EXPECT_EQ(store->looks, 3);
  scheduler->advance(1h);
  EXPECT_EQ(store->looks, 3) << "it is there";
  const auto told = [&](const char* what) {
    return std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.ends_with(what); });
  };
  EXPECT_EQ(told("no answer"), 1);
  EXPECT_EQ(told("another shape"), 1);
}

TEST(LeaseDriverLifetime, holdsNoSchedulerOnceDestroyedWhateverTheStoreAnswers) {
  const auto store = std::make_shared<LateStore>();
  auto scheduler = std::make_shared<ManualScheduler>();
  LeaseDriver::Options options{MachineOptions{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}};
  auto driver = std::make_unique<LeaseDriver>(std::move(options), store, scheduler, std::make_unique<SeededRandom>(1));
  driver->submit(event::Start{});
  scheduler->runReady();
  ASSERT_EQ(store->waiting.size(), 1U);

  driver.reset();
  const std::weak_ptr<ManualScheduler> last{scheduler};
  scheduler.reset();
  EXPECT_TRUE(last.expired());
  store->waiting[0](std::optional<LeaseRecord>{});
}

TEST(LeaseDriverFork, aChildsCopyIsDead) {
  DriverWorld world;
  world.start();
  world.pass(1s);
  ASSERT_TRUE(world.leads());
  EXPECT_EQ(inChild([&] {
              const std::size_t posted = world.scheduler->postedTasks();
              world.driver->submit(event::Stop{});
              const int submits = world.scheduler->postedTasks() == posted ? 0 : 1;
              return submits | (world.driver->status().state == LeaseState::idle ? 0 : 2);
            }),
            0);
  EXPECT_EQ(world.driver->status().state, LeaseState::leading);
}

/// If a renewal was acknowledged at the moment of the deadline, the term must not continue with work that was told to
/// stop.
TEST(LeaseDriverEndTerm, endsTheTermThatItNamesAndNoOther) {
  DriverWorld world;
  world.start();
  world.pass(1s);
  ASSERT_TRUE(world.leads());
  world.driver->endTerm(FencingToken{7});
  world.pass(0s);
  EXPECT_TRUE(world.leads());
  world.driver->endTerm(world.tokens.at(0));
  world.pass(0s);
  EXPECT_FALSE(world.leads());
  ASSERT_EQ(world.revocations.size(), 1U);
  EXPECT_EQ(world.revocations.at(0).reason, RevokeReason::fatal);
  world.driver->endTerm(world.tokens.at(0));
  world.pass(0s);
  EXPECT_EQ(world.revocations.size(), 1U) << "exactly once (I5)";
}

TEST(LeaseDriverWithdraw, tellsWhetherAnAcquisitionIsOpen) {
  DriverWorld world;
  world.store->failAt(2, Fault::neverApplied);
  world.start();
  world.pass(0s);
  while (world.store->calls() < 2) ASSERT_TRUE(world.scheduler->advanceToNextTimer());
  EXPECT_TRUE(world.driver->withdraw());
  world.pass(30s);
  EXPECT_EQ(world.stops.size(), 1U);
  EXPECT_TRUE(world.stored()->released);
}

TEST(LeaseDriverWithdraw, isAheadOfWhatWasNotTakenYet) {
  DriverWorld world;
  world.start();
  EXPECT_FALSE(world.driver->withdraw());  // so the machine never starts
  world.pass(30s);
  EXPECT_EQ(world.store->calls(), 0U);
}

}  // namespace
}  // namespace tenure::test
