// Jobs of the link to PostgreSQL on a healthy server, and on one whose processes are stopped and ended.
#include "lockcore/stores/postgresql/src/link/link.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <malloc.h>
#include <set>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/child_process.hpp"
#include "lockcore/stores/postgresql/src/link/job_account.hpp"
#include "stores/postgresql/link_support.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using postgresql_store::Job;
using postgresql_store::JobReply;
using postgresql_store::StatementId;
using Commit = JobReply::Commit;

/// A link, a table and the usual statements.
class PostgresqlLink : public testing::Test {
 protected:
  [[nodiscard]] Job insert(const std::string& id, const std::string& n) const {
    return {.writes = true, .statements = {{insert_, {id, n}}}};
  }

  NumberTable table_{};
  TestLink link_{};
  const StatementId insert_ = link_.add("INSERT INTO " + table_.name() + " VALUES ($1, $2) RETURNING n");
  const StatementId update_ = link_.add("UPDATE " + table_.name() + " SET n = $2 WHERE id = $1 RETURNING n");
  const StatementId lock_ = link_.add("SELECT n FROM " + table_.name() + " WHERE id = $1 FOR UPDATE NOWAIT");
  const StatementId read_ = link_.add("SELECT n FROM " + table_.name() + " WHERE id = $1");
  const StatementId pid_ = link_.add("SELECT pg_backend_pid()");
  const StatementId sleep_ = link_.add("SELECT pg_sleep($1)");
  const StatementId setting_ = link_.add("SELECT current_setting($1)");
  const StatementId wait_ = link_.add("SELECT pg_advisory_xact_lock($1)");
  const StatementId echo_ = link_.add("SELECT $1::text, $2::text");
};

/// Ends the stop of a process with the test.
class StoppedProcess {
 public:
  explicit StoppedProcess(const std::string& pid) : pid_{static_cast<pid_t>(std::stol(pid))} { kill(pid_, SIGSTOP); }
  ~StoppedProcess() { go(); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;
  void go() const { kill(pid_, SIGCONT); }

 private:
  pid_t pid_;
};

TEST_F(PostgresqlLink, AWriteIsDoneWithItsRows) {
  const JobReply reply =
      link_.call({.writes = true, .statements = {{insert_, {"1", "7"}}, {update_, {"1", "8"}}, {update_, {"2", "1"}}}});
  ASSERT_EQ(reply.commit, Commit::done) << toString(reply);
  EXPECT_EQ(reply.changed, (std::vector<std::size_t>{1, 1, 0}));
  ASSERT_EQ(reply.rows.size(), 3U);
  EXPECT_EQ(reply.rows[1].at(0).at(0), "8");
  EXPECT_TRUE(reply.rows[2].empty());
  EXPECT_FALSE(reply.error);
  EXPECT_EQ(table_.n(1), "8");
}

TEST_F(PostgresqlLink, NullAndEmptyTextAreTwoThings) {
  const JobReply reply = link_.call({.statements = {{echo_, {std::nullopt, ""}}}});
  ASSERT_EQ(reply.commit, Commit::done) << toString(reply);
  EXPECT_EQ(reply.rows.at(0).at(0), (postgresql_store::Row{std::nullopt, ""}));
}

TEST_F(PostgresqlLink, AnErrorRollsTheWholeWriteBack) {
  const JobReply reply =
      link_.call({.writes = true, .statements = {{insert_, {"1", "1"}}, {insert_, {"1", "2"}}, {insert_, {"3", "3"}}}});
  EXPECT_EQ(reply.commit, Commit::rolledBack);
  ASSERT_TRUE(reply.error);
  EXPECT_EQ(reply.error->severity, "ERROR");
  EXPECT_EQ(reply.error->sqlState, "23505");
  EXPECT_EQ(reply.rows.size(), 1U);
  EXPECT_EQ(table_.n(1), "");
  EXPECT_EQ(link_.call(insert("1", "5")).commit, Commit::done);
}

// The error is told before the server has answered the ROLLBACK, and a job that comes meanwhile may get a connection
// that is dialled sooner. So not each attempt shows it.
TEST_F(PostgresqlLink, AConnectionIsUsedAgainAfterAnError) {
  ASSERT_EQ(link_.call(insert("1", "1")).commit, Commit::done);
  EXPECT_TRUE(eventually([&] {
    const std::string pid = link_.value(pid_);
    EXPECT_EQ(link_.call(insert("1", "2")).commit, Commit::rolledBack);
    return link_.value(pid_) == pid;
  }));
}

TEST_F(PostgresqlLink, AnErrorAtCommitIsARollback) {
  table_.sql().exec("ALTER TABLE " + table_.name() + " ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED");
  ASSERT_EQ(link_.call(insert("1", "1")).commit, Commit::done);
  const JobReply reply = link_.call(insert("2", "1"));
  EXPECT_EQ(reply.commit, Commit::rolledBack);
  ASSERT_TRUE(reply.error);
  EXPECT_EQ(reply.error->sqlState, "23505");
  EXPECT_EQ(reply.rows.size(), 1U) << "the statement itself succeeded";
  EXPECT_EQ(table_.n(2), "");
}

TEST_F(PostgresqlLink, ARowThatSomebodyHasLockedIsAnErrorAtOnce) {
  ASSERT_EQ(link_.call(insert("1", "1")).commit, Commit::done);
  const Sql other;
  other.exec("BEGIN; UPDATE " + table_.name() + " SET n = 2 WHERE id = 1");
  const JobReply reply = link_.call({.writes = true, .statements = {{lock_, {"1"}}, {update_, {"1", "3"}}}});
  EXPECT_EQ(reply.commit, Commit::rolledBack);
  EXPECT_EQ(reply.error.value_or(postgresql_store::ServerError{}).sqlState, "55P03");
  other.exec("ROLLBACK");
}

TEST_F(PostgresqlLink, ALockThatTakesTooLongIsAClearAnswerInTime) {
  const Sql other;
  other.exec("BEGIN; LOCK TABLE " + table_.name());
  const JobReply reply = link_.call(insert("1", "1"), 800ms);
  EXPECT_EQ(reply.commit, Commit::rolledBack) << toString(reply);
  EXPECT_EQ(reply.error.value_or(postgresql_store::ServerError{}).sqlState, "55P03");
  other.exec("ROLLBACK");
}

TEST_F(PostgresqlLink, AFrozenBackendLeavesTheOutcomeOpenAndTheNextJobReconnects) {
  const std::string pid = link_.value(pid_);
  const StoppedProcess stopped{pid};
  const JobReply reply = link_.call(insert("1", "1"), 300ms);
  EXPECT_EQ(reply.commit, Commit::unanswered) << toString(reply);
  EXPECT_NE(reply.why.find("300 ms"), std::string::npos) << reply.why;
  EXPECT_NE(link_.value(pid_), pid);
  stopped.go();
  // Nothing was cancelled: what had left takes effect.
  EXPECT_TRUE(eventually([&] { return table_.n(1) == "1"; }));
}

TEST_F(PostgresqlLink, AnEndedServerProcessLeavesTheOutcomeOpen) {
  auto future = link_.start({.writes = true, .statements = {{insert_, {"1", "1"}}, {pid_}, {sleep_, {"30"}}}});
  const std::string sleeping =
      "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' "
      "AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL AND query = 'SELECT pg_sleep($1)'";
  const Sql admin;
  ASSERT_TRUE(eventually([&] { return !admin.rows(sleeping).empty(); }));
  admin.exec("SELECT pg_terminate_backend(pid) FROM (" + sleeping + ") AS s");
  const JobReply reply = future.get();
  EXPECT_EQ(reply.commit, Commit::unanswered) << toString(reply);
  ASSERT_TRUE(reply.error);
  EXPECT_EQ(reply.error->severity, "FATAL");
  EXPECT_EQ(reply.error->sqlState, "57P01");
  EXPECT_EQ(table_.n(1), "");
}

TEST_F(PostgresqlLink, AConnectionThatEndedWhileItWasIdleIsNotedBeforeAnythingIsSent) {
  const std::string pid = link_.value(pid_);
  const Sql admin;
  ASSERT_EQ(admin.text("SELECT pg_terminate_backend(" + pid + ", 10000)"), "t");
  EXPECT_EQ(link_.call(insert("1", "1")).commit, Commit::done);
}

// The job is there before the loop has seen that the socket is readable.
TEST_F(PostgresqlLink, AConnectionThatEndedAMomentBeforeAJobIsNotUsedForIt) {
  std::promise<JobReply> next;
  link_.link().run({.statements = {{pid_}}}, 10s, [&](const JobReply& reply) {
    (void)Sql{}.text("SELECT pg_terminate_backend(" + *reply.rows.at(0).at(0).at(0) + ", 10000)");
    link_.link().run(insert("1", "1"), 10s, [&](JobReply second) { next.set_value(std::move(second)); });
  });
  const JobReply reply = next.get_future().get();
  EXPECT_EQ(reply.commit, Commit::done) << toString(reply);
}

TEST_F(PostgresqlLink, WritesThatWaitForLocksAreAtMostThreeAndReadsAndUrgentOnesPass) {
  const Sql other;
  other.exec("SELECT pg_advisory_lock(" + std::to_string(getpid()) + ")");
  const std::string key = std::to_string(getpid());
  std::vector<std::future<JobReply>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(link_.start({.writes = true, .statements = {{wait_, {key}}}}));
  ASSERT_TRUE(eventually([&] {
    return other.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = " + key) ==
           "3";
  }));
  const JobReply late = link_.call(insert("1", "1"), 200ms);
  EXPECT_EQ(late.commit, Commit::notSent) << toString(late);
  EXPECT_NE(late.why.find("200 ms"), std::string::npos) << late.why;
  waiting.push_back(link_.start({.writes = true, .statements = {{wait_, {key}}}}));
  EXPECT_EQ(link_.call({.statements = {{read_, {"1"}}}}).commit, Commit::done) << "a write before it waits";
  Job urgent = insert("2", "2");
  urgent.urgent = true;
  EXPECT_EQ(link_.call(urgent).commit, Commit::done);
  other.exec("SELECT pg_advisory_unlock(" + key + ")");
  for (auto& one : waiting) EXPECT_EQ(one.get().commit, Commit::done);
  EXPECT_EQ(table_.n(1), "");
  EXPECT_EQ(table_.n(2), "2");
}

TEST_F(PostgresqlLink, FortyWritesAtOnceShareThreeConnections) {
  std::vector<std::future<JobReply>> jobs;
  for (int i = 0; i < 40; ++i) {
    jobs.push_back(
        link_.start({.writes = true, .statements = {{pid_}, {sleep_, {"0.01"}}, {insert_, {std::to_string(i), "1"}}}}));
  }
  std::set<std::string> pids;
  for (auto& job : jobs) {
    const JobReply reply = job.get();
    ASSERT_EQ(reply.commit, Commit::done) << toString(reply);
    pids.insert(reply.rows.at(0).at(0).at(0).value_or(""));
  }
  EXPECT_EQ(table_.sql().text("SELECT count(*) FROM " + table_.name()), "40");
  EXPECT_GT(pids.size(), 1U);
  EXPECT_LE(pids.size(), 3U);
}

/// On a busy machine a job may wait longer than the link does before it makes a further connection, so one quick round
/// of several is enough. A second connection would be there long before the server has been asked so often.
TEST_F(PostgresqlLink, QuickJobsThatComeTogetherShareOneConnection) {
  const auto connectionsAfterOneRound = [this] {
    const std::string name = freshName("quick");
    TestLink link{sharedServer() + (sharedServer().find('?') == std::string::npos ? "?" : "&") +
                  "application_name=" + name};
    const StatementId pid = link.add("SELECT pg_backend_pid()");
    (void)link.value(pid);
    std::vector<std::future<JobReply>> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(link.start({.statements = {{pid}}}));
    for (auto& job : jobs) EXPECT_EQ(job.get().commit, Commit::done);
    int most = 0;
    for (int i = 0; i < 100; ++i) {
      most = std::max(most, std::stoi(table_.sql().text(
                                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name + "'")));
    }
    return most;
  };
  EXPECT_TRUE(eventually([&] { return connectionsAfterOneRound() == 1; }));
}

/// Each of them is over before it has waited for as long as the link waits with a further connection. A renewal by a
/// heartbeat of 20 ms is such a job.
TEST_F(PostgresqlLink, ShortJobsBehindOneThatHangsGetAConnectionOfTheirOwn) {
  const Sql other;
  const std::string key = std::to_string(getpid());
  other.exec("SELECT pg_advisory_lock(" + key + ")");
  std::future<JobReply> hangs = link_.start({.writes = true, .statements = {{wait_, {key}}}});
  ASSERT_TRUE(eventually([&] {
    return other.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = " + key) ==
           "1";
  }));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return link_.call({.statements = {{read_, {"1"}}}}, 15ms).commit == Commit::done; }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  other.exec("SELECT pg_advisory_unlock(" + key + ")");
  EXPECT_EQ(hangs.get().commit, Commit::done);
}

TEST_F(PostgresqlLink, EachHandlerIsCalledOnceWhenTheLinkIsDestroyed) {
  std::vector<std::future<JobReply>> jobs;
  const Sql other;
  const std::string key = std::to_string(getpid());
  other.exec("SELECT pg_advisory_lock(" + key + ")");
  for (int i = 0; i < 12; ++i) {
    jobs.push_back(link_.start({.writes = true, .statements = {{wait_, {key}}, {insert_, {std::to_string(i), "1"}}}}));
  }
  ASSERT_TRUE(eventually([&] {
    return other.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = " + key) ==
           "3";
  }));
  link_.destroy();
  std::multiset<std::string> outcomes;
  for (auto& job : jobs) outcomes.insert(nameOf(job.get().commit));
  EXPECT_EQ(outcomes.count("unanswered"), 3U);
  EXPECT_EQ(outcomes.count("notSent"), 9U);
}

TEST_F(PostgresqlLink, AHandlerMayDestroyTheLink) {
  std::promise<void> destroyed;
  link_.link().run({.statements = {{pid_}}}, 10s, [&](const JobReply&) {
    link_.destroy();
    destroyed.set_value();
  });
  EXPECT_EQ(destroyed.get_future().wait_for(20s), std::future_status::ready);
}

TEST_F(PostgresqlLink, AForkedChildHarmsNothing) {
  const std::string pid = link_.value(pid_);
  auto watch = link_.link().watch("x", [] {});
  const pid_t child = fork();
  if (child == 0) {
    watch.reset();
    link_.destroy();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(link_.value(pid_), pid) << "the child must not have ended the session";
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer lets no child of a process with threads start one
TEST_F(PostgresqlLink, AJobOfAForkedChildIsAnswered) {
  const std::string pid = link_.value(pid_);
  EXPECT_EQ(inChild([&] {
              const JobReply reply = link_.call(insert("1", "1"));
              const bool told = reply.why.find("forked child") != std::string::npos;
              return reply.commit == Commit::notSent && told ? 0 : 1;
            }),
            0);
  EXPECT_EQ(table_.n(1), "");
  EXPECT_EQ(link_.value(pid_), pid);
}
#endif

TEST_F(PostgresqlLink, AJobMayBeLongerThanWhatTheLineTakesAtOnce) {
  const std::string large(8U << 20U, 'x');
  const JobReply reply = link_.call({.statements = {{echo_, {large, "y"}}}});
  ASSERT_EQ(reply.commit, Commit::done) << toString(reply);
  EXPECT_TRUE(reply.rows.at(0).at(0).at(0) == large);
}

TEST_F(PostgresqlLink, AJobOfWhichOnlyAPartLeftIsOpenAndNeverTakesEffectByItself) {
  const std::string pid = link_.value(pid_);
  const StoppedProcess stopped{pid};
  const std::string large(8U << 20U, 'x');
  const JobReply reply =
      link_.call({.writes = true, .statements = {{insert_, {"1", "1"}}, {echo_, {large, "y"}}}}, 300ms);
  EXPECT_EQ(reply.commit, Commit::unanswered) << toString(reply);
  stopped.go();
  const std::string alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid;
  EXPECT_TRUE(eventually([&] { return table_.sql().text(alive) == "0"; }));
  EXPECT_EQ(table_.n(1), "");
}

/// What the statements depend on, by its name, and a default that would spoil them.
struct SpoiltSetting {
  const char* name;
  const char* spoilt;
  const char* right;
};
constexpr SpoiltSetting spoiltSettings[] = {
    {"client_min_messages", "error", "warning"},
    {"array_nulls", "off", "on"},
    {"quote_all_identifiers", "on", "off"},
    {"jit", "on", "off"},
    {"plan_cache_mode", "force_custom_plan", "force_generic_plan"},
    {"enable_seqscan", "on", "off"},
    {"max_parallel_workers_per_gather", "8", "0"},
    {"enable_bitmapscan", "off", "on"},
    {"enable_hashjoin", "off", "on"},
    {"enable_indexscan", "off", "on"},
    {"enable_mergejoin", "off", "on"},
    {"enable_nestloop", "off", "on"},
    {"enable_sort", "off", "on"},
    {"enable_tidscan", "off", "on"},
    {"seq_page_cost", "0.001", "1"},
    {"random_page_cost", "100000", "4"},
    {"cpu_tuple_cost", "100", "0.01"},
    {"cpu_index_tuple_cost", "100", "0.005"},
    {"cpu_operator_cost", "100", "0.0025"},
    {"search_path", "public", "pg_catalog, pg_temp"},
};

TEST_F(PostgresqlLink, DefaultsOfTheRoleDoNotApply) {
  const Sql admin;
  const std::string role = freshName("role");
  const auto set = [&](const std::string& name, const std::string& value) {
    admin.exec("ALTER ROLE " + role + " SET " + name + " = '" + value + "'");
  };
  admin.exec("CREATE ROLE " + role + " LOGIN");
  set("default_transaction_isolation", "serializable");
  set("synchronous_commit", "off");
  for (const char* limit : {"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"})
    set(limit, "9999ms");
  for (const SpoiltSetting& one : spoiltSettings) set(one.name, one.spoilt);
  TestLink link{
      PostgresqlStoreOptions{.connection = sharedServer(), .user = role, .commit = PostgresqlCommit::remoteApply}};
  const StatementId setting = link.add("SELECT current_setting($1)");
  for (const bool writes : {false, true}) {
    SCOPED_TRACE(writes ? "a write" : "a read");
    const auto valueOf = [&](const std::string& name) {
      const JobReply reply = link.call({.writes = writes, .statements = {{setting, {name}}}}, 8s);
      return reply.commit == Commit::done ? reply.rows.at(0).at(0).at(0).value_or("") : toString(reply);
    };
    EXPECT_EQ(valueOf("transaction_isolation"), "read committed");
    EXPECT_EQ(valueOf("synchronous_commit"), "remote_apply");
    for (const SpoiltSetting& one : spoiltSettings) EXPECT_EQ(valueOf(one.name), one.right) << one.name;
    for (const char* limit : {"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"})
      EXPECT_NE(valueOf(limit), "9999ms") << limit;
  }
  link.destroy();
  admin.exec("DROP ROLE " + role);
}

TEST_F(PostgresqlLink, TheLimitOnTransactionsIsLiftedWhereThereIsOne) {
  EXPECT_EQ(postgresql_store::settingsText(160'009).find("transaction_timeout', '0'"), std::string_view::npos);
  EXPECT_NE(postgresql_store::settingsText(170'000).find("'transaction_timeout', '0', true"), std::string_view::npos);
}

TEST_F(PostgresqlLink, AWarningIsReportedWithItsCode) {
  const StatementId warns = link_.add("LISTEN " + link_.channel());  // anything that may stand in a transaction
  const std::string function = freshName("public.warns");
  table_.sql().exec("CREATE FUNCTION " + function +
                    "() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'quiet'; RAISE WARNING 'loud' USING "
                    "ERRCODE = '01000'; RETURN 1; END $$");
  const StatementId call = link_.add("SELECT " + function + "()");
  const JobReply reply = link_.call({.writes = true, .statements = {{warns}, {call}}});
  EXPECT_EQ(reply.commit, Commit::done);
  ASSERT_EQ(reply.warnings.size(), 1U) << toString(reply);
  EXPECT_EQ(reply.warnings[0].severity, "WARNING");
  EXPECT_EQ(reply.warnings[0].sqlState, "01000");
  table_.sql().exec("DROP FUNCTION " + function);
}

TEST_F(PostgresqlLink, AServerThatWarnsWithoutEndFillsNoMemory) {
  const std::string function = freshName("public.warns");
  table_.sql().exec("CREATE FUNCTION " + function +
                    "() RETURNS int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..5000 LOOP "
                    "RAISE WARNING '%', repeat('é', 2000); END LOOP; RETURN 1; END $$");
  const StatementId call = link_.add("SELECT " + function + "()");
  const JobReply reply = link_.call({.writes = true, .statements = {{call}}});
  EXPECT_EQ(reply.commit, Commit::done);
  EXPECT_GE(reply.warnings.size(), 1U) << "else the write would count as done";
  EXPECT_LE(reply.warnings.size(), 10U);
  for (const auto& warning : reply.warnings) {
    EXPECT_LE(warning.message.size(), 1000U);
    EXPECT_GE(warning.message.size(), 900U);
    EXPECT_TRUE(isUtf8(warning.message));
  }
  table_.sql().exec("DROP FUNCTION " + function);
}

/// Behind a pooler, a connection of the server may listen for another client, and its notifications come to us.
TEST_F(PostgresqlLink, NotificationsForOthersAreNotKept) {
  const StatementId listens = link_.add("LISTEN somebody_else");
  ASSERT_EQ(link_.call({.writes = true, .statements = {{listens}}}).commit, Commit::done);
  const std::size_t before = mallinfo2().uordblks;
  table_.sql().exec(
      "SELECT count(pg_notify('somebody_else', repeat('x', 7000) || i)) FROM generate_series(1, 3000) AS i");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(link_.value(pid_).empty());
  EXPECT_LT(mallinfo2().uordblks, before + (std::size_t{4} << 20U));
}

TEST_F(PostgresqlLink, TooManyConnectionsOfARoleLeaveTheOnesThatThereAre) {
  const Sql admin;
  const std::string role = freshName("role");
  admin.exec("CREATE ROLE " + role + " LOGIN CONNECTION LIMIT 1");
  {
    TestLink link{PostgresqlStoreOptions{.connection = sharedServer(), .user = role}};
    const StatementId pid = link.add("SELECT pg_backend_pid(), pg_sleep(0.05)");
    std::vector<std::future<JobReply>> jobs;
    for (int i = 0; i < 8; ++i) jobs.push_back(link.start({.statements = {{pid}}}));
    for (auto& job : jobs) EXPECT_EQ(job.get().commit, Commit::done);

    TestLink second{PostgresqlStoreOptions{.connection = sharedServer(), .user = role}};
    const StatementId one = second.add("SELECT 1");
    const JobReply refused = second.call({.statements = {{one}}});
    EXPECT_EQ(refused.commit, Commit::notSent);
    EXPECT_EQ(refused.cause, JobReply::Cause::transient);
    ASSERT_TRUE(refused.error) << toString(refused);
    EXPECT_EQ(refused.error->sqlState, "53300");
  }
  ASSERT_TRUE(eventually(
      [&] { return admin.text("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + role + "'") == "0"; }));
  admin.exec("DROP ROLE " + role);
}

TEST_F(PostgresqlLink, AnUnknownDatabaseIsNoPassingError) {
  TestLink link{PostgresqlStoreOptions{.connection = sharedServer(), .database = "nowhere"}};
  const StatementId one = link.add("SELECT 1");
  const JobReply reply = link.call({.statements = {{one}}});
  EXPECT_EQ(reply.commit, Commit::notSent);
  EXPECT_EQ(reply.cause, JobReply::Cause::misconfigured);
  EXPECT_EQ(reply.error.value_or(postgresql_store::ServerError{}).sqlState, "3D000") << toString(reply);
  EXPECT_EQ(reply.why.find("LOCATION"), std::string::npos);
}

TEST_F(PostgresqlLink, AServerThatIsNotThereIsToldAtOnce) {
  TestLink link{PostgresqlStoreOptions{.host = "/nowhere"}};
  const StatementId one = link.add("SELECT 1");
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const JobReply reply = link.call({.writes = true, .statements = {{one}}}, 10s);
    EXPECT_EQ(reply.commit, Commit::notSent);
    EXPECT_EQ(reply.cause, JobReply::Cause::transient);
    EXPECT_NE(reply.why.find("/nowhere"), std::string::npos) << reply.why;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

TEST_F(PostgresqlLink, AReadOnlyRoleIsRefusedWhenItConnects) {
  const Sql admin;
  const std::string role = freshName("role");
  admin.exec("CREATE ROLE " + role + " LOGIN; ALTER ROLE " + role + " SET default_transaction_read_only = on");
  {
    TestLink link{PostgresqlStoreOptions{.connection = sharedServer(), .user = role}};
    const StatementId one = link.add("SELECT 1");
    const JobReply reply = link.call({.statements = {{one}}});
    EXPECT_EQ(reply.commit, Commit::notSent) << toString(reply);
    EXPECT_FALSE(reply.why.empty());
  }
  ASSERT_TRUE(eventually(
      [&] { return admin.text("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + role + "'") == "0"; }));
  admin.exec("DROP ROLE " + role);
}

TEST_F(PostgresqlLink, ItSaysWhereItIs) {
  EXPECT_NE(link_.link().describe().find("postgresql postgres at /"), std::string::npos) << link_.link().describe();
  EXPECT_TRUE(link_.link().describe().ends_with(", table public.tenure_lease"));
}

/// A terminal would obey them. Names may also come from the environment and a service file.
TEST(PostgresqlDescription, ControlCharactersOfNamesAreInNoText) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  TestLink link{PostgresqlStoreOptions{.host = "/no\x1b[31m\nwhere\x7f", .database = "jo\x1b[31m\nbs"}};
  const std::string where = link.link().describe();
  EXPECT_TRUE(std::none_of(where.begin(), where.end(), control)) << where;
  const std::string error = link.call({.statements = {{link.add("SELECT 1")}}}).why;
  EXPECT_NE(error, "");
  EXPECT_TRUE(std::none_of(error.begin(), error.end(), control)) << error;
}

}  // namespace
}  // namespace tenure::test
