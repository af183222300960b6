// At the limits of threads, descriptors and memory nobody leads without work: a term whose work cannot begin is given
// back, with a reason, and the candidate competes again when it can work. Each case has a process for itself.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/election/async_elector.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/sharded_elector.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"
#include "lockcore/port/extended_store.hpp"
#include "support/eventually.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// What a thread of the library runs until the test lets it end.
class Busy {
 public:
  ~Busy() { end(); }
  void operator()() {
    ++working_;
    EXPECT_TRUE(eventually([&] { return ends_.load(); }));
    --working_;
  }
  void operator()(const Leadership& term) {
    ++working_;
    EXPECT_TRUE(eventually([&] { return !term.leads() || ends_.load(); }));
    --working_;
  }
  void end() { ends_ = true; }
  [[nodiscard]] int working() const { return working_; }

 private:
  std::atomic<int> working_{0};
  std::atomic<bool> ends_{false};
};

class Limits : public testing::Test {
 protected:
  ~Limits() override {
    allowThreads();
    busy_.end();
  }

  static void setLimit(__rlimit_resource what, rlim_t most) {
    rlimit limit{};
    ASSERT_EQ(getrlimit(what, &limit), 0);
    limit.rlim_cur = std::min(most, limit.rlim_max);
    ASSERT_EQ(setrlimit(what, &limit), 0);
  }
  /// No limit of threads holds for root.
  static void forbidThreads() {
    const bool dropped = geteuid() != 0 || (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    ASSERT_TRUE(dropped);
    prctl(PR_SET_DUMPABLE, 1);  // sanitizers look at the process at its end
    setLimit(RLIMIT_NPROC, 0);
  }
  static void allowThreads() { setLimit(RLIMIT_NPROC, RLIM_INFINITY); }

  [[nodiscard]] Group group(const std::string& name, std::shared_ptr<LeaseStore> store = nullptr) {
    GroupOptions options{.group = name, .candidate = {.id = "c"}, .lease = {.duration = 1500ms}};
    return Group::make(options, store ? store : store_, log()).value();
  }
  [[nodiscard]] Logger log() {
    return Logger{LogLevel::info, [this](LogLevel, std::string_view line) {
                    const std::lock_guard lock{mutex_};
                    lines_.emplace_back(line);
                  }};
  }
  [[nodiscard]] int logged(const std::string& part) {
    const std::lock_guard lock{mutex_};
    int count = 0;
    for (const std::string& line : lines_) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  [[nodiscard]] std::unique_ptr<LeaderElector> started(const std::string& name) {
    auto elector = std::make_unique<LeaderElector>(
        group(name), Listener{.onElected = [this](const Leadership& term) { busy_(term); }});
    elector->start();
    return elector;
  }
  /// Both threads of the library's pool work, and there will be no third.
  void takeAllThreads() {
    working_.push_back(started("first"));
    ASSERT_TRUE(eventually([&] { return busy_.working() == 1; }));
    forbidThreads();
    working_.push_back(started("second"));
    ASSERT_TRUE(eventually([&] { return busy_.working() == 2; }));
  }
  [[nodiscard]] static bool saysWhy(const LeaderElector& elector) {
    const auto error = elector.status().lease.lastError;
    return !elector.isLeader() && error && error->message.find("did not begin within 1500 ms") != std::string::npos &&
           error->message.find("raise the limit of threads") != std::string::npos;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_{};
  const std::shared_ptr<LeaseStore> store_{makeMemoryStore()};
  Busy busy_;
  std::vector<std::unique_ptr<LeaderElector>> working_{};
};

TEST_F(Limits, whoseWorkGetsNoThreadGivesTheTermBackAndCompetesWhenThereIsOne) {
  takeAllThreads();
  std::vector<std::unique_ptr<LeaderElector>> without;
  for (const char* name : {"third", "fourth", "fifth"}) without.push_back(started(name));
  ASSERT_TRUE(eventually([&] {
    return std::all_of(without.begin(), without.end(), [](const auto& elector) { return saysWhy(*elector); });
  }));
  const auto reason = "revoked (notStarted: onElected did not begin within 1500 ms: thread tenure-callback cannot be";
  EXPECT_TRUE(eventually([&] { return logged(reason) == 3; }));
  EXPECT_EQ(busy_.working(), 2);
  for (const auto& elector : working_) EXPECT_TRUE(elector->isLeader());
  for (const auto& elector : without) EXPECT_FALSE(elector->status().lease.workRunning);
  allowThreads();
  EXPECT_TRUE(eventually([&] { return busy_.working() == 5; })) << "the candidacy never ends (I10)";
  for (const auto& elector : without) EXPECT_TRUE(elector->isLeader());
}

TEST_F(Limits, anotherCandidateLeadsMeanwhileAndKeepsTheLease) {
  Busy other;
  std::atomic<bool> ends{false};
  std::vector<std::function<void()>> tasks;
  std::thread worker{[&] {
    while (!ends) {
      std::vector<std::function<void()>> all;
      {
        const std::lock_guard lock{mutex_};
        all.swap(tasks);
      }
      for (const auto& task : all) task();
      std::this_thread::yield();
    }
  }};
  takeAllThreads();
  const auto without = started("shared");
  ASSERT_TRUE(eventually([&] { return without->isLeader(); }));
  Runtime runtime;
  runtime.executor = [&](std::function<void()> task) {
    const std::lock_guard lock{mutex_};
    tasks.push_back(std::move(task));
  };
  LeaderElector with{group("shared"), Listener{.onElected = [](const Leadership&) {}}, std::move(runtime)};
  with.start();
  EXPECT_TRUE(eventually([&] { return with.isLeader(); }));
  EXPECT_TRUE(eventually([&] { return saysWhy(*without); }));
  with.stop();
  ends = true;
  worker.join();
  EXPECT_EQ(logged("shared: elected"), 2) << "who cannot work does not take it again";
}

TEST_F(Limits, aTermThatANotYetAwaitedElectorWinsIsGivenBackToo) {
  takeAllThreads();
  AsyncElector async{group("async")};
  std::atomic<int> told{0};
  std::optional<AwaitedTerm> held;  // its end would be the term's
  async.whenElected([&](std::optional<AwaitedTerm> term) {
    held = std::move(term);
    ++told;
  });
  async.start();
  EXPECT_TRUE(eventually([&] { return saysWhy(async.elector()); }));
  EXPECT_EQ(told, 0);
  allowThreads();
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_TRUE(held && async.elector().isLeader());
}

TEST_F(Limits, aLockWhoseOwnerCannotBeToldIsReleased) {
  LockClientOptions options;
  options.lease.duration = 1500ms;
  options.logger = log();
  LockClient client{store_, options};
  LockClient rival{store_, options};
  takeAllThreads();
  std::promise<LockError> told;
  client.acquireAsync({"orders"}, {}, [&](const LockResult<Lock>& lock) {
    told.set_value(lock ? LockError{LockErrc::held, "has the lock"} : lock.error());
  });
  ASSERT_TRUE(eventually([&] { return client.holds({"orders"}); }));
  EXPECT_TRUE(rival.acquire({"orders"}, {.waitFor = 20s}).has_value());
  EXPECT_EQ(logged("lock orders is released: acquireAsync's callback did not begin within 1500 ms"), 1);
  allowThreads();
  const LockError error = told.get_future().get();
  EXPECT_EQ(error.code, LockErrc::lost) << error.message;
  EXPECT_EQ(error.reason, RevokeReason::notStarted);
}

TEST_F(Limits, aClientThatClosesReleasesWithoutAThread) {
  LockClient client{store_};
  const Lock lock = client.acquire({"orders"}).value();
  takeAllThreads();
  EXPECT_EQ(client.close().locks.at({"orders"}), ReleaseResult::released);
}

/// Where no thread makes the liveness file, or its file system hangs, the candidacy begins without it.
TEST_F(Limits, aLivenessFileThatIsNeverMadeCostsNoMoreThanTheFile) {
  struct Hanging final : ForwardingStore, DeathNotice, std::enable_shared_from_this<Hanging> {
    explicit Hanging(Busy& busy) : ForwardingStore{makeMemoryStore()}, hang{busy} {}
    std::shared_ptr<DeathNotice> deathNotice() override { return shared_from_this(); }
    StoreResult<LivenessFile> livenessFile() override {
      hang();
      return StoreError{ErrorClass::transient, "late"};
    }
    int descriptor() const noexcept override { return -1; }
    std::shared_ptr<void> follow(const LeaseRecord&, std::function<void(RecordVersion)>) override { return nullptr; }
    Busy& hang;
  };
  const auto store = std::make_shared<Hanging>(busy_);
  LeaderElector elector{group("g", store), {}};
  elector.start();
  EXPECT_TRUE(eventually([&] { return elector.isLeader(); }));
  EXPECT_TRUE(eventually([&] { return logged("g: no death notice for this process: no thread was free") == 1; }));
  LockClient client{store};
  EXPECT_TRUE(client.acquire({"orders"}, {.waitFor = 25s}).has_value());
  busy_.end();
  EXPECT_TRUE(eventually([&] { return busy_.working() == 0 && logged("late") == 1; })) << "nobody else waits for them";
}

TEST_F(Limits, anElectorThatCannotHaveWhatATermNeedsSaysWhatToRaise) {
  const auto scheduler = sharedScheduler();
  const auto message = [&]() -> std::string {
    try {
      static_cast<void>(started("g"));
    } catch (const std::system_error& error) {
      return error.what();
    }
    return "there was no rejection";
  };
#if !defined(__SANITIZE_ADDRESS__)  // UndefinedBehaviorSanitizer needs descriptors to look at memory
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  setLimit(RLIMIT_NOFILE, 0);
  const std::string noFile = message();
  setLimit(RLIMIT_NOFILE, files.rlim_cur);
  EXPECT_NE(noFile.find("raise the limit of open files"), std::string::npos) << noFile;
#endif
  forbidThreads();
  const std::string noThread = message();
  EXPECT_NE(noThread.find("raise the limit of threads"), std::string::npos) << noThread;
  EXPECT_THROW(LockClient{store_}, std::system_error);
  allowThreads();
  const auto elector = started("g");
  EXPECT_TRUE(eventually([&] { return busy_.working() == 1; }));
}

/// The watchdog's thread ends when nobody has kept it for two seconds, and the scheduler could start no other.
TEST_F(Limits, aShardedElectorHasWhatItsTermsNeedFromItsConstructionOn) {
  GroupOptions options{.group = "sharded", .candidate = {.id = "c"}};
  options.shards.count = 4;
  ShardedElector elector{Group::make(std::move(options), store_).value(), {}};
  EXPECT_FALSE(eventually([] { return false; }, 2500ms));  // it has no other sign than the time
  forbidThreads();
  elector.start();
  EXPECT_TRUE(eventually([&] { return elector.owned().size() == 4; }));
}

#if !defined(__SANITIZE_ADDRESS__)  // as above
TEST_F(Limits, withoutADescriptorACandidateStillHasWhatATermNeeds) {
  LeaderElector elector{group("g"), Listener{.onElected = [this](const Leadership& term) { busy_(term); }}};
  setLimit(RLIMIT_NOFILE, 0);
  elector.start();
  EXPECT_TRUE(eventually([&] { return busy_.working() == 1; }));
  EXPECT_TRUE(elector.isLeader());
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve more than any limit
TEST_F(Limits, withoutMemoryForAThreadTheTermIsGivenBackAsWell) {
  working_.push_back(started("first"));
  ASSERT_TRUE(eventually([&] { return busy_.working() == 1; }));
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  std::size_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  setLimit(RLIMIT_AS, pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (4U << 20U));  // a stack takes 8 MiB
  working_.push_back(started("second"));
  working_.push_back(started("third"));
  const bool refused = eventually([&] { return saysWhy(*working_[1]) || saysWhy(*working_[2]); });
  setLimit(RLIMIT_AS, before.rlim_cur);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(eventually([&] { return busy_.working() == 3; }));
}
#endif

/// An executor of the user's that does not run what it took is no better than none.
TEST(ExecutorsThatDoNotRun, costTheTermAndNeitherCallbackIsCalled) {
  Stage stage;
  Record record;
  std::atomic<bool> holds{true};
  std::vector<std::function<void()>> held;
  Runtime runtime = stage.runtime();
  runtime.executor = [&, inner = runtime.executor](std::function<void()> task) {
    holds ? held.push_back(std::move(task)) : inner(std::move(task));
  };
  const std::unique_ptr<LeaderElector, PumpedDelete> elector{
      new LeaderElector{stage.group("a", stage.memory), record.terms(), std::move(runtime)}, PumpedDelete{&stage}};
  elector->start();
  ASSERT_TRUE(stage.advanceUntil([&] { return elector->isLeader(); }));
  stage.advance(2900ms);
  EXPECT_TRUE(elector->isLeader());
  stage.advance(200ms);
  EXPECT_FALSE(elector->isLeader());
  EXPECT_TRUE(stage.stored()->released) << "at once: no work has to end";
  EXPECT_TRUE(stage.logged("revoked (notStarted: onElected did not begin within 3000 ms: the executor has not run it"));
  stage.advance(60s);
  EXPECT_FALSE(elector->isLeader());
  EXPECT_FALSE(elector->status().lease.workRunning);
  EXPECT_TRUE(elector->status().lease.lastError.has_value());
  holds = false;
  for (const auto& task : held) task();
  EXPECT_TRUE(stage.advanceUntil([&] { return record.count("elected 2") == 1; }));
  EXPECT_EQ(record.lines(), (std::vector<std::string>{"elected 2"})) << "nothing of the first term is told (I5)";
}

}  // namespace
}  // namespace tenure::test
