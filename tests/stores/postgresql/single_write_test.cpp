// What the store makes of the answer to a single write, and what an acquisition does that is kept out.
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "lockcore/stores/postgresql/src/swaps.hpp"
#include "stores/postgresql/held_database.hpp"
#include "stores/postgresql/row_support.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

const LeaseKey billing{"billing"};

Row heldRow() {
  Row row = goodRow();
  row[sortColumn] = "";
  row[versionColumn] = "old";
  row[holderColumn] = "a";
  return row;
}

class SingleWriteTest : public testing::Test {
 protected:
  /// Over what is kept of the lease: nothing is read before.
  void write(const WriteRequest& request, Row seen = heldRow()) {
    carryOut(std::string{doing(request.purpose)}, std::move(seen),
             [&](const RowState& state) { return stored::decideWrite("postgresql", request, state); });
  }
  void setTokensTo(FencingToken token) {
    carryOut("setting the tokens of", heldRow(), [&](const RowState& state) {
      const StoredTokens tokens = tokensFrom(state.row);
      return stored::decideTokens(tokens, tokens, token, "by hand");
    });
  }
  /// Answers the first job that waits.
  void answer(JobReply reply) {
    HeldDatabase::Held job = std::move(database_->held.front());
    database_->held.erase(database_->held.begin());
    job.handler(std::move(reply));
  }
  static JobReply committed(const Value& token, const Value& counter) {
    return {.commit = JobReply::Commit::done, .rows = {{Row{token, counter}}}};
  }
  static JobReply refused(const char* sqlState) {
    return {.commit = JobReply::Commit::rolledBack, .error = ServerError{"ERROR", sqlState, "refused"}};
  }
  /// Notifications aside.
  [[nodiscard]] std::optional<HeldDatabase::Held> waiting() {
    std::erase_if(database_->held,
                  [](const auto& held) { return held.job.statements.front().id == StatementId::notify; });
    return database_->held.empty() ? std::nullopt : std::optional{database_->held.front()};
  }
  /// The outcome, once.
  [[nodiscard]] std::optional<stored::SwapOutcome> outcome() { return std::exchange(outcome_, std::nullopt); }
  [[nodiscard]] test::ManualScheduler& scheduler() { return *scheduler_; }

 private:
  void carryOut(const std::string& doing, Row row, const std::function<stored::Decision(const RowState&)>& decide) {
    const auto seen = stateOf(std::move(row));
    const stored::Decision decision = decide(*seen);
    ASSERT_TRUE(std::holds_alternative<stored::Change>(decision));
    texts_.push_back(doing);
    perform(core_, swapOf(*core_, {billing, texts_.back(), core_->deadline(3s)}, seen,
                          std::get<stored::Change>(decision), [this](stored::SwapOutcome outcome) {
                            EXPECT_FALSE(outcome_) << "answered twice";
                            outcome_ = std::move(outcome);
                          }));
  }

  std::deque<std::string> texts_{};
  std::optional<stored::SwapOutcome> outcome_{};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<HeldDatabase> database_ = std::make_shared<HeldDatabase>();
  const CorePtr core_ =
      std::make_shared<StoreCore>(database_, "postgresql", "public", "tenure_lease", Logger{}, scheduler_);
};

void expectDoubtAboutTheToken(const std::optional<stored::SwapOutcome>& outcome) {
  ASSERT_TRUE(outcome);
  const auto* unknown = std::get_if<Unknown>(&*outcome);
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->error.errorClass, ErrorClass::corrupt);
  EXPECT_NE(unknown->error.message.find("fencing token"), std::string::npos) << unknown->error.message;
}

TEST_F(SingleWriteTest, withoutTheDecidedTokenInTheAnswerNothingCountsAsDone) {
  WriteRequest withData = renew(billing, "a", {RecordVersion{"old"}});
  withData.record.data = "payload";
  WriteRequest removing = release(billing, "a", {RecordVersion{"old"}});
  removing.removes = true;
  struct Case {
    WriteRequest request;
    Row seen;
    Value token, counter;
  };
  for (const Case& one :
       {Case{acquire(billing, "b", {RecordVersion{"old", "1/1"}}), heldRow(), "8", "8"},
        Case{acquire(billing, "b"), Row(leaseColumnCount), "1", "1"}, Case{withData, heldRow(), "7", "7"},
        Case{release(billing, "a", {RecordVersion{"old"}}), heldRow(), "7", "7"},
        Case{removing, heldRow(), std::nullopt, "7"}}) {
    for (const Value& wrong : {Value{"0"}, Value{"-1"}, Value{"x"}, Value{"6"}, Value{"9007199254740992"}}) {
      for (const JobReply& reply : {committed(wrong, one.counter), committed(one.token, wrong)}) {
        write(one.request, one.seen);
        answer(reply);
        expectDoubtAboutTheToken(outcome());
        static_cast<void>(waiting());
      }
    }
    write(one.request, one.seen);
    answer(committed(one.token, one.counter));
    const auto done = outcome();
    ASSERT_TRUE(done);
    EXPECT_TRUE(std::holds_alternative<stored::Swapped>(*done));
    static_cast<void>(waiting());
  }
}

TEST_F(SingleWriteTest, aCorrectionThatIsAnsweredWithAnotherTokenDoesNotCountAsDone) {
  for (const Value& token : {Value{}, Value{"0"}, Value{"x"}, Value{"16"}, Value{"18"}}) {
    setTokensTo(FencingToken{17});
    answer(committed(token, "17"));
    expectDoubtAboutTheToken(outcome());
    static_cast<void>(waiting());
  }
  setTokensTo(FencingToken{17});
  answer(committed("17", "17"));
  const auto done = outcome();
  ASSERT_TRUE(done);
  EXPECT_TRUE(std::holds_alternative<stored::Swapped>(*done));
}

/// One flush: the token was decided from what was seen, and the statement holds only if nothing has changed since.
TEST_F(SingleWriteTest, aTakeoverIsOneStatementThatReadsNothing) {
  write(acquire(billing, "b", {RecordVersion{"old", "1/1"}}));
  ASSERT_TRUE(waiting());
  const Job job = waiting()->job;
  ASSERT_EQ(job.statements.size(), 1U);
  EXPECT_EQ(job.statements.front().id, StatementId::beginTerm);
  const std::vector<Value>& values = job.statements.front().values;
  EXPECT_EQ(values.at(4), "8") << "the new token";
  EXPECT_EQ(values.at(17), "old") << "the version that was seen";
  EXPECT_EQ(values.at(25), "7") << "the counter that was seen";
  EXPECT_EQ(values.at(29), "1/1") << "the history that was seen";
}

TEST_F(SingleWriteTest, anAcquisitionThatIsKeptOutIsAnsweredWhenItsAnnouncementHasEnded) {
  JobReply lost{.commit = JobReply::Commit::unanswered, .why = "cut"};
  JobReply warned = committed("7", "8");
  warned.warnings.push_back({"WARNING", "01000", "not replicated"});
  for (const JobReply& ended :
       {committed("7", "8"), committed({}, {}), refused("55P03"), refused("42501"), lost, warned}) {
    write(acquire(billing, "b", {RecordVersion{"old", "1/1"}}));
    scheduler().advance(1s);
    answer(refused("55P03"));
    EXPECT_FALSE(outcome()) << "the announcement is under way";
    ASSERT_TRUE(waiting());
    EXPECT_EQ(waiting()->timeout, 2s) << "of the acquisition's time";
    const Statement announcement = waiting()->job.statements.back();
    EXPECT_EQ(announcement.id, StatementId::updateInHistory);
    EXPECT_EQ(announcement.values.at(2), "old") << "the version stays";
    EXPECT_EQ(announcement.values.at(4), "7");
    EXPECT_EQ(announcement.values.at(11), "8") << "the counter";
    EXPECT_EQ(announcement.values.at(17), "old") << "if it is as it was seen";
    EXPECT_EQ(announcement.values.at(29), "1/1") << "in the history in which the wait was counted";
    answer(ended);
    const auto done = outcome();
    ASSERT_TRUE(done);
    ASSERT_TRUE(std::holds_alternative<Rejected>(*done));
    EXPECT_EQ(std::get<Rejected>(*done).error.errorClass, ErrorClass::transient);
    EXPECT_NE(std::get<Rejected>(*done).error.message.find("55P03"), std::string::npos);
    EXPECT_FALSE(waiting());
  }
}

TEST_F(SingleWriteTest, nothingElseIsAnnounced) {
  const std::vector<RecordVersion> old{RecordVersion{"old", "1/1"}};
  WriteRequest withData = renew(billing, "a", old);
  withData.record.data = "payload";
  const auto expectNone = [&](const WriteRequest& request, JobReply reply, Row seen = heldRow()) {
    write(request, std::move(seen));
    answer(std::move(reply));
    EXPECT_TRUE(outcome());
    EXPECT_FALSE(waiting());
  };
  Row removed = removedRow();
  removed[sortColumn] = "";
  expectNone(acquire(billing, "b"), refused("55P03"), removed);
  expectNone(acquire(billing, "b"), refused("55P03"), Row(leaseColumnCount));
  Row released = heldRow();
  released[releasedColumn] = "t";
  expectNone(acquire(billing, "b", old), refused("55P03"), released);
  Row announced = heldRow();
  announced[counterColumn] = "8";
  expectNone(acquire(billing, "b", old), refused("55P03"), announced);
  Row last = heldRow();
  last[tokenColumn] = last[counterColumn] = "9007199254740990";
  expectNone(acquire(billing, "b", old), refused("55P03"), last);
  expectNone(withData, refused("55P03"));
  expectNone(release(billing, "a", old), refused("55P03"));
  expectNone(acquire(billing, "b", old), refused("57014"));
  expectNone(acquire(billing, "b", old), {.commit = JobReply::Commit::unanswered});
  expectNone(acquire(billing, "b", old), committed("8", "8"));
  setTokensTo(FencingToken{17});
  answer(refused("55P03"));
  EXPECT_TRUE(outcome());
  EXPECT_FALSE(waiting());
}

TEST_F(SingleWriteTest, aRowThatIsNotReturnedWasNotChangedWhateverBecameOfTheCommit) {
  for (const JobReply::Commit commit : {JobReply::Commit::done, JobReply::Commit::unanswered}) {
    write(renew(billing, "a", {RecordVersion{"old"}}));
    answer({.commit = commit, .rows = {{}}});
    const auto differs = outcome();
    ASSERT_TRUE(differs);
    EXPECT_TRUE(std::holds_alternative<stored::Differs>(*differs));
  }
  write(renew(billing, "a", {RecordVersion{"old"}}));
  answer({.commit = JobReply::Commit::unanswered});
  const auto unseen = outcome();
  ASSERT_TRUE(unseen);
  EXPECT_TRUE(std::holds_alternative<Unknown>(*unseen)) << "its statement was not answered";
}

/// Many leases may be released together.
TEST_F(SingleWriteTest, theConnectionThatIsKeptForRenewalsIsNotUsedByReleases) {
  WriteRequest withData = renew(billing, "a", {RecordVersion{"old"}});
  withData.record.data = "changed";
  write(withData);
  ASSERT_TRUE(waiting());
  EXPECT_TRUE(waiting()->job.urgent);
  answer(refused("40001"));
  static_cast<void>(outcome());
  write(release(billing, "a", {RecordVersion{"old"}}));
  ASSERT_TRUE(waiting());
  EXPECT_FALSE(waiting()->job.urgent);
}

}  // namespace
}  // namespace tenure::postgresql_store
