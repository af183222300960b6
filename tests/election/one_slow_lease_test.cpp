// I12 with real parts: many leases of one process share a network client, a SQLite writer or an executor, and one of
// the leases is slow.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "election/dynamodb_table.hpp"
#include "election/tls_front.hpp"
#include "support/temp_dir.hpp"
#include "support/users_loop.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr int many = 12;
/// Longer than a shared machine stands still now and then.
constexpr auto duration = 2'400ms;
constexpr auto heartbeat = 300ms;
/// As many as two leases need.
constexpr int renewals = 16;

class Leader {
 public:
  Leader(const std::string& group, std::shared_ptr<LeaseStore> store, Executor executor = {}, Listener also = {})
      : elector_{
            Group::make({group, {"one"}, {.duration = duration, .heartbeat = heartbeat}}, std::move(store)).value(),
            std::move(also), Runtime{.executor = std::move(executor)}} {
    elector_.addListener(record_->terms());
    elector_.addListener(record_->notices());
    elector_.start();
  }

  [[nodiscard]] bool leads() const { return elector_.isLeader(); }
  [[nodiscard]] int renewed() const { return record_->count("renewed"); }
  [[nodiscard]] int revoked() const { return record_->count("revoked"); }
  [[nodiscard]] std::string why() const { return revoked() > 0 ? record_->why().detail : std::string{}; }

 private:
  std::unique_ptr<Record> record_{std::make_unique<Record>()};
  LeaderElector elector_;
};

using Leaders = std::vector<std::unique_ptr<Leader>>;

Leaders leadersOf(const std::shared_ptr<LeaseStore>& store, const Executor& executor = {}) {
  Leaders all;
  for (int i = 0; i < many; ++i) all.push_back(std::make_unique<Leader>("quick" + std::to_string(i), store, executor));
  for (const auto& one : all) EXPECT_TRUE(eventually([&] { return one->leads(); }));
  return all;
}

/// Each renews for two more leases, and none was ever revoked.
void expectAllToGoOn(const Leaders& all) {
  std::vector<int> wanted;
  for (const auto& one : all) wanted.push_back(one->renewed() + renewals);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(eventually([&] { return all[i]->renewed() >= wanted[i] || all[i]->revoked() > 0; }));
  }
  for (const auto& one : all) {
    EXPECT_EQ(one->revoked(), 0) << one->why();
    EXPECT_TRUE(one->leads());
  }
}

class OneSlowLease : public DynamoDbTable {};

/// Its requests are never answered, and it keeps competing: each request takes a connection of the shared client.
TEST_F(OneSlowLease, I12_delaysNoOtherOfTheSameNetworkClient) {
  TlsFront front{makeSocketClient(dynamoDbEndpoint())};
  options_.endpoint = front.endpoint();
  options_.caFile = front.caFile();
  const std::shared_ptr<LeaseStore> shared = store();
  {
    Leader slow{"slow", shared};
    EXPECT_TRUE(eventually([&] { return slow.leads(); }));
    const Leaders quick = leadersOf(shared);
    front.keepWaiting(R"("slow")");
    EXPECT_TRUE(eventually([&] { return slow.revoked() == 1; }));
    EXPECT_TRUE(eventually([&] { return front.kept() >= 3; }));
    expectAllToGoOn(quick);
    front.answerAll();
  }
}

/// Its callback blocks the only thread of an executor that all leases share. The others' callbacks wait behind it;
/// their renewals and isLeader() do not.
TEST(OneSlowLeaseOfAnExecutor, I12_delaysNoRenewalOfTheOthers) {
  const TempDir directory;
  const auto store = makeSqliteStore({directory.file("leases.db")});
  Gate gate;
  UsersLoop loop;
  const Executor executor = [&loop](std::function<void()> task) { boost::asio::post(loop.io, std::move(task)); };
  {
    const Leaders quick = leadersOf(store, executor);
    Leader slow{"slow", store, executor, {.onElected = [&](const Leadership&) { gate.wait(); }}};
    EXPECT_TRUE(eventually([&] { return gate.entered(); }));
    const Instant from = readClock();
    while (elapsedForHolder(from, readClock()) < 2 * duration) {
      for (const auto& one : quick) ASSERT_TRUE(one->leads());
      std::this_thread::yield();
    }
    gate.open();
    expectAllToGoOn(quick);
  }
}

/// Somebody takes and releases locks in the same file as fast as possible, so the only writer never rests.
TEST(OneBusyLockOfAFile, I12_delaysNoOtherLeaseOfTheSameWriter) {
  const TempDir directory;
  const auto store = makeSqliteStore({directory.file("leases.db")});
  const Leaders quick = leadersOf(store);
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};
  std::thread busy{[&] {
    LockClient locks{store};
    while (!done) {
      auto lock = locks.acquire({"busy"}, {.waitFor = 10s});
      if (lock) ++rounds;
    }
  }};
  expectAllToGoOn(quick);
  done = true;
  busy.join();
  EXPECT_GE(rounds.load(), 50);
}

}  // namespace
}  // namespace tenure::test
