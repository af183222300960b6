// One client that tries very many keys: its memory of them is bounded and still useful.
#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>

#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // sanitizers need more memory and time
constexpr int keyCount = 30'000;
constexpr bool measures = false;
#else
constexpr int keyCount = 1'000'000;
constexpr bool measures = true;
#endif

/// Every key is held. A holder renews before each read, except those whose name begins with "dead".
class BusyStore final : public LeaseStore {
 public:
  explicit BusyStore(std::shared_ptr<ManualScheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  [[nodiscard]] std::string describe() const override { return "a store in which all is held"; }
  void ensureSchema(CallOptions, StatusHandler handler) override {
    scheduler_->post([handler = std::move(handler)] { handler({}); });
  }
  void read(const LeaseKey& key, CallOptions, ReadHandler handler) override {
    if (!isDead(key)) ++renewals_;
    scheduler_->post([record = recordOf(key), handler = std::move(handler)] { handler(record); });
  }
  void write(WriteRequest request, CallOptions, WriteHandler handler) override {
    const bool taken = isDead(request.key) && request.expected == std::vector{recordOf(request.key).version};
    WriteOutcome outcome = Conflict{recordOf(request.key)};
    if (taken || request.purpose == WriteRequest::Purpose::release) outcome = Applied{FencingToken{2}};
    scheduler_->post([outcome, handler = std::move(handler)] { handler(outcome); });
  }
  void list(std::string, CallOptions, ListHandler) override {}
  void requestStepDown(const LeaseKey&, FencingToken, CallOptions, WriteHandler) override {}

 private:
  [[nodiscard]] static bool isDead(const LeaseKey& key) { return key.name.starts_with("dead"); }
  [[nodiscard]] LeaseRecord recordOf(const LeaseKey& key) const {
    LeaseRecord record;
    record.holder = "somebody-else#00000000000000000000000000000000";
    const std::string number = std::to_string(isDead(key) ? 0 : renewals_);
    record.version = RecordVersion{"11111111-2222-4333-8444-" + std::string(12 - number.size(), '0') + number};
    record.leaseDuration = 10s;
    record.token = FencingToken{1};
    return record;
  }

  const std::shared_ptr<ManualScheduler> scheduler_;
  std::uint64_t renewals_{0};
};

std::int64_t residentBytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::int64_t all = 0;
  std::int64_t pages = 0;
  statm >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

class LockManyKeys : public testing::Test {
 protected:
  [[nodiscard]] LockClient makeClient() {
    LockClientOptions options;
    options.candidate = "a";
    options.lease = lockLease();
    Runtime runtime;
    runtime.scheduler = scheduler_;
    runtime.executor = [this](std::function<void()> task) { scheduler_->post(std::move(task)); };
    runtime.random = std::make_unique<SeededRandom>(1);
    return LockClient{std::make_shared<BusyStore>(scheduler_), options, std::move(runtime)};
  }
  /// Reads once. True: the lock was won; false: it was held.
  [[nodiscard]] bool wins(LockClient& client, const std::string& key) {
    std::optional<LockErrc> refused;
    bool won = false;
    client.acquireAsync({key}, {.waitFor = 0s}, [&](LockResult<Lock> result) {
      won = result.has_value();
      if (result.has_error()) refused = result.error().code;
      if (won) (void)result->release({.waitFor = 0s});
    });
    while (scheduler_->runReady() > 0) {
    }
    EXPECT_TRUE(won || refused == LockErrc::held) << key;
    return won;
  }
  void wait(std::chrono::nanoseconds time) {
    scheduler_->advance(time);
    while (scheduler_->runReady() > 0) {
    }
  }

  const std::shared_ptr<ManualScheduler> scheduler_{std::make_shared<ManualScheduler>()};
};

TEST_F(LockManyKeys, aMillionBusyKeysStayInTheirMemoryAndTheDeadAreStillTaken) {
  LockClient client = makeClient();
  EXPECT_FALSE(wins(client, "dead-and-forgotten"));
  const std::int64_t before = residentBytes();
  std::int64_t whenFull = 0;
  for (int i = 0; i < keyCount; ++i) {
    if (i == keyCount - 5'000) {
      EXPECT_FALSE(wins(client, "dead-and-remembered"));
    }
    ASSERT_FALSE(wins(client, "orders/" + std::to_string(i)));
    if (i == 20'000) whenFull = residentBytes();
  }
  const std::int64_t after = residentBytes();
  RecordProperty("KiB_when_full", static_cast<int>((whenFull - before) / 1024));
  RecordProperty("KiB_after_all", static_cast<int>((after - before) / 1024));
  if (measures) {
    EXPECT_LT(after - before, 10'000 * 1'000) << "docs/locks.md: 10,000 keys of less than 1 KB";
    EXPECT_LT(after - whenFull, 500'000) << "nothing is kept of those that were forgotten";
  }
  wait(10'010ms);
  EXPECT_TRUE(wins(client, "dead-and-remembered")) << "its wait began when it was tried";
  EXPECT_FALSE(wins(client, "dead-and-forgotten")) << "its wait begins anew";
  wait(10'010ms);
  EXPECT_TRUE(wins(client, "dead-and-forgotten"));
}

}  // namespace
}  // namespace tenure::test
