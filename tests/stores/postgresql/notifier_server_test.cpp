// Notifications at a real server: no call depends on them, also where they hang.
#include <atomic>
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "contract/store_calls.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;
using test::eventually;
using test::Sql;

/// A commit of another database that waits for a standby that is not there, with the lock that each NOTIFY of the
/// cluster takes.
class HangingNotify {
 public:
  explicit HangingNotify(const test::OwnServer& server)
      : connection_{PQconnectdb((server.connection() + " dbname=template1").c_str()), &PQfinish} {
    PQclear(PQexec(connection_.get(), "SET synchronous_commit = on"));
    // A transaction that has written nothing waits for nobody.
    PQsendQuery(connection_.get(), "SELECT pg_logical_emit_message(true, '', ''); NOTIFY somebody");
  }
  [[nodiscard]] bool isOver() const {
    return PQconsumeInput(connection_.get()) == 0 || PQisBusy(connection_.get()) == 0;
  }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

class NotifierServerTest : public testing::Test {
 protected:
  NotifierServerTest() {
    // What the operator does here must not wait for the standby.
    admin.exec("SET synchronous_commit = local");
    open().ensureSchema();
  }
  ~NotifierServerTest() override {
    for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
  }

  [[nodiscard]] StoreCalls open() const {
    return {makePostgresqlStore({.connection = server.connection(), .commit = PostgresqlCommit::local}), ledger_};
  }
  void standbys(const std::string& names) const {
    admin.exec("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'");
    admin.exec("SELECT pg_reload_conf()");
  }
  [[nodiscard]] int backends(const std::string& condition) const {
    return std::stoi(admin.text("SELECT count(*) FROM pg_stat_activity WHERE " + condition));
  }

  /// A commit hangs some time after the setting was changed.
  [[nodiscard]] std::unique_ptr<HangingNotify> hangingNotify() const {
    std::unique_ptr<HangingNotify> notify;
    const bool hangs = eventually([&] {
      if (!notify || notify->isOver()) notify = std::make_unique<HangingNotify>(server);
      return backends("wait_event = 'SyncRep'") == 1;
    });
    EXPECT_TRUE(hangs);
    return notify;
  }

  const test::OwnServer server{};
  const Sql admin{server.connection()};

 private:
  std::shared_ptr<CallLedger> ledger_ = std::make_shared<CallLedger>();
};

TEST_F(NotifierServerTest, whereNotificationsHangNoCallDoes) {
  StoreCalls store = open();
  StoreCalls watcher = open();
  const LeaseKey held{"held"};
  const LeaseKey watched{"watched"};
  std::atomic<int> hints{0};
  const auto watch = watcher.raw().watch(watched, [&] { ++hints; });
  ASSERT_TRUE(eventually([&] { return hints > 0; }));
  store.apply(acquire(held, "a"));
  standbys("nosuch");
  const auto hanging = hangingNotify();
  const Instant start = readClock();
  const auto version = [&](const LeaseKey& key) { return store.record(key).version; };
  int most = 0;
  for (int round = 0; round < 50; ++round) {
    const LeaseKey key{"lease", std::to_string(round)};
    const FencingToken token = store.apply(acquire(key, "a")).token;
    EXPECT_TRUE(std::holds_alternative<Applied>(store.requestStepDown(key, token)));
    store.apply(renew(held, "a", {version(held)}));
    store.apply(release(key, "a", {version(key)}));
    EXPECT_TRUE(std::holds_alternative<Applied>(store.remove(key, version(key))));
    EXPECT_TRUE(std::holds_alternative<Applied>(store.setTokens(key, store.tokens(key), 100)));
    most = std::max(most, backends("wait_event_type = 'Lock'"));
  }
  EXPECT_LT(elapsedForChallenger(start, readClock()), patience / 2) << "calls waited for notifications";
  EXPECT_EQ(most, 1) << "one notification at a time";
  // The server ends the wait of a notification itself, so that no backend is left behind.
  EXPECT_TRUE(eventually([&] { return backends("wait_event_type = 'Lock'") == 0; }));
  standbys("");
  const int before = hints;
  ASSERT_TRUE(eventually([&] {
    store.apply(
        acquire(watched, "a", store.read(watched) ? std::vector{version(watched)} : std::vector<RecordVersion>{}));
    return hints > before;
  })) << "no hints come after the standstill";
}

/// A program that leaves a lease mostly ends then.
TEST_F(NotifierServerTest, aReleaseIsToldAlthoughTheStoreEndsAtOnce) {
  StoreCalls watcher = open();
  const LeaseKey key{"lease"};
  std::atomic<int> hints{0};
  const auto watch = watcher.raw().watch(key, [&] { ++hints; });
  ASSERT_TRUE(eventually([&] { return hints > 0; }));
  watcher.apply(acquire(key, "a"));
  for (int round = 0; round < 20; ++round) {
    StoreCalls store = open();
    const RecordVersion version = store.record(key).version;
    const int known = hints;
    store.apply(acquire(key, "a", {version}));
    ASSERT_TRUE(eventually([&] { return hints > known; })) << "round " << round;
    const int before = hints;
    store.apply(release(key, "a", {store.record(key).version}));
    store.drop();
    ASSERT_TRUE(eventually([&] { return hints > before; })) << "round " << round;
  }
}

}  // namespace
}  // namespace tenure::postgresql_store
