// Notifications over the link: with a server, with one that restarts, and behind a pooler.
#include <atomic>

#include <gtest/gtest.h>

#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using postgresql_store::JobReply;
using postgresql_store::StatementId;
using Commit = JobReply::Commit;

std::string ofListeners(const TestLink& link) {
  return " FROM pg_stat_activity WHERE query LIKE '%LISTEN \"" + link.channel() + "\"' AND pid <> pg_backend_pid()";
}

std::string listenersOf(const TestLink& link) { return "SELECT count(*)" + ofListeners(link); }

/// The self-test's notification has arrived, too.
bool isListening(const Sql& sql, const TestLink& link, const std::atomic<int>& hints) {
  return eventually([&] { return hints > 0 && sql.text(listenersOf(link)) == "1"; });
}

/// One thread tells all watchers, so what was to be told before is told by then.
bool hearsOf(const std::string& lease, const Sql& sql, const TestLink& link, const std::atomic<int>& hints) {
  const int known = hints;
  sql.exec("SELECT pg_notify('" + link.channel() + "', '" + lease + "')");
  return eventually([&] { return hints > known; });
}

TEST(PostgresqlListener, NobodyListensBeforeSomebodyWatches) {
  TestLink link;
  const Sql sql;
  EXPECT_EQ(link.value(link.add("SELECT 1")), "1");
  EXPECT_EQ(sql.text(listenersOf(link)), "0");
}

TEST(PostgresqlListener, AWatcherHearsOfItsOwnLeaseOnly) {
  TestLink link;
  const Sql sql;
  std::atomic<int> first{0}, second{0};
  const auto one = link.link().watch("first", [&] { ++first; });
  const auto two = link.link().watch("second", [&] { ++second; });
  ASSERT_TRUE(isListening(sql, link, first));
  ASSERT_TRUE(hearsOf("first", sql, link, first)) << "what everybody is told at the start has been told";
  const int before = second;
  EXPECT_TRUE(hearsOf("first", sql, link, first));
  EXPECT_EQ(second, before);
}

TEST(PostgresqlListener, AnEndedWatchIsNotCalledAnyMore) {
  TestLink link;
  const Sql sql;
  std::atomic<int> ended{0}, other{0};
  auto watch = link.link().watch("x", [&] { ++ended; });
  const auto kept = link.link().watch("x", [&] { ++other; });
  ASSERT_TRUE(isListening(sql, link, ended));
  watch.reset();
  const int before = ended;
  EXPECT_TRUE(hearsOf("x", sql, link, other));
  EXPECT_EQ(ended, before);
}

TEST(PostgresqlListener, AWatchMayEndInsideItsHintAndAfterTheLink) {
  TestLink link;
  std::shared_ptr<void> watch;
  std::mutex mutex;
  std::atomic<bool> called{false};
  {
    const std::lock_guard lock{mutex};
    watch = link.link().watch("x", [&] {
      const std::lock_guard inside{mutex};
      watch.reset();
      called = true;
    });
  }
  EXPECT_TRUE(eventually([&] { return called.load(); }));
  const auto late = link.link().watch("y", [] {});
  link.destroy();
}

TEST(PostgresqlListener, EverybodyGetsAHintAfterALostConnection) {
  TestLink link;
  const Sql sql;
  std::atomic<int> hints{0};
  const auto watch = link.link().watch("x", [&] { ++hints; });
  ASSERT_TRUE(isListening(sql, link, hints));
  const int before = hints;
  sql.exec("SELECT pg_terminate_backend(pid)" + ofListeners(link));
  EXPECT_TRUE(eventually([&] { return hints > before; }));
  EXPECT_TRUE(isListening(sql, link, hints));
  EXPECT_TRUE(eventually([&] { return link.log.count("no connection for notifications") == 1; })) << link.log.all();
  EXPECT_TRUE(eventually([&] { return link.log.count("arrive again") == 1; })) << link.log.all();
}

TEST(PostgresqlListener, ARolesLimitOnIdleConnectionsDoesNotEndIt) {
  const Sql sql;
  const std::string role = freshName("idle");
  sql.exec("CREATE ROLE " + role + " LOGIN; ALTER ROLE " + role + " SET idle_session_timeout = '500ms'");
  {
    TestLink link{PostgresqlStoreOptions{.connection = sharedServer(), .user = role}};
    std::atomic<int> hints{0};
    const auto watch = link.link().watch("x", [&] { ++hints; });
    ASSERT_TRUE(isListening(sql, link, hints)) << link.log.all();
    const std::string idleForLong = listenersOf(link) + " AND state_change < clock_timestamp() - interval '2 s'";
    EXPECT_TRUE(eventually([&] { return sql.text(idleForLong) == "1"; })) << link.log.all();
    const int before = hints;
    sql.exec("SELECT pg_notify('" + link.channel() + "', 'x')");
    EXPECT_TRUE(eventually([&] { return hints > before; }));
  }
  sql.exec("DROP ROLE " + role);
}

TEST(PostgresqlListener, BehindAPoolerItSaysOnceThatNothingArrives) {
  const OwnPooler pooler{socketDirectoryOf(sharedServer())};
  TestLink link{pooler.connection()};
  std::atomic<int> hints{0};
  const auto watch = link.link().watch("x", [&] { ++hints; });
  EXPECT_TRUE(eventually([&] { return link.log.count("as behind a pooler in transaction mode") == 1; }))
      << link.log.all();
  EXPECT_EQ(link.value(link.add("SELECT 1")), "1");
}

TEST(PostgresqlListener, BesideAPoolerItHearsByADirectConnection) {
  const OwnPooler pooler{socketDirectoryOf(sharedServer())};
  TestLink link{PostgresqlStoreOptions{.connection = pooler.connection(), .listen = sharedServer() + "?port=5432"}};
  const Sql sql;
  std::atomic<int> hints{0};
  const auto watch = link.link().watch("x", [&] { ++hints; });
  ASSERT_TRUE(isListening(sql, link, hints)) << link.log.all();
  const int before = hints;
  sql.exec("SELECT pg_notify('" + link.channel() + "', 'x')");
  EXPECT_TRUE(eventually([&] { return hints > before; }));
  EXPECT_EQ(link.log.count("pooler"), 0U);
}

TEST(PostgresqlPooler, WritesErrorsAndManyJobsWorkInTransactionMode) {
  const OwnPooler pooler{socketDirectoryOf(sharedServer())};
  const NumberTable table;
  TestLink link{PostgresqlStoreOptions{.connection = pooler.connection(), .commit = PostgresqlCommit::local}};
  const StatementId insert = link.add("INSERT INTO " + table.name() + " VALUES ($1, $2) RETURNING n");
  const StatementId setting = link.add("SELECT current_setting('synchronous_commit')");
  const JobReply reply = link.call({.writes = true, .statements = {{setting}, {insert, {"1", "1"}}}});
  ASSERT_EQ(reply.commit, Commit::done) << toString(reply);
  EXPECT_EQ(reply.rows.at(0).at(0).at(0), "local");
  const JobReply refused = link.call({.writes = true, .statements = {{insert, {"1", "2"}}}});
  EXPECT_EQ(refused.commit, Commit::rolledBack);
  EXPECT_EQ(refused.error.value_or(postgresql_store::ServerError{}).sqlState, "23505");
  std::vector<std::future<JobReply>> jobs;
  for (int i = 2; i < 42; ++i) {
    jobs.push_back(link.start({.writes = true, .statements = {{insert, {std::to_string(i), "1"}}}}));
  }
  for (auto& job : jobs) EXPECT_EQ(job.get().commit, Commit::done);
  EXPECT_EQ(table.sql().text("SELECT count(*) FROM " + table.name()), "41");
}

}  // namespace
}  // namespace tenure::test
