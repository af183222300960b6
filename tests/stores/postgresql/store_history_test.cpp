// Histories of a real server: promotions, and servers that do not tell their timeline.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/link/link.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "lockcore/stores/postgresql/src/store.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

TEST_F(PostgresqlStoreTest, aPromotionIsSeenInVersionsAndTokens) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion before = store().record(key).version;
  EXPECT_EQ(before.history(), presentHistory());
  // As if this server had been promoted since.
  hand().exec("UPDATE tenure_lease SET history = '1/1', counter_history = '1/1'");
  const LeaseRecord inherited = store().record(key);
  EXPECT_TRUE(inherited.inherited);
  const WriteOutcome blind = store().write(acquire(key, "b", {RecordVersion{before.text()}}));
  ASSERT_TRUE(std::holds_alternative<Conflict>(blind)) << "a bare version knows nothing of the promotion";
  EXPECT_TRUE((*std::get<Conflict>(blind).current)->inherited);
  const WriteOutcome early = store().write(acquire(key, "b", {RecordVersion{before.text(), "1/1"}}));
  ASSERT_TRUE(std::holds_alternative<Conflict>(early)) << "it has counted its wait in another history";
  EXPECT_EQ((*std::get<Conflict>(early).current)->version.history(), presentHistory());
  const Applied taken = store().apply(acquire(key, "b", {inherited.version}));
  EXPECT_EQ(taken.token, FencingToken{std::uint64_t{1} << 40U});
  EXPECT_NE(taken.warning.find("history"), std::string::npos) << taken.warning;
  EXPECT_FALSE(store().record(key).inherited);
  const Applied next = store().apply(acquire(key, "c", {store().record(key).version}));
  EXPECT_EQ(next.token, taken.token.next());
  EXPECT_EQ(next.warning, "");
}

TEST_F(PostgresqlStoreTest, aRenewalAfterAPromotionLeavesTheDoubt) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  hand().exec("UPDATE tenure_lease SET history = '1/1', counter_history = '1/1'");
  store().apply(renew(key, "a", {RecordVersion{store().record(key).version.text()}}));
  EXPECT_TRUE(store().record(key).inherited) << "it may have been sent before an acquisition that was lost";
  const Applied taken = store().apply(acquire(key, "b", {store().record(key).version}));
  EXPECT_EQ(taken.token, FencingToken{std::uint64_t{1} << 40U});
  EXPECT_FALSE(store().record(key).inherited);
}

TEST_F(PostgresqlStoreTest, aRenewalOfAVersionThatWasReadNeedsTheHistoryInWhichItWasRead) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  store().apply(renew(key, "a", {store().record(key).version}));
  const std::string version = store().record(key).version.text();
  const WriteOutcome refused = store().write(renew(key, "a", {RecordVersion{version, "1/1"}}));
  ASSERT_TRUE(std::holds_alternative<Conflict>(refused)) << "another owner's term may be lost since";
  EXPECT_EQ(store().record(key).version.text(), version);
}

TEST_F(PostgresqlStoreTest, whatWasReleasedOrRemovedBeforeAPromotionIsWaitedFor) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  hand().exec("UPDATE tenure_lease SET history = '1/1', counter_history = '1/1'");
  store().apply(release(key, "a", {RecordVersion{store().record(key).version.text()}}));
  EXPECT_TRUE(store().record(key).inherited) << "a release may come long after the lease";
  ASSERT_TRUE(std::holds_alternative<Applied>(store().remove(key, store().record(key).version)));
  const LeaseRecord vanished = store().record(key);
  EXPECT_TRUE(vanished.vanished);
  EXPECT_EQ(vanished.token, token);
  EXPECT_EQ(vanished.leaseDuration, recordOf("a").leaseDuration);
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(acquire(key, "b"))));
  store().apply(acquire(key, "b", {vanished.version}));
}

/// Refuses the first jobs that ask for the server's history, as Amazon Aurora does, which does not tell where its log
/// is.
class WithoutTimeline final : public Database {
 public:
  WithoutTimeline(std::shared_ptr<Link> link, std::string sqlState, int rejections)
      : link_{std::move(link)}, sqlState_{std::move(sqlState)}, rejections_{rejections} {}
  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    if (!job.history || rejections_-- <= 0) return link_->run(std::move(job), timeout, std::move(handler));
    // Over the link, so that the answer comes on its thread.
    link_->run(Job{.history = false, .statements = {{StatementId::readLayout, {}}}}, timeout,
               [state = sqlState_, handler = std::move(handler)](JobReply) {
                 handler({.commit = JobReply::Commit::rolledBack, .error = ServerError{"ERROR", state, "not here"}});
               });
  }
  std::string describe() const override { return link_->describe(); }

 private:
  const std::shared_ptr<Link> link_;
  const std::string sqlState_;
  std::atomic<int> rejections_;
};

class PostgresqlWithoutTimelineTest : public PostgresqlStoreTest {
 protected:
  StoreCalls serverThatRefuses(const std::string& sqlState, int rejections) {
    const auto statements = std::make_shared<const Statements>(schema(), "tenure_lease");
    auto link = makeLink({.store = options(),
                          .text = [statements](StatementId id, bool history) -> const std::string& {
                            return statements->sql(id, history);
                          },
                          .channel = channelOf(schema(), "tenure_lease")});
    const Logger logger{LogLevel::warn, [this](LogLevel, std::string_view) { ++warnings; }};
    return calls(
        makeStore(options(), {.database = std::make_shared<WithoutTimeline>(std::move(link), sqlState, rejections),
                              .logger = logger,
                              .scheduler = sharedScheduler()}));
  }

  static constexpr int always = 1'000'000;
  std::atomic<int> warnings{0};
};

TEST_F(PostgresqlWithoutTimelineTest, isUsedWithoutAndThatIsSaidOnce) {
  for (const char* const state : {"0A000", "55000"}) {
    warnings = 0;
    StoreCalls aurora = serverThatRefuses(state, always);
    const LeaseKey key{std::string{"lease-"} + state};
    const FencingToken first = aurora.apply(acquire(key, "a")).token;
    EXPECT_EQ(aurora.record(key).version.history(), "");
    EXPECT_FALSE(aurora.record(key).inherited);
    aurora.apply(renew(key, "a", {aurora.record(key).version}));
    const Applied next = aurora.apply(acquire(key, "b", {aurora.record(key).version}));
    EXPECT_EQ(next.token, first.next());
    EXPECT_EQ(next.warning, "");
    EXPECT_EQ(warnings, 1) << state;
  }
}

TEST_F(PostgresqlWithoutTimelineTest, isNotConcludedFromAStandbyThatIsPromotedMeanwhile) {
  const LeaseKey key{"lease"};
  StoreCalls promoted = serverThatRefuses("55000", 2);
  promoted.apply(acquire(key, "a"));  // the look before it, and the acquisition
  EXPECT_NE(promoted.record(key).version.history(), "");
  EXPECT_EQ(warnings, 0);
}

TEST_F(PostgresqlWithoutTimelineTest, isNotConcludedFromOneErrorThatSomethingElseMayHaveMade) {
  const LeaseKey key{"lease"};
  StoreCalls oneTrigger = serverThatRefuses("0A000", 1);
  oneTrigger.apply(acquire(key, "a"));
  EXPECT_NE(oneTrigger.record(key).version.history(), "");
  EXPECT_EQ(warnings, 0);
}

}  // namespace
}  // namespace tenure::postgresql_store
