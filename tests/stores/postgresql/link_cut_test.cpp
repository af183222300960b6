// The line to the server is cut after each number of bytes that a write sends or receives. Whatever the reply says must
// be true of the table.
#include <map>

#include <gtest/gtest.h>

#include "stores/postgresql/cutting_proxy.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using postgresql_store::Job;
using postgresql_store::JobReply;
using postgresql_store::StatementId;
using Commit = JobReply::Commit;
using Direction = CuttingProxy::Direction;

class PostgresqlCut : public testing::Test {
 protected:
  /// Writes row `id` over a warm connection that is cut after `bytes`; false: the write needed fewer bytes.
  bool cutOnce(Direction direction, std::uint64_t bytes, int id) {
    const std::string pid = link_.value(pid_);
    proxy_.cutAfter(direction, bytes);
    const std::string row = std::to_string(id);
    const JobReply reply = link_.call({.writes = true, .statements = {{insert_, {row, fails_ ? "0" : "1"}}}});
    proxy_.heal();
    // The server may still be at it: its process ends when it finds the line cut.
    const std::string alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid;
    EXPECT_TRUE(eventually([&] { return !proxy_.wasCut() || table_.sql().text(alive) == "0"; }));
    ++seen_[reply.commit];
    check(reply, row, table_.n(id));
    return proxy_.wasCut();
  }

  static void check(const JobReply& reply, const std::string& row, const std::string& n) {
    SCOPED_TRACE("row " + row + ", " + toString(reply));
    if (reply.commit == Commit::done) {
      EXPECT_EQ(n, "1");
    } else if (reply.commit != Commit::unanswered) {
      EXPECT_EQ(n, "");
    }
    EXPECT_TRUE(reply.commit != Commit::rolledBack || reply.error);
    EXPECT_TRUE(reply.commit != Commit::unanswered || !reply.why.empty());
  }

  int cutEverywhere(Direction direction) {
    int id = 1;
    while (cutOnce(direction, static_cast<std::uint64_t>(id), id) && !HasFailure()) ++id;
    return id;
  }

  bool fails_{false};  ///< the row is refused by the table
  NumberTable table_{};
  CuttingProxy proxy_{socketDirectoryOf(sharedServer()) + "/.s.PGSQL.5432"};
  TestLink link_{PostgresqlStoreOptions{.connection = sharedServer(), .host = proxy_.directory()}};
  const StatementId insert_ = link_.add("INSERT INTO " + table_.name() + " VALUES ($1, 1 / $2::int) RETURNING n");
  const StatementId pid_ = link_.add("SELECT pg_backend_pid()");
  std::map<Commit, int> seen_{};
};

TEST_F(PostgresqlCut, EachByteThatAWriteSends) {
  const int bytes = cutEverywhere(Direction::toServer);
  EXPECT_GT(bytes, 400);
  EXPECT_GT(seen_[Commit::unanswered], 400);
  EXPECT_EQ(seen_[Commit::notSent], 0) << "the server may have had the whole flush";
  RecordProperty("bytes", bytes);
}

TEST_F(PostgresqlCut, EachByteThatAWriteReceives) {
  const int bytes = cutEverywhere(Direction::toClient);
  EXPECT_GT(bytes, 150);
  EXPECT_GT(seen_[Commit::unanswered], 50);
  EXPECT_GT(seen_[Commit::done], 5) << "the answer to COMMIT came before the cut";
  RecordProperty("bytes", bytes);
}

TEST_F(PostgresqlCut, EachByteThatARefusedWriteReceives) {
  fails_ = true;
  const int bytes = cutEverywhere(Direction::toClient);
  EXPECT_GT(bytes, 100);
  EXPECT_GT(seen_[Commit::unanswered], 50);
  EXPECT_GT(seen_[Commit::rolledBack], 0);
  EXPECT_EQ(seen_[Commit::done], 0);
  RecordProperty("bytes", bytes);
}

TEST_F(PostgresqlCut, ALineThatPassesNothingCostsOneJobItsTimeAndTheIdleConnectionsToo) {
  const StatementId sleep = link_.add("SELECT pg_sleep(0.2)");
  std::vector<std::future<JobReply>> warm;
  for (int i = 0; i < 4; ++i) warm.push_back(link_.start({.statements = {{sleep}}}));
  for (auto& one : warm) ASSERT_EQ(one.get().commit, Commit::done);
  proxy_.freeze();
  const JobReply reply = link_.call({.writes = true, .statements = {{insert_, {"1", "1"}}}}, 200ms);
  EXPECT_EQ(reply.commit, Commit::unanswered);
  const JobReply next = link_.call({.writes = true, .statements = {{insert_, {"2", "1"}}}}, 200ms);
  EXPECT_EQ(next.commit, Commit::notSent) << toString(next);
  EXPECT_EQ(table_.n(2), "");
}

}  // namespace
}  // namespace tenure::test
