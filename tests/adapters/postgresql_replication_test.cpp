// What a fence for PostgreSQL makes of a COMMIT that waits for a synchronous standby: a server of the test's own, whose
// standby never comes.
#include <future>
#include <memory>
#include <string>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence.hpp>

#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

#include <libpq-fe.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::eventually;

const TermStamp stamp{"billing", FencingToken{5}, "a#1"};

class PostgresqlReplication : public testing::Test {
 protected:
  PostgresqlReplication() {
    admin_.exec("CREATE TABLE ledger(entry text)");
    PQsetNoticeProcessor(
        connection_.get(), [](void* heard, const char* text) { *static_cast<std::string*>(heard) += text; }, &heard_);
  }
  void exec(const char* sql) const { PQclear(PQexec(connection_.get(), sql)); }
  static PostgresqlResult work(PGconn* connection) {
    return PostgresqlResult{PQexec(connection, "INSERT INTO ledger VALUES('paid')")};
  }
  void waitForStandby(const std::string& name) const {
    admin_.exec("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
    admin_.exec("SELECT pg_reload_conf()");
  }
  /// A write that waits in its COMMIT. The server's processes do not take a setting at the same time, so the first
  /// writes may not wait yet.
  std::future<FenceResult<void>> waitingWrite(PostgresqlFence& fence) {
    std::future<FenceResult<void>> write;
    EXPECT_TRUE(eventually([&] {
      if (!write.valid() || write.wait_for(0s) == std::future_status::ready) {
        write = std::async(std::launch::async, [&] { return fence.write(stamp, &work); });
      }
      return admin_.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = " + pid_) == "1";
    }));
    return write;
  }

  const test::OwnServer server_;
  const test::Sql admin_{server_.connection()};
  std::string heard_;
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{PQconnectdb(server_.connection().c_str()), &PQfinish};
  const std::string pid_{std::to_string(PQbackendPID(connection_.get()))};
};

TEST_F(PostgresqlReplication, aCancelledWaitIsNoCommittedWrite) {
  PostgresqlFence fence = PostgresqlFence::open(connection_.get()).value();
  exec("SET client_min_messages = error");
  waitForStandby("missing");
  auto write = waitingWrite(fence);
  heard_.clear();
  admin_.exec("SELECT pg_cancel_backend(" + pid_ + ")");
  const FenceResult<void> written = write.get();
  ASSERT_TRUE(written.has_error()) << "no standby has it";
  const FenceError error = written.error();
  ASSERT_NE(error.writeError(), nullptr);
  EXPECT_TRUE(error.writeError()->mayBeWritten);
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::transient);
  EXPECT_NE(error.message.find("canceling wait for synchronous replication"), std::string::npos) << error.message;
  EXPECT_NE(heard_.find("canceling wait"), std::string::npos) << "the caller hears it too";
  waitForStandby("");
  EXPECT_TRUE(eventually([&] { return fence.write(stamp, &work).has_value(); })) << "the connection is as it was";
}

TEST_F(PostgresqlReplication, aWaitIsEndedFromOutsideByTheSocket) {
  PostgresqlFence fence = PostgresqlFence::open(connection_.get()).value();
  exec("SET statement_timeout = 100");
  waitForStandby("missing");
  auto write = waitingWrite(fence);
  EXPECT_EQ(write.wait_for(300ms), std::future_status::timeout) << "no setting of the server ends it";
  shutdown(PQsocket(connection_.get()), SHUT_RDWR);
  const FenceResult<void> written = write.get();
  ASSERT_TRUE(written.has_error());
  EXPECT_TRUE(FenceError{written.error()}.writeError()->mayBeWritten);
}

/// libpq does not tell the argument of such a receiver, so nobody else can call it, or put it back.
TEST_F(PostgresqlReplication, aReceiverOfTheCallersOwnWouldHideIt) {
  PostgresqlFence fence = PostgresqlFence::open(connection_.get()).value();
  const auto hear = [](void*, const PGresult*) {};
  PQsetNoticeReceiver(connection_.get(), hear, this);
  const FenceError refused = fence.write(stamp, &work).error();
  EXPECT_EQ(refused.writeError()->error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(refused.message.find("PQsetNoticeProcessor"), std::string::npos) << refused.message;
  exec("BEGIN");
  EXPECT_TRUE(fence.write(stamp, &work)) << "its COMMIT is the caller's";
  exec("COMMIT");
  EXPECT_EQ(PQsetNoticeReceiver(connection_.get(), nullptr, nullptr), +hear);
  EXPECT_EQ(admin_.text("SELECT count(*) FROM ledger"), "1");
}

TEST_F(PostgresqlReplication, aWarningOfADeferredTriggerIsNotTheServers) {
  admin_.exec(
      "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''odd''; RAISE NOTICE "
      "''usual''; "
      "RETURN NULL; END'");
  admin_.exec(
      "CREATE CONSTRAINT TRIGGER odd AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
      "FUNCTION warn()");
  PostgresqlFence fence = PostgresqlFence::open(connection_.get()).value();
  EXPECT_TRUE(fence.write(stamp, &work));
  EXPECT_NE(heard_.find("odd"), std::string::npos);
  EXPECT_NE(heard_.find("usual"), std::string::npos) << "the session hears what it asked for";
}

}  // namespace
}  // namespace tenure
