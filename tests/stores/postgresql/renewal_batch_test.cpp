// Which renewals share a transaction, and that each is judged alone.
#include "lockcore/stores/postgresql/src/renewal_batch.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include <gtest/gtest.h>

#include <tenure/testing/manual_scheduler.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/held_database.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

Row renewedRow(const LeaseKey& key, bool asked = false) { return {key.name, key.sortKey, "7", asked ? "t" : "f"}; }

Row storedRow(const LeaseKey& key, const std::string& version) {
  Row row(leaseColumnCount);
  row[nameColumn] = key.name;
  row[sortColumn] = key.sortKey;
  row[versionColumn] = version;
  row[holderColumn] = "a";
  row[tokenColumn] = row[counterColumn] = "7";
  row[leaseColumn] = row[counterLeaseColumn] = "10000";
  row[releasedColumn] = "f";
  row[attributesColumn] = "{}";
  row[layoutColumn] = "1";
  return row;
}

class RenewalBatchTest : public testing::Test {
 protected:
  void renewLater(const std::string& name, std::chrono::nanoseconds timeout = 3s) {
    batcher_->add(renew({name}, "a", {RecordVersion{"old"}}), core_->deadline(timeout),
                  [this, name](WriteOutcome outcome) { outcomes_[name].push_back(std::move(outcome)); });
  }
  /// How many leases the job renews.
  [[nodiscard]] std::size_t leasesOf(std::size_t job) const {
    const Statement& renewal = database_->held.at(job).job.statements.front();
    if (renewal.id == StatementId::renewLease) return 1;
    const std::string names = *renewal.values.front();
    return static_cast<std::size_t>(std::count(names.begin(), names.end(), '"')) / 2;
  }
  void answer(std::size_t job, JobReply reply) { database_->held.at(job).handler(std::move(reply)); }
  void answerAll(std::size_t job, const std::vector<std::string>& names) {
    JobReply reply{.commit = JobReply::Commit::done};
    reply.rows.emplace_back();
    for (const std::string& name : names) {
      reply.rows.front().push_back(leasesOf(job) == 1 ? Row{"7", "f"} : renewedRow({name}));
    }
    answer(job, std::move(reply));
  }
  [[nodiscard]] bool isAnswered(const std::string& name) const { return outcomes_.contains(name); }
  [[nodiscard]] const WriteOutcome& outcomeOf(const std::string& name) {
    EXPECT_EQ(outcomes_[name].size(), 1U) << name;
    return outcomes_[name].at(0);
  }
  [[nodiscard]] std::size_t jobs() const { return database_->held.size(); }
  [[nodiscard]] test::ManualScheduler& scheduler() { return *scheduler_; }
  void closeDatabase() {
    auto held = std::move(database_->held);
    database_.reset();
    for (auto& job : held) job.handler({});
  }
  [[nodiscard]] std::chrono::nanoseconds timeoutOf(std::size_t job) const { return database_->held.at(job).timeout; }

 private:
  /// Before what answers into it.
  std::map<std::string, std::vector<WriteOutcome>> outcomes_{};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  std::shared_ptr<HeldDatabase> database_ = std::make_shared<HeldDatabase>();
  const CorePtr core_ =
      std::make_shared<StoreCore>(database_, "postgresql", "public", "tenure_lease", Logger{}, scheduler_);
  const std::shared_ptr<RenewalBatcher> batcher_ = std::make_shared<RenewalBatcher>(core_);
};

/// Many leases may be released together.
TEST(PostgresqlJobs, theConnectionThatIsKeptForRenewalsIsNotUsedByReleases) {
  WriteRequest request = contract::renew(LeaseKey{"lease"}, "a", {RecordVersion{"v1"}});
  request.record.data = "changed";
  EXPECT_TRUE(Jobs::write(request).urgent);
  EXPECT_FALSE(Jobs::write(contract::release(LeaseKey{"lease"}, "a", {RecordVersion{"v1"}})).urgent);
}

TEST_F(RenewalBatchTest, withoutAValidTokenInTheAnswerNothingCountsAsDone) {
  renewLater("first");
  const std::vector<Value> tokens{std::nullopt, "0", "-1", "x", "9007199254740992"};
  const auto nameOf = [](std::size_t i) { return "lease" + std::to_string(i); };
  for (std::size_t i = 0; i < tokens.size(); ++i) renewLater(nameOf(i));
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  JobReply reply{.commit = JobReply::Commit::done};
  reply.rows.emplace_back();
  for (std::size_t i = 0; i < tokens.size(); ++i) reply.rows.front().push_back({nameOf(i), "", tokens[i], "f"});
  answer(1, std::move(reply));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto* unknown = std::get_if<Unknown>(&outcomeOf(nameOf(i)));
    ASSERT_NE(unknown, nullptr) << tokens[i].value_or("NULL");
    EXPECT_EQ(unknown->error.errorClass, ErrorClass::corrupt);
    EXPECT_NE(unknown->error.message.find("fencing token"), std::string::npos) << unknown->error.message;
  }
}

TEST_F(RenewalBatchTest, aLoneRenewalGoesAtOnceAndThoseThatComeMeanwhileGoTogether) {
  renewLater("first");
  ASSERT_EQ(jobs(), 1U);
  for (const char* name : {"b", "c", "d"}) renewLater(name);
  EXPECT_EQ(jobs(), 1U) << "they wait for the commit that is under way";
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  ASSERT_EQ(jobs(), 2U);
  EXPECT_EQ(leasesOf(1), 3U);
  answerAll(1, {"b", "c", "d"});
  for (const char* name : {"first", "b", "c", "d"}) EXPECT_TRUE(std::holds_alternative<Applied>(outcomeOf(name)));
  scheduler().advance(1s);
  EXPECT_EQ(jobs(), 2U);
  renewLater("later");
  EXPECT_EQ(jobs(), 3U) << "nothing is under way any more";
}

TEST_F(RenewalBatchTest, aFastCommitIsNotFollowedByAnotherAtOnce) {
  renewLater("first");
  renewLater("second");
  answerAll(0, {"first"});
  EXPECT_EQ(jobs(), 1U);
  renewLater("third");
  scheduler().advance(RenewalBatcher::pace);
  ASSERT_EQ(jobs(), 2U);
  EXPECT_EQ(leasesOf(1), 2U);
}

TEST_F(RenewalBatchTest, anUnansweredBatchDelaysTheOthersByAMomentOnly) {
  renewLater("stuck");
  renewLater("other");
  scheduler().advance(RenewalBatcher::longestWait - 1ms);
  EXPECT_EQ(jobs(), 1U);
  scheduler().advance(1ms);
  ASSERT_EQ(jobs(), 2U);
  answerAll(1, {"other"});
  EXPECT_TRUE(std::holds_alternative<Applied>(outcomeOf("other")));
}

TEST_F(RenewalBatchTest, aRenewalWithLittleTimeDoesNotShareItWithOthers) {
  renewLater("first");
  renewLater("short", 100ms);
  renewLater("long", 3s);
  renewLater("nearly", 2s);
  scheduler().advance(RenewalBatcher::longestWait);
  ASSERT_EQ(jobs(), 3U);
  EXPECT_EQ(leasesOf(1), 1U);
  EXPECT_EQ(leasesOf(2), 2U);
  EXPECT_LE(timeoutOf(1), 80ms);
  EXPECT_EQ(timeoutOf(2), 2s - RenewalBatcher::longestWait);
}

TEST_F(RenewalBatchTest, twoRenewalsOfOneLeaseAreTwoTransactions) {
  renewLater("first");
  renewLater("same");
  renewLater("same");
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  ASSERT_EQ(jobs(), 2U);
  EXPECT_EQ(leasesOf(1), 1U);
}

TEST_F(RenewalBatchTest, eachLeaseIsJudgedByItsOwnRow) {
  renewLater("first");
  for (const char* name : {"good", "lost", "locked", "bad", "gone"}) renewLater(name);
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  JobReply reply{.commit = JobReply::Commit::done};
  reply.rows = {{renewedRow({"good"}, true)}};
  Row bad = storedRow({"bad"}, "old");
  bad[leaseColumn] = "0";
  answer(1, std::move(reply));
  ASSERT_EQ(jobs(), 3U);
  EXPECT_EQ(leasesOf(2), 4U) << "the rows of those that were not renewed are looked at";
  EXPECT_FALSE(isAnswered("lost"));
  JobReply stored{.commit = JobReply::Commit::done};
  stored.rows = {{storedRow({"lost"}, "others"), storedRow({"locked"}, "old"), bad}};
  answer(2, std::move(stored));
  ASSERT_TRUE(std::holds_alternative<Applied>(outcomeOf("good")));
  EXPECT_TRUE(std::get<Applied>(outcomeOf("good")).stepDownRequested);
  ASSERT_TRUE(std::holds_alternative<Conflict>(outcomeOf("lost")));
  EXPECT_EQ((*std::get<Conflict>(outcomeOf("lost")).current)->version, RecordVersion{"others"});
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcomeOf("locked")));
  EXPECT_EQ(std::get<Rejected>(outcomeOf("locked")).error.errorClass, ErrorClass::transient);
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcomeOf("bad")));
  EXPECT_EQ(std::get<Rejected>(outcomeOf("bad")).error.errorClass, ErrorClass::corrupt);
  EXPECT_TRUE(std::holds_alternative<Conflict>(outcomeOf("gone")));
}

TEST_F(RenewalBatchTest, anUnknownCommitLeavesInDoubtWhatItTouchedOnly) {
  renewLater("first");
  for (const char* name : {"touched", "lost"}) renewLater(name);
  scheduler().advance(10ms);
  answer(0, {.commit = JobReply::Commit::unanswered});
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf("first"))) << "its statement was not answered either";
  JobReply reply{.commit = JobReply::Commit::unanswered};
  reply.rows = {{renewedRow({"touched"})}};
  answer(1, std::move(reply));
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf("touched")));
  answer(2, {});
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("lost"))) << "certainly not renewed, and nobody knows why";
}

TEST_F(RenewalBatchTest, aWarningAtTheCommitIsADoubtForAll) {
  renewLater("first");
  JobReply reply{.commit = JobReply::Commit::done, .warnings = {{"WARNING", "01000", "canceling wait"}}};
  reply.rows = {{Row{"7", "f"}}};
  answer(0, std::move(reply));
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf("first")));
}

TEST_F(RenewalBatchTest, thoseThatWaitAreAnsweredWhenTheStoreGoes) {
  renewLater("first");
  renewLater("second");
  scheduler().advance(10ms);
  closeDatabase();
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("first")));
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("second")));
}

}  // namespace
}  // namespace tenure::postgresql_store
