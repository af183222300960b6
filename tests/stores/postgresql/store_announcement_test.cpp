// A takeover that writers of a dead term keep out announces itself, on a real server.
#include <array>
#include <cstddef>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "stores/postgresql/row_support.hpp"
#include "stores/postgresql/statement_server.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

/// Transactions that check the row as docs/postgresql.md says, and overlap: each ends only when the next one holds the
/// row. They go on for as long as the check admits them.
class OverlappingWriters {
 public:
  OverlappingWriters(const std::string& schema, FencingToken token)
      : token_{token}, connections_{test::PostgresqlConnection{schema}, test::PostgresqlConnection{schema}} {
    EXPECT_TRUE(next());
  }

  /// False: the check admits no further one. The last one still runs.
  [[nodiscard]] bool next() {
    const test::PostgresqlConnection& begins = connections_[(++turn_) % 2];
    begins.exec("BEGIN");
    const bool admitted = begins.text(
                              "SELECT count(*) FROM (SELECT 1 FROM tenure_lease WHERE name = 'lease' AND sort = "
                              "'' AND token = " +
                              toString(token_) + " AND counter <= token AND NOT released FOR KEY SHARE) AS row") == "1";
    if (!admitted) begins.exec("ROLLBACK");
    if (admitted && turn_ > 1) end(turn_ - 1);
    if (!admitted) --turn_;
    return admitted;
  }
  void endLast() { end(turn_); }

 private:
  void end(std::size_t turn) { connections_[turn % 2].exec("COMMIT"); }

  const FencingToken token_;
  std::array<test::PostgresqlConnection, 2> connections_;
  std::size_t turn_{0};
};

TEST_F(PostgresqlStoreTest, writersOfADeadTermKeepNoTakeoverOut) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const LeaseRecord dead = store().record(key);
  OverlappingWriters writers{schema(), token};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writers.next()) << "the term is open";
  EXPECT_TRUE(isTransient(store().write(acquire(key, "b", {dead.version})))) << "one writer holds the row";
  EXPECT_FALSE(writers.next()) << "no writer of the term begins any more";
  EXPECT_EQ(store().record(key), dead) << "the announcement changes no record, so nobody waits anew";
  EXPECT_TRUE(store().tokens(key).announced);
  EXPECT_NE(disagreementIn(store().tokens(key)).find("takes over"), std::string::npos);
  EXPECT_TRUE(isTransient(store().write(acquire(key, "c", {dead.version})))) << "the last writer still runs";
  writers.endLast();
  const Applied taken = store().apply(acquire(key, "b", {dead.version}));
  EXPECT_EQ(taken.token, token.next().next()) << "the second attempt has announced nothing new";
  EXPECT_EQ(taken.warning, "");
  EXPECT_EQ(store().tokens(key).counter, store().tokens(key).copy);
  EXPECT_FALSE(store().tokens(key).announced);
  EXPECT_FALSE(writers.next()) << "stale";
  store().apply(renew(key, "b", {store().record(key).version}));
}

TEST_F(PostgresqlStoreTest, nobodyAnnouncesWhatCouldNotBeTaken) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const RecordVersion seen = store().record(key).version;
  OverlappingWriters writers{schema(), token};
  const auto stays = [&](const WriteRequest& request, const char* why) {
    static_cast<void>(store().write(request));
    EXPECT_EQ(store().tokens(key).counter, toString(token)) << why;
    EXPECT_TRUE(writers.next()) << why;
  };
  store().apply(renew(key, "a", {seen}));
  const RecordVersion version = store().record(key).version;
  stays(acquire(key, "b", {seen}), "the holder has renewed since");
  stays(acquire(key, "b"), "there is a record");
  stays(acquire(key, "b", {RecordVersion{version.text(), "1/1"}}), "the wait was in another history");
  // Another session may do it between the attempt and the announcement, so the announcement has conditions of its own.
  const StatementServer server{schema()};
  const auto rowNow = [&] { return server.run({StatementId::readLease, {"lease", ""}}).at(0); };
  const auto announced = [&](const Row& row) {
    static_cast<void>(server.run(Jobs::write(announcementOf(*stateOf(row)).value(), false).statements.front()));
    return store().tokens(key).announced;
  };
  Row other = rowNow();
  other[versionColumn] = seen.text();
  EXPECT_FALSE(announced(other));
  other = rowNow();
  other[counterHistoryColumn] = "1/1";
  EXPECT_FALSE(announced(other));
  other = rowNow();
  other[presentHistoryColumn] = "1/1";
  EXPECT_FALSE(announced(other)) << "the wait was in another history";
  store().apply(renew(key, "a", {version}));
  EXPECT_TRUE(writers.next()) << "renewals pass beside writers";
  EXPECT_TRUE(announced(rowNow())) << "else the rejections above would prove nothing";
  writers.endLast();
}

TEST_F(PostgresqlStoreTest, aTermWhoseTakeoverWasAnnouncedIsNotRenewedAndMayBeReleased) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const RecordVersion version = store().record(key).version;
  OverlappingWriters writers{schema(), token};
  EXPECT_TRUE(isTransient(store().write(acquire(key, "b", {version}))));
  WriteRequest withData = renew(key, "a", {version});
  withData.record.data = "payload";
  for (const WriteRequest& request : {renew(key, "a", {version}), withData}) {
    const WriteOutcome outcome = store().write(request);
    ASSERT_TRUE(isTransient(outcome)) << describe(outcome);
    EXPECT_NE(std::get<Rejected>(outcome).error.message.find("announced"), std::string::npos) << describe(outcome);
  }
  EXPECT_EQ(store().record(key).version, version);
  store().apply(release(key, "a", {version}));
  writers.endLast();
  const Applied taken = store().apply(acquire(key, "b", {store().record(key).version}));
  EXPECT_EQ(taken.token, token.next().next());
}

TEST_F(PostgresqlStoreTest, anAnnouncementLeavesATokenForTheTakeover) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  hand().exec("UPDATE tenure_lease SET token = 9007199254740990, counter = 9007199254740990");
  const RecordVersion version = store().record(key).version;
  OverlappingWriters writers{schema(), FencingToken{9007199254740990}};
  EXPECT_TRUE(isTransient(store().write(acquire(key, "b", {version}))));
  writers.endLast();
  EXPECT_EQ(store().apply(acquire(key, "b", {version})).token, maxFencingToken);
}

}  // namespace
}  // namespace tenure::postgresql_store
