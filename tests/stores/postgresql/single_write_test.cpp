// What the store makes of the answer to a single write, and what an acquisition does that is kept out.
#include <chrono>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <tenure/testing/manual_scheduler.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/calls.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/held_database.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

const LeaseKey billing{"billing"};

class SingleWriteTest : public testing::Test {
 protected:
  void write(WriteRequest request) { writeLease(core_, std::move(request), core_->deadline(3s), keep()); }
  void setTokensTo(FencingToken token) {
    setTokens(core_, billing, StoredTokens{.counter = "7"}, token, core_->deadline(3s), keep());
  }
  /// Answers the first job that waits.
  void answer(JobReply reply) {
    HeldDatabase::Held job = std::move(database_->held.front());
    database_->held.erase(database_->held.begin());
    job.handler(std::move(reply));
  }
  static JobReply committed(const Value& token) {
    return {.commit = JobReply::Commit::done, .rows = {{Row{token, "f"}}}};
  }
  static JobReply refused(const char* sqlState) {
    return {.commit = JobReply::Commit::rolledBack, .error = Complaint{"ERROR", sqlState, "refused"}};
  }
  /// Notifications aside.
  [[nodiscard]] std::optional<HeldDatabase::Held> waiting() {
    std::erase_if(database_->held,
                  [](const auto& held) { return held.job.statements.front().id == StatementId::notify; });
    return database_->held.empty() ? std::nullopt : std::optional{database_->held.front()};
  }
  [[nodiscard]] bool isAnnouncement() {
    const auto job = waiting();
    return job && job->job.statements.back().id == StatementId::announceTakeover;
  }
  /// The outcome, once.
  [[nodiscard]] std::optional<WriteOutcome> outcome() { return std::exchange(outcome_, std::nullopt); }
  [[nodiscard]] test::ManualScheduler& scheduler() { return *scheduler_; }

 private:
  WriteHandler keep() {
    return [this](WriteOutcome outcome) {
      EXPECT_FALSE(outcome_) << "answered twice";
      outcome_ = std::move(outcome);
    };
  }

  std::optional<WriteOutcome> outcome_{};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<HeldDatabase> database_ = std::make_shared<HeldDatabase>();
  const CorePtr core_ =
      std::make_shared<StoreCore>(database_, "postgresql", "public", "tenure_lease", Logger{}, scheduler_);
};

void expectDoubtAboutTheToken(const std::optional<WriteOutcome>& outcome) {
  ASSERT_TRUE(outcome);
  const auto* unknown = std::get_if<Unknown>(&*outcome);
  ASSERT_NE(unknown, nullptr) << describe(*outcome);
  EXPECT_EQ(unknown->error.errorClass, ErrorClass::corrupt);
  EXPECT_NE(unknown->error.message.find("fencing token"), std::string::npos) << unknown->error.message;
}

TEST_F(SingleWriteTest, withoutAValidTokenInTheAnswerNothingCountsAsDone) {
  WriteRequest withData = renew(billing, "a", {RecordVersion{"old"}});
  withData.record.data = "payload";
  WriteRequest removing = release(billing, "a", {RecordVersion{"old"}});
  removing.removes = true;
  for (const WriteRequest& request : {acquire(billing, "a", {RecordVersion{"old"}}), acquire(billing, "a"), withData,
                                      release(billing, "a", {RecordVersion{"old"}}), removing}) {
    for (const Value& token : {Value{}, Value{"0"}, Value{"-1"}, Value{"x"}, Value{"9007199254740992"}}) {
      write(request);
      answer(committed(token));
      expectDoubtAboutTheToken(outcome());
      static_cast<void>(waiting());
    }
    write(request);
    answer(committed("7"));
    const auto done = outcome();
    ASSERT_TRUE(done);
    ASSERT_TRUE(std::holds_alternative<Applied>(*done)) << describe(*done);
    EXPECT_EQ(std::get<Applied>(*done).token, FencingToken{7});
    static_cast<void>(waiting());
  }
}

TEST_F(SingleWriteTest, aCorrectionThatIsAnsweredWithAnotherTokenDoesNotCountAsDone) {
  for (const Value& token : {Value{}, Value{"0"}, Value{"x"}, Value{"16"}, Value{"18"}}) {
    setTokensTo(FencingToken{17});
    answer(committed(token));
    expectDoubtAboutTheToken(outcome());
    static_cast<void>(waiting());
  }
  setTokensTo(FencingToken{17});
  answer(committed("17"));
  const auto done = outcome();
  ASSERT_TRUE(done);
  ASSERT_TRUE(std::holds_alternative<Applied>(*done)) << describe(*done);
  EXPECT_EQ(std::get<Applied>(*done).token, FencingToken{17});
}

TEST_F(SingleWriteTest, anAcquisitionThatIsKeptOutIsAnsweredWhenItsAnnouncementHasEnded) {
  JobReply lost{.commit = JobReply::Commit::unanswered, .trouble = "cut"};
  JobReply warned = committed("8");
  warned.warnings.push_back({"WARNING", "01000", "not replicated"});
  for (const JobReply& ended : {committed("8"), committed({}), refused("55P03"), refused("42501"), lost, warned}) {
    write(acquire(billing, "b", {RecordVersion{"old", "1/1"}}));
    scheduler().advance(1s);
    answer(refused("55P03"));
    EXPECT_FALSE(outcome()) << "the announcement is under way";
    ASSERT_TRUE(isAnnouncement());
    EXPECT_EQ(waiting()->timeout, 2s) << "of the acquisition's time";
    const Statement announcement = waiting()->job.statements.back();
    EXPECT_EQ(announcement.values, (std::vector<Value>{"billing", "", "{}", "{\"1/1 old\"}"}));
    answer(ended);
    const auto done = outcome();
    ASSERT_TRUE(done);
    ASSERT_TRUE(std::holds_alternative<Rejected>(*done)) << describe(*done);
    EXPECT_EQ(std::get<Rejected>(*done).error.errorClass, ErrorClass::transient);
    EXPECT_NE(std::get<Rejected>(*done).error.message.find("55P03"), std::string::npos);
    EXPECT_FALSE(waiting());
  }
}

TEST_F(SingleWriteTest, nothingElseIsAnnounced) {
  const std::vector<RecordVersion> old{RecordVersion{"old"}};
  WriteRequest withData = renew(billing, "a", old);
  withData.record.data = "payload";
  const auto expectNone = [&](const WriteRequest& request, JobReply reply) {
    write(request);
    answer(std::move(reply));
    EXPECT_TRUE(outcome());
    EXPECT_FALSE(waiting());
  };
  expectNone(acquire(billing, "b"), refused("55P03"));
  expectNone(withData, refused("55P03"));
  expectNone(release(billing, "a", old), refused("55P03"));
  expectNone(acquire(billing, "b", old), refused("57014"));
  expectNone(acquire(billing, "b", old), {.commit = JobReply::Commit::unanswered});
  expectNone(acquire(billing, "b", old), committed("8"));
}

TEST_F(SingleWriteTest, aWriteThatChangedNothingIsJudgedByTheRowThatIsReadThen) {
  const JobReply nothing{.commit = JobReply::Commit::done, .rows = {{}}};
  const auto write = [&] {
    SingleWriteTest::write(renew(billing, "a", {RecordVersion{"old"}}));
    scheduler().advance(1s);
    answer(nothing);
    EXPECT_FALSE(outcome());
    ASSERT_TRUE(waiting());
    EXPECT_EQ(waiting()->job.statements.front().id, StatementId::readLease);
    EXPECT_FALSE(waiting()->job.writes);
    EXPECT_EQ(waiting()->timeout, 2s) << "of the write's time";
  };
  write();
  answer({.commit = JobReply::Commit::done, .rows = {{Row(leaseColumnCount)}}});
  const auto lost = outcome();
  ASSERT_TRUE(lost);
  EXPECT_TRUE(std::holds_alternative<Conflict>(*lost)) << describe(*lost);
  write();
  answer({});
  const auto unseen = outcome();
  ASSERT_TRUE(unseen);
  EXPECT_TRUE(std::holds_alternative<Rejected>(*unseen))
      << "nothing was written, and nobody knows why: " << describe(*unseen);
}

}  // namespace
}  // namespace tenure::postgresql_store
