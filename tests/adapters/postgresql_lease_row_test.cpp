// A fence that checks the lease's row too: when it refuses, what waits for a write under way, and what does not.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence.hpp>

#include "adapters/postgresql_database.hpp"
#include "adapters/postgresql_lease_table.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1", std::string lease = "billing") {
  return {std::move(lease), FencingToken{token}, std::move(holder)};
}

constexpr const char* lockNotAvailable = "55P03";

class PostgresqlLeaseRowTest : public testing::Test {
 protected:
  PostgresqlLeaseRowTest() {
    database_.exec(
        "CREATE TABLE ledger(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry text UNIQUE NOT NULL)");
    database_.exec(test::PostgresqlLeases::tableSql());
    fence_.emplace(open(database_));
    takeOver(stamp(5));
  }

  PostgresqlFence open(const test::PostgresqlConnection& database, PostgresqlFenceOptions options = {}) {
    return PostgresqlFence::open(database.raw(), test::PostgresqlLeases::checkedBy(schema_.name(), std::move(options)))
        .value();
  }
  void takeOver(const TermStamp& term, std::int64_t leaseMs = 60'000) {
    EXPECT_EQ(candidates_.tryTakeOver(term, leaseMs), "");
  }
  static PostgresqlResult add(PGconn* connection, const std::string& entry) {
    return PostgresqlResult{PQexec(connection, ("INSERT INTO ledger(entry) VALUES('" + entry + "')").c_str())};
  }
  [[nodiscard]] FenceResult<void> write(const TermStamp& term, const std::string& entry) {
    return fence_->write(term, [&](PGconn* connection) { return add(connection, entry); });
  }
  /// Writes one entry, with `meanwhile` inside of the transaction.
  template <class Meanwhile>
  [[nodiscard]] FenceResult<void> writeWhile(const Meanwhile& meanwhile, const std::string& entry) {
    return fence_->write(stamp(5), [&](PGconn* connection) {
      meanwhile();
      return add(connection, entry);
    });
  }
  [[nodiscard]] FenceError errorOf(const TermStamp& term) {
    const auto written = write(term, "refused");
    EXPECT_TRUE(written.has_error());
    EXPECT_EQ(ledger().find("refused"), std::string::npos);
    EXPECT_EQ(PQtransactionStatus(database_.raw()), PQTRANS_IDLE);
    return written.has_error() ? FenceError{written.error()} : FenceError{TermOver{}, "written"};
  }
  [[nodiscard]] std::string ledger() const {
    return candidates_.database().text("SELECT coalesce(string_agg(entry, ' ' ORDER BY id), '') FROM ledger");
  }

  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection database_{schema_.name()};
  const test::PostgresqlLeases candidates_{schema_.name()};
  std::optional<PostgresqlFence> fence_;
};

TEST_F(PostgresqlLeaseRowTest, aTermThatTheRowShowsWrites) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(candidates_.tryRenew(), "");
  EXPECT_TRUE(write(stamp(5), "two").has_value());
  EXPECT_EQ(ledger(), "one two");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
}

TEST_F(PostgresqlLeaseRowTest, aLostLeaseIsRefusedBeforeItsSuccessorHasWritten) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  takeOver(stamp(6, "b#2"));
  const FenceError error = errorOf(stamp(5));
  ASSERT_NE(error.stale(), nullptr) << error.message;
  EXPECT_EQ(*error.stale(), (StaleToken{FencingToken{5}, FencingToken{6}}));
  EXPECT_NE(error.message.find("has reached token 6"), std::string::npos) << error.message;
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5)) << "the successor has written nothing yet";
  PostgresqlFence bare = PostgresqlFence::open(database_.raw()).value();
  EXPECT_TRUE(bare.write(stamp(5), [](PGconn* raw) { return add(raw, "stale"); }).has_value())
      << "a fence without the row cannot know; if it did, this test would prove nothing";
}

TEST_F(PostgresqlLeaseRowTest, aStaleTokenOfTheRowIsReportedToTheTerm) {
  takeOver(stamp(6, "b#2"));
  FencingToken reported{};
  const FencedTerm term{stamp(5), {}, [&](FencingToken seen) { reported = seen; }};
  EXPECT_TRUE(fence_->write(term, [](PGconn*) {}).has_error());
  EXPECT_EQ(reported, FencingToken{6});
}

TEST_F(PostgresqlLeaseRowTest, aReleasedOrRemovedTermIsOver) {
  EXPECT_EQ(candidates_.tryRelease(), "");
  FenceError error = errorOf(stamp(5));
  EXPECT_NE(error.over(), nullptr) << error.message;
  EXPECT_NE(error.message.find("it was released"), std::string::npos) << error.message;
  EXPECT_EQ(candidates_.tryRemove(), "");
  error = errorOf(stamp(5));
  EXPECT_NE(error.over(), nullptr) << error.message;
  EXPECT_NE(error.message.find("removed"), std::string::npos) << error.message;
  error = errorOf(stamp(4));
  ASSERT_NE(error.stale(), nullptr) << error.message;
  EXPECT_EQ(error.stale()->highestSeen, FencingToken{5}) << "the counter stays";
}

TEST_F(PostgresqlLeaseRowTest, aTermThatThisDatabaseHasNotSeenIsRefused) {
  const FenceError ahead = errorOf(stamp(7));
  EXPECT_NE(ahead.over(), nullptr) << ahead.message;
  EXPECT_NE(ahead.message.find("has lost the term"), std::string::npos) << ahead.message;
  const FenceError foreign = errorOf(stamp(5, "c#3"));
  ASSERT_NE(foreign.foreign(), nullptr) << foreign.message;
  EXPECT_EQ(foreign.foreign()->holder, "a#1");
  const FenceError unknown = errorOf(stamp(5, "a#1", "Billing"));
  ASSERT_NE(unknown.writeError(), nullptr) << unknown.message;
  EXPECT_EQ(unknown.writeError()->error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(unknown.message.find("has no row in table"), std::string::npos) << unknown.message;
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt) << "nothing of a refused write is remembered";
}

TEST_F(PostgresqlLeaseRowTest, aNumberThatIsNoTokenIsDamage) {
  candidates_.database().exec("UPDATE tenure_lease SET token = 9007199254740992");
  const FenceError error = errorOf(stamp(5));
  ASSERT_NE(error.writeError(), nullptr) << error.message;
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt);
}

TEST_F(PostgresqlLeaseRowTest, aTakeoverWaitsForAWriteUnderWayAndRenewalsPass) {
  const auto written = writeWhile(
      [&] {
        EXPECT_EQ(candidates_.tryRenew(), "");
        EXPECT_EQ(candidates_.tryTakeOver(stamp(6, "b#2")), lockNotAvailable);
        EXPECT_EQ(candidates_.tryRemove(), lockNotAvailable);
        EXPECT_EQ(candidates_.tryRelease(), "");
        EXPECT_EQ(candidates_.tryTakeOver(stamp(6, "b#2")), lockNotAvailable) << "of a released lease too";
      },
      "one");
  EXPECT_TRUE(written.has_value());
  takeOver(stamp(6, "b#2"));
  EXPECT_EQ(ledger(), "one");
}

TEST_F(PostgresqlLeaseRowTest, anAnnouncedTakeoverPassesTheWriteUnderWayAndRefusesTheNext) {
  const test::PostgresqlConnection second{schema_.name()};
  PostgresqlFence other = open(second);
  std::optional<FenceError> refused;
  const auto overlapping = [&] {
    EXPECT_EQ(candidates_.tryTakeOver(stamp(6, "b#2")), lockNotAvailable);
    EXPECT_EQ(candidates_.tryAnnounce(), "");
    const auto next = other.write(stamp(5), [](PGconn* raw) { return add(raw, "next"); });
    if (next.has_error()) refused = next.error();
  };
  EXPECT_TRUE(writeWhile(overlapping, "one").has_value()) << "it began before";
  ASSERT_TRUE(refused) << "overlapping writes would keep every takeover out";
  EXPECT_NE(refused->over(), nullptr) << refused->message;
  EXPECT_NE(refused->message.find("announced"), std::string::npos) << refused->message;
  EXPECT_NE(errorOf(stamp(5)).over(), nullptr);
  takeOver(stamp(7, "b#2"));
  EXPECT_NE(errorOf(stamp(5)).stale(), nullptr);
  EXPECT_TRUE(write(stamp(7, "b#2"), "successor").has_value());
  EXPECT_EQ(ledger(), "one successor");
}

TEST_F(PostgresqlLeaseRowTest, aCounterThatWasSetBackAnnouncesNothing) {
  for (const char* counter : {"4", "0", "-1"}) {
    candidates_.database().exec(std::string{"UPDATE tenure_lease SET counter = "} + counter);
    EXPECT_TRUE(write(stamp(5), counter).has_value()) << counter;
  }
}

TEST_F(PostgresqlLeaseRowTest, aCounterThatWasRaisedByHandEndsTheTermAndClaimsNoTakeover) {
  for (const char* counter : {"7", "9223372036854775807"}) {
    candidates_.database().exec(std::string{"UPDATE tenure_lease SET counter = "} + counter);
    const FenceError refused = errorOf(stamp(5));
    EXPECT_NE(refused.over(), nullptr) << refused.message;
    EXPECT_EQ(refused.message.find("announced"), std::string::npos) << refused.message;
    EXPECT_NE(refused.message.find("below the counter " + std::string{counter}), std::string::npos) << refused.message;
  }
}

TEST_F(PostgresqlLeaseRowTest, aSnapshotFromBeforeAnAnnouncementIsOfAWriteUnderWay) {
  database_.exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
  EXPECT_EQ(database_.text("SELECT count(*) >= 0 FROM ledger"), "t");
  EXPECT_EQ(candidates_.tryAnnounce(), "");
  EXPECT_TRUE(write(stamp(5), "one").has_value()) << "its transaction began before";
  EXPECT_EQ(candidates_.tryTakeOver(stamp(7, "b#2")), lockNotAvailable) << "and the takeover waits for it";
  database_.exec("COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ");
  EXPECT_NE(FenceError{write(stamp(5), "two").error()}.over(), nullptr);
  database_.exec("ROLLBACK");
  takeOver(stamp(7, "b#2"));
}

TEST_F(PostgresqlLeaseRowTest, writesOfOneTermDoNotWaitForEachOther) {
  const test::PostgresqlConnection second{schema_.name()};
  PostgresqlFence other = open(second, {.lockTimeout = 100ms});
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto inner = [&] {
    EXPECT_TRUE(other.write(stamp(5), [](PGconn* raw) { return add(raw, "two"); }).has_value());
  };
  EXPECT_TRUE(writeWhile(inner, "three").has_value());
  EXPECT_EQ(ledger(), "one two three");
}

TEST_F(PostgresqlLeaseRowTest, aWriteThatMeetsATakeoverUnderWayWaitsForItAndIsRefused) {
  const test::PostgresqlConnection taking{schema_.name()};
  taking.exec("BEGIN; UPDATE tenure_lease SET token = 6, counter = 6, holder = 'b#2'");
  fence_.emplace(open(database_, {.lockTimeout = 100ms}));
  const FenceError waited = errorOf(stamp(5));
  ASSERT_NE(waited.writeError(), nullptr) << waited.message;
  EXPECT_EQ(waited.writeError()->error.errorClass, ErrorClass::transient);
  EXPECT_NE(waited.message.find("SQLSTATE 55P03"), std::string::npos) << waited.message;
  taking.exec("COMMIT");
  EXPECT_NE(errorOf(stamp(5)).stale(), nullptr);
}

TEST_F(PostgresqlLeaseRowTest, aSnapshotBeforeATakeoverIsRefusedAndOneBeforeARenewalIsNot) {
  std::uint64_t token = 5;
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    database_.exec("BEGIN ISOLATION LEVEL " + std::string{level});
    EXPECT_EQ(database_.text("SELECT count(*) >= 0 FROM ledger"), "t");
    EXPECT_EQ(candidates_.tryRenew(), "");
    EXPECT_TRUE(write(stamp(token), level).has_value()) << "after a renewal";
    database_.exec("COMMIT; BEGIN ISOLATION LEVEL " + std::string{level});
    EXPECT_EQ(database_.text("SELECT count(*) >= 0 FROM ledger"), "t");
    EXPECT_EQ(candidates_.tryRelease(), "");
    takeOver(stamp(token + 1, "a#1"));
    const auto old = write(stamp(token), "stale");
    ASSERT_TRUE(old.has_error());
    EXPECT_NE(old.error().message.find("SQLSTATE 40001"), std::string::npos) << old.error().message;
    database_.exec("ROLLBACK");
    ++token;
  }
  EXPECT_EQ(ledger(), "REPEATABLE READ SERIALIZABLE");
}

TEST_F(PostgresqlLeaseRowTest, aWriterThatStandsStillDelaysATakeoverForHalfALeaseAtMost) {
  constexpr std::int64_t leaseMs = 2'000;  // its half is well above the time that a takeover waits at first
  takeOver(stamp(6), leaseMs);
  for (const auto limit : {0ms, 60'000ms}) {  // the session's setting, and one that is longer than the lease
    const test::PostgresqlConnection still{schema_.name()};
    PostgresqlFence frozen = open(still, {.frozenLimit = limit});
    const std::uint64_t next = 7 + static_cast<std::uint64_t>(limit.count());
    const auto late = frozen.write(stamp(next - 1), [&](PGconn* connection) {
      EXPECT_EQ(candidates_.tryTakeOver(stamp(next), leaseMs), lockNotAvailable);
      candidates_.database().exec("SET lock_timeout = 30000");
      EXPECT_EQ(candidates_.tryTakeOver(stamp(next), leaseMs), "") << "the server ends the writer's session";
      candidates_.database().exec("SET lock_timeout = 200");
      return add(connection, "late");
    });
    ASSERT_TRUE(late.has_error());
    EXPECT_FALSE(FenceError{late.error()}.writeError()->mayBeWritten);
    takeOver(stamp(60'006), leaseMs);
  }
  EXPECT_EQ(ledger(), "");
}

TEST_F(PostgresqlLeaseRowTest, aShorterLimitOfTheWritersStays) {
  const auto limit = [&](PGconn*) { EXPECT_EQ(database_.text("SHOW idle_in_transaction_session_timeout"), "2s"); };
  fence_.emplace(open(database_, {.frozenLimit = 2s}));
  EXPECT_TRUE(fence_->write(stamp(5), limit).has_value());
  database_.exec("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s'");
  EXPECT_TRUE(fence_->write(stamp(5), limit).has_value()) << "in a transaction of the caller's";
  database_.exec("COMMIT");
  EXPECT_EQ(database_.text("SHOW idle_in_transaction_session_timeout"), "0");
}

TEST_F(PostgresqlLeaseRowTest, theRowStaysLockedUntilTheCallersTransactionEnds) {
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(database_.text("SHOW idle_in_transaction_session_timeout"), "30s") << "half of the lease";
  EXPECT_EQ(candidates_.tryTakeOver(stamp(6, "b#2")), lockNotAvailable);
  database_.exec("COMMIT");
  takeOver(stamp(6, "b#2"));
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(5), "two").has_error());
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one");
}

TEST_F(PostgresqlLeaseRowTest, opensOnlyWhereTheTableIsAndTheRoleMayLockIt) {
  database_.exec("ALTER TABLE tenure_lease RENAME TO elsewhere");
  const auto missing = PostgresqlFence::open(database_.raw(), test::PostgresqlLeases::checkedBy(schema_.name()));
  ASSERT_TRUE(missing.has_error());
  EXPECT_EQ(FenceError{missing.error()}.writeError()->error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(missing.error().message.find("SQLSTATE 42P01"), std::string::npos) << missing.error().message;
  EXPECT_NE(missing.error().message.find("tenure init"), std::string::npos) << missing.error().message;
  database_.exec("ALTER TABLE elsewhere RENAME TO tenure_lease");

  const std::string role = "r" + schema_.name();
  database_.exec("CREATE ROLE " + role + "; GRANT USAGE ON SCHEMA " + schema_.name() + " TO " + role +
                 "; GRANT INSERT ON ledger TO " + role + "; GRANT SELECT, INSERT, UPDATE ON tenure_fence_guard TO " +
                 role + "; GRANT SELECT ON tenure_lease TO " + role + "; SET ROLE " + role);
  const auto refused = PostgresqlFence::open(database_.raw(), test::PostgresqlLeases::checkedBy(schema_.name()));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::credentials);
  EXPECT_NE(refused.error().message.find("UPDATE (renewed_at)"), std::string::npos) << refused.error().message;
  database_.exec("RESET ROLE; GRANT UPDATE (renewed_at) ON tenure_lease TO " + role + "; SET ROLE " + role);
  fence_ = open(database_);
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(database_.tryExec("UPDATE tenure_lease SET token = 9"), "42501");
  database_.exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace tenure
