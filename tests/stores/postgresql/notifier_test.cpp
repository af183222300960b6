// One notification is under way at a time, and it keeps nothing alive.
#include "lockcore/stores/postgresql/src/notifier.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "lockcore/port/fnv1a.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// Keeps the jobs until the test answers them.
class HeldNotifications final : public Database {
 public:
  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    EXPECT_EQ(timeout, Notifier::patience);
    EXPECT_FALSE(job.urgent);
    EXPECT_EQ(job.statements.at(0).values.at(0), "channel");
    payloads.push_back(job.statements.at(0).values.at(1));
    handlers.push_back(std::move(handler));
  }
  std::string describe() const override { return "postgresql"; }

  std::vector<Value> payloads{};
  std::vector<JobHandler> handlers{};
};

class NotifierTest : public testing::Test {
 protected:
  void tell(const std::string& name) { notifier->tell({name}); }
  [[nodiscard]] static std::string listOf(const std::set<std::string>& names) {
    std::set<Value> payloads;
    for (const std::string& name : names) payloads.insert(fnv1aOf({name}));
    return arrayLiteral({payloads.begin(), payloads.end()});
  }

  std::shared_ptr<HeldNotifications> database = std::make_shared<HeldNotifications>();
  std::shared_ptr<Notifier> notifier = std::make_shared<Notifier>(database, "channel");
};

TEST_F(NotifierTest, whatComesMeanwhileGoesTogetherAndOnce) {
  tell("first");
  for (const char* const name : {"second", "third", "second"}) tell(name);
  ASSERT_EQ(database->payloads.size(), 1U);
  EXPECT_EQ(database->payloads[0], listOf({"first"}));
  database->handlers[0]({});  // it failed, and is not repeated
  ASSERT_EQ(database->payloads.size(), 2U);
  EXPECT_EQ(database->payloads[1], listOf({"second", "third"}));
  tell("fourth");
  ASSERT_EQ(database->payloads.size(), 2U) << "the second job is under way";
  database->handlers[1]({.commit = JobReply::Commit::done});
  ASSERT_EQ(database->payloads.size(), 3U);
  EXPECT_EQ(database->payloads[2], listOf({"fourth"}));
  database->handlers[2]({.commit = JobReply::Commit::done});
  EXPECT_EQ(database->payloads.size(), 3U);
  tell("fifth");
  EXPECT_EQ(database->payloads.size(), 4U);
}

TEST_F(NotifierTest, theRestIsSentAtTheEnd) {
  tell("first");
  tell("second");
  notifier->sendRest();
  ASSERT_EQ(database->payloads.size(), 2U);
  EXPECT_EQ(database->payloads[1], listOf({"second"}));
  notifier->sendRest();
  EXPECT_EQ(database->payloads.size(), 2U);
}

TEST_F(NotifierTest, aJobThatIsUnderWayKeepsNeitherNotifierNorDatabase) {
  tell("first");
  tell("second");
  const auto answer = std::move(database->handlers[0]);
  const std::weak_ptr<Database> gone = database;
  database.reset();
  EXPECT_TRUE(gone.expired());
  answer({});
  tell("third");
  const std::weak_ptr<Notifier> ended = notifier;
  notifier.reset();
  EXPECT_TRUE(ended.expired());
  answer({});
}

}  // namespace
}  // namespace tenure::postgresql_store
