// Which renewals share a transaction, and that each is judged alone.
#include "lockcore/stores/postgresql/src/renewal_batch.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/held_database.hpp"
#include "stores/postgresql/row_support.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

Row renewedRow(const LeaseKey& key) { return {key.name, key.sortKey, "7", "7"}; }

Row heldRow(const LeaseKey& key) {
  Row row = goodRow();
  row[nameColumn] = key.name;
  row[sortColumn] = key.sortKey;
  row[versionColumn] = "old";
  row[holderColumn] = "a";
  return row;
}

std::shared_ptr<const RowState> held(const LeaseKey& key) { return stateOf(heldRow(key)); }

stored::Change renewalOf(const LeaseKey& key, const RowState& seen) {
  return std::get<stored::Change>(stored::decideWrite("postgresql", renew(key, "a", {RecordVersion{"old"}}), seen));
}

class RenewalBatchTest : public testing::Test {
 protected:
  void renewLater(const std::string& name, std::chrono::nanoseconds timeout = 3s) {
    const LeaseKey key{name};
    const auto seen = held(key);
    batcher_->add(swapOf(*core_, {key, "renewing", core_->deadline(timeout), true}, seen, renewalOf(key, *seen),
                         [this, name](stored::SwapOutcome outcome) { outcomes_[name].push_back(std::move(outcome)); }));
  }
  /// How many leases the job renews.
  [[nodiscard]] std::size_t leasesOf(std::size_t job) const {
    const Statement& renewal = database_->held.at(job).job.statements.front();
    if (renewal.id == StatementId::updateTerm) return 1;
    const std::string names = *renewal.values.front();
    return static_cast<std::size_t>(std::count(names.begin(), names.end(), '"')) / 2;
  }
  void answer(std::size_t job, JobReply reply) { database_->held.at(job).handler(std::move(reply)); }
  void answerAll(std::size_t job, const std::vector<std::string>& names) {
    JobReply reply{.commit = JobReply::Commit::done};
    reply.rows.emplace_back();
    for (const std::string& name : names) {
      reply.rows.front().push_back(leasesOf(job) == 1 ? Row{"7", "7"} : renewedRow({name}));
    }
    answer(job, std::move(reply));
  }
  [[nodiscard]] bool isAnswered(const std::string& name) const { return outcomes_.contains(name); }
  [[nodiscard]] const stored::SwapOutcome& outcomeOf(const std::string& name) {
    EXPECT_EQ(outcomes_[name].size(), 1U) << name;
    return outcomes_[name].at(0);
  }
  [[nodiscard]] std::size_t jobs() const { return database_->held.size(); }
  [[nodiscard]] test::ManualScheduler& scheduler() { return *scheduler_; }
  void closeStore() {
    batcher_->close();
    closeDatabase();
  }
  void closeDatabase() {
    auto held = std::move(database_->held);
    database_.reset();
    for (auto& job : held) job.handler({});
  }
  [[nodiscard]] std::chrono::nanoseconds timeoutOf(std::size_t job) const { return database_->held.at(job).timeout; }

 private:
  /// Before what answers into it.
  std::map<std::string, std::vector<stored::SwapOutcome>> outcomes_{};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  std::shared_ptr<HeldDatabase> database_ = std::make_shared<HeldDatabase>();
  const CorePtr core_ =
      std::make_shared<StoreCore>(database_, "postgresql", "public", "tenure_lease", Logger{}, scheduler_);
  const std::shared_ptr<RenewalBatcher> batcher_ = std::make_shared<RenewalBatcher>(core_);
};

RowChange changeBy(const WriteRequest& request, Row row) {
  const auto seen = stateOf(std::move(row));
  const auto change = std::get<stored::Change>(stored::decideWrite("postgresql", request, *seen));
  return rowChangeOf(*seen, change, stateAfter(testPlace, *seen, request.key, change));
}

TEST(PostgresqlJobs, onlyARenewalThatLeavesTheRestAsItIsSharesATransaction) {
  const LeaseKey key{"billing", "eu"};
  const std::vector<RecordVersion> old{RecordVersion{"v"}};
  const WriteRequest plain = renew(key, "a#1", old);
  EXPECT_TRUE(Jobs::mayJoin(changeBy(plain, goodRow())));
  WriteRequest withData = plain;
  withData.record.data = "changed";
  EXPECT_FALSE(Jobs::mayJoin(changeBy(withData, goodRow())));
  withData.record.data = std::string("\0\xFF", 2);
  EXPECT_TRUE(Jobs::mayJoin(changeBy(withData, goodRow()))) << "the same data";
  WriteRequest withAttributes = plain;
  withAttributes.record.attributes = {{"zone", "us"}};
  EXPECT_FALSE(Jobs::mayJoin(changeBy(withAttributes, goodRow())));
  WriteRequest longer = plain;
  longer.record.leaseDuration = 1min;
  longer.lengthens = true;
  EXPECT_TRUE(Jobs::mayJoin(changeBy(longer, goodRow()))) << "the counter states the lease";
  const auto inHistory = changeBy(renew(key, "a#1", {RecordVersion{"v", "1/1"}}), goodRow());
  EXPECT_FALSE(Jobs::mayJoin(inHistory)) << "the batch asks for no history";
  EXPECT_EQ(Jobs::write(inHistory, true).statements.front().values.back(), "1/1");
  EXPECT_FALSE(Jobs::mayJoin(changeBy(release(key, "a#1", old), goodRow())));
  EXPECT_FALSE(Jobs::mayJoin(changeBy(acquire(key, "b", old), goodRow())));
  EXPECT_FALSE(Jobs::mayJoin(changeBy(acquire(key, "b"), removedRow())));
  Row released = goodRow();
  released[releasedColumn] = "t";
  EXPECT_FALSE(Jobs::mayJoin(changeBy(plain, released)));
}

TEST_F(RenewalBatchTest, withoutAValidTokenInTheAnswerNothingCountsAsDone) {
  renewLater("first");
  const std::vector<Value> tokens{std::nullopt, "0", "-1", "x", "6", "8", "9007199254740992"};
  const auto nameOf = [](std::size_t i) { return "lease" + std::to_string(i); };
  for (std::size_t i = 0; i < tokens.size(); ++i) renewLater(nameOf(i));
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  JobReply reply{.commit = JobReply::Commit::done};
  reply.rows.emplace_back();
  for (std::size_t i = 0; i < tokens.size(); ++i) reply.rows.front().push_back({nameOf(i), "", tokens[i], "7"});
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
  for (const char* name : {"first", "b", "c", "d"})
    EXPECT_TRUE(std::holds_alternative<stored::Swapped>(outcomeOf(name)));
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
  EXPECT_TRUE(std::holds_alternative<stored::Swapped>(outcomeOf("other")));
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
  answerAll(1, {"good"});
  ASSERT_EQ(jobs(), 3U) << "one look for all that were not renewed";
  EXPECT_EQ(leasesOf(2), 4U);
  EXPECT_FALSE(isAnswered("lost"));
  Row lost = heldRow({"lost"});
  lost[versionColumn] = "others";
  Row bad = heldRow({"bad"});
  bad[leaseColumn] = "0";
  JobReply stored{.commit = JobReply::Commit::done};
  stored.rows = {{lost, heldRow({"locked"}), bad}};
  answer(2, std::move(stored));
  EXPECT_TRUE(std::holds_alternative<stored::Swapped>(outcomeOf("good")));
  const auto* differs = std::get_if<stored::Differs>(&outcomeOf("lost"));
  ASSERT_NE(differs, nullptr);
  ASSERT_NE(differs->now, nullptr) << "so that it is not read once more";
  EXPECT_EQ((*differs->now->record)->record.version, RecordVersion{"others"});
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcomeOf("locked")));
  EXPECT_EQ(std::get<Rejected>(outcomeOf("locked")).error.errorClass, ErrorClass::transient);
  differs = std::get_if<stored::Differs>(&outcomeOf("bad"));
  ASSERT_NE(differs, nullptr);
  EXPECT_TRUE(differs->now->record.has_error());
  EXPECT_TRUE(std::holds_alternative<stored::Differs>(outcomeOf("gone")));
}

TEST_F(RenewalBatchTest, whatNobodySeesBehindARefusedRenewalIsRejected) {
  renewLater("first");
  for (const char* name : {"good", "lost"}) renewLater(name);
  scheduler().advance(10ms);
  answerAll(0, {"first"});
  answerAll(1, {"good"});
  answer(2, {});
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("lost"))) << "nothing was written";
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
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("lost"))) << "certainly not renewed";
}

TEST_F(RenewalBatchTest, aWarningAtTheCommitIsADoubtForAll) {
  renewLater("first");
  JobReply reply{.commit = JobReply::Commit::done, .warnings = {{"WARNING", "01000", "canceling wait"}}};
  reply.rows = {{Row{"7", "7"}}};
  answer(0, std::move(reply));
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf("first")));
}

TEST_F(RenewalBatchTest, thoseThatWaitAreAnsweredWhenTheStoreGoes) {
  renewLater("first");
  renewLater("second");
  closeStore();
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("first")));
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf("second")));
}

}  // namespace
}  // namespace tenure::postgresql_store
