// Locks of others, and renewals that share a transaction, on a real server.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/store_support.hpp"
#include "support/slowness.hpp"

namespace tenure::postgresql_store {
namespace {

TEST_F(PostgresqlStoreTest, aLockedRowIsRefusedAtOnceAndDelaysNoOtherLease) {
  const LeaseKey locked{"locked"};
  std::vector<LeaseKey> others;
  for (int i = 0; i < 40; ++i) others.push_back({"lease", std::to_string(i)});
  store().apply(acquire(locked, "a"));
  for (const LeaseKey& key : others) store().apply(acquire(key, "a"));
  const auto locker = transaction();
  locker->exec("SELECT 1 FROM tenure_lease WHERE name = 'locked' FOR UPDATE");
  const Instant start = readClock();
  for (int round = 0; round < 5; ++round) {
    std::vector<WriteRequest> requests;
    for (const LeaseKey& key : others) requests.push_back(renew(key, "a", {store().record(key).version}));
    // Not the first, which goes alone: it has to share a transaction with the others.
    requests.insert(requests.begin() + 1, renew(locked, "a", {store().record(locked).version}));
    std::vector<Pending<WriteOutcome>> pending;
    for (const WriteRequest& request : requests) pending.push_back(store().startWrite(request));
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const WriteOutcome outcome = pending[i]->get();
      EXPECT_EQ(isTransient(outcome), i == 1) << describe(outcome);
      EXPECT_EQ(std::holds_alternative<Applied>(outcome), i != 1) << describe(outcome);
    }
  }
  EXPECT_TRUE(isTransient(store().write(acquire(locked, "b", {store().record(locked).version}))));
  EXPECT_TRUE(isTransient(store().write(release(locked, "a", {store().record(locked).version}))));
  EXPECT_LT(elapsedForChallenger(start, readClock()), patience / 2) << "something waited for the lock";
  locker->exec("ROLLBACK");
  store().apply(renew(locked, "a", {store().record(locked).version}));
}

TEST_F(PostgresqlStoreTest, aWriterThatHoldsTheTermLetsRenewalsPassAndStopsTakeovers) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const auto writer = transaction();
  writer->exec("SELECT 1 FROM tenure_lease WHERE name = 'lease' AND sort = '' AND token = " + toString(token) +
               " AND counter <= token AND NOT released FOR KEY SHARE");
  const auto version = [&] { return store().record(key).version; };
  store().apply(renew(key, "a", {version()}));
  WriteRequest withData = renew(key, "a", {version()});
  withData.record.data = "payload";
  store().apply(std::move(withData));
  EXPECT_TRUE(std::holds_alternative<Applied>(store().requestStepDown(key, token)));
  EXPECT_TRUE(isTransient(store().write(acquire(key, "b", {version()})))) << "the writer's term must not end under it";
  EXPECT_TRUE(isTransient(store().remove(key, version())));
  EXPECT_TRUE(isTransient(store().setTokens(key, store().tokens(key), 100)));
  writer->exec("COMMIT");
  store().apply(acquire(key, "b", {version()}));
}

/// The index makes an acquisition wait for a row that is not committed: there is no NOWAIT for that.
TEST_F(PostgresqlStoreTest, rowsThatSomebodyMakesByHandDelayNoOtherLease) {
  constexpr int rows = 8;
  const auto maker = transaction();
  maker->exec("INSERT INTO tenure_lease (name, sort, counter) SELECT 'by hand', i::text, 0 FROM generate_series(1, " +
              std::to_string(rows) + ") AS i");
  const auto acquireAll = [&] {
    std::vector<Pending<WriteOutcome>> held;
    for (int i = 1; i <= rows; ++i) held.push_back(store().startWrite(acquire({"by hand", std::to_string(i)}, "a")));
    EXPECT_TRUE(test::eventually([&] {
      return hand().text("SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted") == "3";
    })) << "three acquisitions wait, and the others behind them";
    return held;
  };
  const auto waits = [](const auto& one) { return one->answers() == 0U; };
  // An acquisition waits for a bounded time, in which a busy machine may not get to the read: then once more.
  std::vector<Pending<WriteOutcome>> held;
  bool passedBy = false;
  Instant start = readClock();
  for (int attempt = 0; attempt < 5 && !passedBy; ++attempt) {
    for (const auto& one : held) (void)one->get();
    held = acquireAll();
    start = readClock();
    (void)store().read({"other"});
    passedBy = std::all_of(held.begin(), held.end(), waits);
  }
  EXPECT_TRUE(passedBy) << "a read waits for no write";
  const auto passed = [start] { return elapsedForChallenger(start, readClock()); };
  store().apply(acquire({"other"}, "a"));
  EXPECT_LT(passed(), 3s);
  for (const auto& one : held) EXPECT_TRUE(isTransient(one->get())) << describe(one->get());
  EXPECT_LT(passed(), 6s) << "an acquisition is tried again soon, and does not wait for as long as it has time";
  maker->exec("ROLLBACK");
  store().apply(acquire({"by hand", "1"}, "a"));
}

TEST_F(PostgresqlStoreTest, renewalsAtOnceShareTransactions) {
  constexpr int leases = 200;
  std::vector<RecordVersion> versions;
  for (int i = 0; i < leases; ++i) {
    WriteRequest request = acquire({"lease", std::to_string(i)}, "a");
    versions.push_back(request.record.version);
    store().apply(std::move(request));
  }
  std::vector<Pending<WriteOutcome>> pending;
  for (int i = 0; i < leases; ++i) {
    const bool lost = i % 50 == 7;
    pending.push_back(store().startWrite(
        renew({"lease", std::to_string(i)}, "a", {lost ? newVersion() : versions[static_cast<std::size_t>(i)]})));
  }
  for (int i = 0; i < leases; ++i) {
    const WriteOutcome outcome = pending[static_cast<std::size_t>(i)]->get();
    EXPECT_EQ(std::holds_alternative<Conflict>(outcome), i % 50 == 7) << describe(outcome);
    EXPECT_EQ(std::holds_alternative<Applied>(outcome), i % 50 != 7) << describe(outcome);
  }
  const std::string transactions =
      hand().text("SELECT count(DISTINCT xmin::text) FROM tenure_lease WHERE history <> ''");
  EXPECT_LT(std::stoi(transactions), test::slowness > 1 ? leases / 2 : leases / 5)
      << "each renewal had a transaction of its own";
}

}  // namespace
}  // namespace tenure::postgresql_store
