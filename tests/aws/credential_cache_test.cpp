#include "lockcore/aws/credential_cache.hpp"

#include <future>
#include <sys/resource.h>
#include <thread>

#include "aws_world.hpp"
#include "support/eventually.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Result = StoreResult<CredentialCache::Current>;

/// The test provides the result of each fetch; while the gate is shut, a fetch hangs until stop is requested.
class CacheTest : public AwsTest {
 protected:
  StoreResult<Credentials> fetch(const std::stop_token& stop) {
    ++fetches_;
    while (shut_ && !stop.stop_requested()) std::this_thread::yield();
    const std::lock_guard lock{mutex_};
    return next_;
  }
  void setNext(StoreResult<Credentials> next) {
    const std::lock_guard lock{mutex_};
    next_ = std::move(next);
  }
  std::unique_ptr<CredentialCache> make() {
    const auto write = [this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warn) ++warnings_;
      watch(std::string{line});
    };
    return std::make_unique<CredentialCache>([this](const std::stop_token& stop) { return fetch(stop); },
                                             Logger{LogLevel::trace, write});
  }
  static Credentials keys(const std::string& id, std::optional<std::chrono::seconds> lifetime = {}) {
    return {{id, secretKey, tokenText}, lifetime, "test"};
  }
  static std::future<Result> wait(CredentialCache& cache, std::chrono::nanoseconds timeout = 20s) {
    auto promise = std::make_shared<std::promise<Result>>();
    cache.wait(timeout, [promise](Result result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
  static std::future<Result> replace(CredentialCache& cache, CredentialCache::Current refused,
                                     std::chrono::nanoseconds timeout = 20s) {
    auto promise = std::make_shared<std::promise<Result>>();
    cache.replace(std::move(refused), timeout, [promise](Result result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
  /// A thread that waits here computes, and one test compares others with it.
  static constexpr tenure::test::Eventually eventually{20s, 0s};

  std::atomic<int> fetches_{0};
  std::atomic<int> warnings_{0};
  std::atomic<bool> shut_{false};
  std::mutex mutex_{};
  StoreResult<Credentials> next_{keys("one")};
};

/// CPU time of this process (RUSAGE_SELF) or of the calling thread (RUSAGE_THREAD).
Clock::duration cpuTime(int whose) {
  rusage used{};
  getrusage(whose, &used);
  const auto length = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return length(used.ru_utime) + length(used.ru_stime);
}

TEST_F(CacheTest, isEmptyUntilSomebodyAsks) {
  const auto cache = make();
  EXPECT_EQ(cache->current(), nullptr);
  EXPECT_EQ(fetches_, 0);
  EXPECT_EQ((*wait(*cache).get())->keys.accessKeyId, "one");
  EXPECT_EQ(cache->current()->keys.accessKeyId, "one");
}

TEST_F(CacheTest, oneFetchServesAllWhoWait) {
  shut_ = true;
  const auto cache = make();
  std::vector<std::future<Result>> all;
  for (int i = 0; i < 50; ++i) all.push_back(wait(*cache));
  EXPECT_TRUE(eventually([&] { return fetches_ == 1; }));
  shut_ = false;
  for (auto& one : all) EXPECT_EQ((*one.get())->keys.accessKeyId, "one");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(CacheTest, aFetchThatHangsCostsNoMoreThanTheCallsTime) {
  shut_ = true;
  const auto cache = make();
  const auto begin = Clock::now();
  const Result got = wait(*cache, 50ms).get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().errorClass, ErrorClass::transient);
  EXPECT_NE(got.error().message.find("still under way"), std::string::npos);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_F(CacheTest, failuresAreSharedAndPaced) {
  setNext(StoreError{ErrorClass::credentials, "nothing here"});
  const auto cache = make();
  for (int i = 0; i < 200; ++i) {
    const Result got = wait(*cache).get();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message, "nothing here");
  }
  EXPECT_LT(fetches_, 20) << "200 calls, each at once after the other's failure, must not be 200 fetches";
  setNext(keys("late"));
  EXPECT_TRUE(eventually([&] { return wait(*cache).get().has_value(); }));
}

TEST_F(CacheTest, keysThatLiveLongerThanAnyClockAreFetchedOnce) {
  for (const auto lifetime : {9'223'372'036s, 9'223'372'037s, 251'635'161'599s, std::chrono::seconds::max()}) {
    setNext(keys("far", lifetime));
    fetches_ = 0;
    const auto cache = make();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(wait(*cache, 5s).get()) << lifetime.count();
    EXPECT_EQ(fetches_, 1) << lifetime.count();
  }
}

TEST_F(CacheTest, aFetchThatSucceedsAndHelpsNobodyIsPacedAsOneThatFails) {
  for (const auto lifetime : {0s, -1s, std::chrono::seconds::min()}) {
    setNext(keys("dead", lifetime));
    fetches_ = 0;
    const auto cache = make();
    for (int i = 0; i < 200; ++i) {
      const Result got = wait(*cache, 5s).get();
      ASSERT_FALSE(got) << lifetime.count();
      EXPECT_EQ(got.error().errorClass, ErrorClass::credentials);
      EXPECT_NE(got.error().message.find("expired already"), std::string::npos) << got.error().message;
    }
    EXPECT_LT(fetches_, 20) << lifetime.count();
  }
}

TEST_F(CacheTest, keysThatEndAtOnceAreFetchedTwiceASecondAtMost) {
  setNext(keys("short", 1s));
  const auto cache = make();
  const auto begin = Clock::now();
  EXPECT_TRUE(eventually([&] { return wait(*cache).get() && fetches_ >= 4; }));
  EXPECT_GE(Clock::now() - begin, 1400ms) << "three pauses of 500 ms";
}

TEST_F(CacheTest, aCauseIsOneWarningHoweverOftenItIsMet) {
  setNext(StoreError{ErrorClass::credentials, "nothing here"});
  const auto cache = make();
  EXPECT_TRUE(eventually([&] { return !wait(*cache).get() && fetches_ >= 3; }));
  setNext(StoreError{ErrorClass::credentials, "another cause"});
  EXPECT_TRUE(eventually([&] { return wait(*cache).get().error().message == "another cause"; }));
  setNext(keys("late"));
  EXPECT_TRUE(eventually([&] { return wait(*cache).get().has_value(); }));
  EXPECT_EQ(warnings_, 2) << logged();
  EXPECT_NE(logged().find("could be fetched again, from test"), std::string::npos) << logged();
}

TEST_F(CacheTest, aWarningOfASourceIsLoggedOnceHoweverOftenItIsGiven) {
  Credentials old = keys("old", 1s);
  old.warning = "test gave credentials that expired at noon";
  setNext(old);
  const auto cache = make();
  EXPECT_TRUE(eventually([&] { return wait(*cache).get() && fetches_ >= 3; }));
  EXPECT_EQ(warnings_, 1) << logged();
  EXPECT_NE(logged().find(old.warning), std::string::npos) << logged();
  setNext(keys("new", 1s));
  EXPECT_TRUE(eventually([&] { return (*wait(*cache).get())->keys.accessKeyId == "new"; }));
  setNext(old);
  EXPECT_TRUE(eventually([&] { return wait(*cache).get() && warnings_ == 2; })) << logged();
}

TEST_F(CacheTest, refreshesInTheBackground) {
  setNext(keys("one", 1s));
  const auto cache = make();
  ASSERT_TRUE(wait(*cache).get());
  setNext(keys("two", 1h));
  // Nobody waits, and there is a valid key to sign with at every moment.
  EXPECT_TRUE(eventually([&] {
    const auto now = cache->current();
    EXPECT_NE(now, nullptr);
    return now == nullptr || now->keys.accessKeyId == "two";
  }));
}

TEST_F(CacheTest, itsThreadSleepsUntilThereIsSomethingToDo) {
  setNext(keys("one", 1h));
  const auto cache = make();
  ASSERT_TRUE(wait(*cache).get());
  const auto all = cpuTime(RUSAGE_SELF);
  const auto own = cpuTime(RUSAGE_THREAD);
  // It works all of the time: `eventually` leaves a busy processor to others after each look.
  while (cpuTime(RUSAGE_THREAD) - own <= 100ms) continue;
  const auto others = (cpuTime(RUSAGE_SELF) - all) - (cpuTime(RUSAGE_THREAD) - own);
  EXPECT_LT(others, 20ms) << "a thread that wakes again and again uses as much as this one, 100 ms";
}

TEST_F(CacheTest, oldOnesServeOnWhileTheRefreshFails) {
  setNext(keys("one", 3s));
  const auto cache = make();
  ASSERT_TRUE(wait(*cache).get());
  setNext(StoreError{ErrorClass::credentials, "issuer is down"});
  const auto begin = Clock::now();
  EXPECT_TRUE(eventually([&] { return fetches_ >= 3; }));
  if (Clock::now() - begin < 2500ms) {
    EXPECT_NE(cache->current(), nullptr);
  }
  EXPECT_NE(logged().find("issuer is down"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return cache->current() == nullptr; })) << "expired";
  EXPECT_FALSE(wait(*cache).get());
}

TEST_F(CacheTest, refusedOnesAreReplaced) {
  setNext(keys("old", 1h));
  const auto cache = make();
  const auto old = *wait(*cache).get();
  setNext(keys("new", 1h));
  // If a service refuses keys that were fetched just now, it gets them once more: no storm of fetches.
  EXPECT_EQ(*replace(*cache, old).get(), old);
  EXPECT_EQ(fetches_, 1);
  EXPECT_TRUE(eventually([&] { return (*replace(*cache, old).get())->keys.accessKeyId == "new"; }));
  EXPECT_EQ(fetches_, 2);
  EXPECT_EQ((*replace(*cache, old).get())->keys.accessKeyId, "new") << "others are in use by now: no fetch";
  EXPECT_EQ(fetches_, 2);
}

TEST_F(CacheTest, whoWaitsIsToldWhenItGoes) {
  shut_ = true;
  auto cache = make();
  auto waiting = wait(*cache);
  EXPECT_TRUE(eventually([&] { return fetches_ == 1; }));
  cache.reset();
  const Result got = waiting.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "the client was closed");
}

TEST_F(CacheTest, mayBeDestroyedByWhoWasWaiting) {
  std::promise<void> gone;
  auto* cache = make().release();
  cache->wait(20s, [&, cache](const Result&) {
    const std::unique_ptr<CredentialCache> last{cache};
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
  EXPECT_TRUE(eventually([&] { return fetches_ == 1; }));
}

TEST_F(CacheTest, aFetchThatThrowsIsAnError) {
  CredentialCache cache{[](const std::stop_token&) -> StoreResult<Credentials> { throw std::runtime_error{"oh"}; },
                        logger()};
  EXPECT_EQ(wait(cache).get().error().message, "fetching AWS credentials: oh");
}

}  // namespace
}  // namespace tenure::aws::test
