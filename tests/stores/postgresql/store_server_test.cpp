// What only a real server shows: locks of others, histories, roles, and the SQL's agreement with the rules in C++.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "adapters/postgresql_database.hpp"
#include "contract/store_calls.hpp"
#include "lockcore/child_process.hpp"
#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/link/link.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "lockcore/stores/postgresql/src/store.hpp"
#include "lockcore/stores/postgresql/src/token_rule.hpp"
#include "support/temp_dir.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

class PostgresqlStoreTest : public testing::Test {
 protected:
  PostgresqlStoreTest() {
    hand_.exec("SET search_path = " + schema_.name());
    store_.ensureSchema();
  }
  ~PostgresqlStoreTest() override {
    store_.drop();
    for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
  }

  [[nodiscard]] PostgresqlStoreOptions options() const {
    return {.connection = test::postgresqlUrl(), .schema = schema_.name()};
  }
  [[nodiscard]] StoreCalls calls(std::shared_ptr<LeaseStore> store) const { return {std::move(store), ledger_}; }
  [[nodiscard]] StoreCalls& store() { return store_; }
  [[nodiscard]] const test::PostgresqlConnection& hand() const { return hand_; }
  [[nodiscard]] const std::string& schema() const { return schema_.name(); }
  [[nodiscard]] std::string presentHistory() {
    return hand_.text("SELECT (SELECT system_identifier FROM pg_control_system()) || '/1'");
  }

  /// Another session, in a transaction.
  [[nodiscard]] std::unique_ptr<test::PostgresqlConnection> transaction() const {
    auto connection = std::make_unique<test::PostgresqlConnection>(schema_.name());
    connection->exec("BEGIN");
    return connection;
  }

 private:
  std::shared_ptr<CallLedger> ledger_ = std::make_shared<CallLedger>();
  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection hand_;
  StoreCalls store_{makePostgresqlStore(options()), ledger_};
};

bool isTransient(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::transient;
}

TEST_F(PostgresqlStoreTest, aLockedRowIsRefusedAtOnceAndDelaysNoOtherLease) {
  const LeaseKey locked{"locked"};
  std::vector<LeaseKey> others;
  for (int i = 0; i < 40; ++i) others.push_back({"lease", std::to_string(i)});
  store().apply(acquire(locked, "a"));
  for (const LeaseKey& key : others) store().apply(acquire(key, "a"));
  const auto locker = transaction();
  locker->exec("SELECT 1 FROM tenure_lease WHERE name = 'locked' FOR UPDATE");
  const Instant start = readClock();
  for (int round = 0; round < 5; ++round) {
    std::vector<WriteRequest> requests;
    for (const LeaseKey& key : others) requests.push_back(renew(key, "a", {store().record(key).version}));
    // Not the first, which goes alone: it has to share a transaction with the others.
    requests.insert(requests.begin() + 1, renew(locked, "a", {store().record(locked).version}));
    std::vector<Pending<WriteOutcome>> pending;
    for (const WriteRequest& request : requests) pending.push_back(store().startWrite(request));
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const WriteOutcome outcome = pending[i]->get();
      EXPECT_EQ(isTransient(outcome), i == 1) << describe(outcome);
      EXPECT_EQ(std::holds_alternative<Applied>(outcome), i != 1) << describe(outcome);
    }
  }
  EXPECT_TRUE(isTransient(store().write(acquire(locked, "b", {store().record(locked).version}))));
  EXPECT_TRUE(isTransient(store().write(release(locked, "a", {store().record(locked).version}))));
  EXPECT_LT(elapsedForChallenger(start, readClock()), patience / 2) << "something waited for the lock";
  locker->exec("ROLLBACK");
  store().apply(renew(locked, "a", {store().record(locked).version}));
}

TEST_F(PostgresqlStoreTest, aWriterThatHoldsTheTermLetsRenewalsPassAndStopsTakeovers) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const auto writer = transaction();
  writer->exec("SELECT 1 FROM tenure_lease WHERE name = 'lease' AND sort = '' AND token = " + toString(token) +
               " AND NOT released FOR KEY SHARE");
  const auto version = [&] { return store().record(key).version; };
  store().apply(renew(key, "a", {version()}));
  WriteRequest withData = renew(key, "a", {version()});
  withData.record.data = "payload";
  store().apply(std::move(withData));
  EXPECT_TRUE(std::holds_alternative<Applied>(store().requestStepDown(key, token)));
  EXPECT_TRUE(isTransient(store().write(acquire(key, "b", {version()})))) << "the writer's term must not end under it";
  EXPECT_TRUE(isTransient(store().remove(key, version())));
  EXPECT_TRUE(isTransient(store().setTokens(key, store().tokens(key), 100)));
  writer->exec("COMMIT");
  store().apply(acquire(key, "b", {version()}));
}

TEST_F(PostgresqlStoreTest, renewalsAtOnceShareTransactions) {
  constexpr int leases = 200;
  std::vector<RecordVersion> versions;
  for (int i = 0; i < leases; ++i) {
    WriteRequest request = acquire({"lease", std::to_string(i)}, "a");
    versions.push_back(request.record.version);
    store().apply(std::move(request));
  }
  std::vector<Pending<WriteOutcome>> pending;
  for (int i = 0; i < leases; ++i) {
    const bool lost = i % 50 == 7;
    pending.push_back(store().startWrite(
        renew({"lease", std::to_string(i)}, "a", {lost ? newVersion() : versions[static_cast<std::size_t>(i)]})));
  }
  for (int i = 0; i < leases; ++i) {
    const WriteOutcome outcome = pending[static_cast<std::size_t>(i)]->get();
    EXPECT_EQ(std::holds_alternative<Conflict>(outcome), i % 50 == 7) << describe(outcome);
    EXPECT_EQ(std::holds_alternative<Applied>(outcome), i % 50 != 7) << describe(outcome);
  }
  const std::string transactions =
      hand().text("SELECT count(DISTINCT xmin::text) FROM tenure_lease WHERE history <> ''");
  EXPECT_LT(std::stoi(transactions), 40) << "each renewal had a transaction of its own";
}

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

TEST_F(PostgresqlStoreTest, theServerGivesTheTokensOfTheRule) {
  const std::string now = presentHistory();
  const std::string system = now.substr(0, now.find('/'));
  const std::array<std::int64_t, 7> numbers{0,
                                            1,
                                            7,
                                            (std::int64_t{1} << 40) - 1,
                                            std::int64_t{1} << 40,
                                            (std::int64_t{5} << 40) + 3,
                                            (std::int64_t{1} << 53) - 2};
  int cases = 0;
  for (const std::int64_t counter : numbers) {
    for (const std::int64_t copy : numbers) {
      if (copy == 0) continue;
      for (const std::string& before : {now, std::string{"1/1"}, std::string{"nonsense"}, now + "7", system + "/"}) {
        for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{9}, maxReportedStep}) {
          const LeaseKey key{"lease", std::to_string(++cases)};
          store().apply(acquire(key, "a"));
          hand().exec("UPDATE tenure_lease SET counter = " + std::to_string(counter) + ", token = " +
                      std::to_string(copy) + ", counter_history = '" + before + "' WHERE sort = '" + key.sortKey + "'");
          const KnownTokens known{counter, copy, before};
          WriteRequest request = acquire(key, "b", {store().record(key).version});
          const std::uint64_t least = planToken(known, FencingToken{}, now).least.value();
          request.tokenFloor = FencingToken{std::min(least - 1 + step, maxFencingToken.value())};
          const FencingToken planned = planToken(known, request.tokenFloor, now).token;
          const WriteOutcome outcome = store().write(request);
          if (planned > maxFencingToken) {
            EXPECT_TRUE(std::holds_alternative<Rejected>(outcome)) << describe(outcome);
          } else {
            ASSERT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
            EXPECT_EQ(std::get<Applied>(outcome).token, planned)
                << counter << ' ' << copy << ' ' << before << ' ' << step;
            EXPECT_EQ(store().tokens(key).counter, toString(planned));
          }
        }
      }
    }
  }
}

TEST_F(PostgresqlStoreTest, noWriteChangesARowThatIsNotUnderstood) {
  int number = 0;
  for (const char* fault : {"lease_ms = 0", "lease_ms = NULL", "token = 0", "token = NULL", "holder = ''",
                            "holder = NULL", "version = ''", "released = NULL", "layout = 2", "attributes = '[]'",
                            "attributes = '{\"a\": 1}'", "attributes = '{\"a\": [\"b\"]}'"}) {
    SCOPED_TRACE(fault);
    const LeaseKey key{"lease", std::to_string(++number)};
    const FencingToken token = store().apply(acquire(key, "a")).token;
    const RecordVersion version = store().record(key).version;
    hand().exec(std::string{"UPDATE tenure_lease SET "} + fault + " WHERE sort = '" + key.sortKey + "'");
    const auto row = [&] {
      return hand().text("SELECT t::text FROM tenure_lease AS t WHERE sort = '" + key.sortKey + "'");
    };
    const std::string before = row();
    const ReadOutcome read = store().startRead(key)->get();
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt);
    WriteRequest withData = renew(key, "a", {version});
    withData.record.data = "payload";
    WriteRequest removing = release(key, "a", {version});
    removing.removes = true;
    for (const WriteOutcome& outcome : {store().write(acquire(key, "b")), store().write(acquire(key, "b", {version})),
                                        store().write(renew(key, "a", {version})), store().write(withData),
                                        store().write(release(key, "a", {version})), store().write(removing),
                                        store().requestStepDown(key, token), store().remove(key, version)}) {
      const auto* rejected = std::get_if<Rejected>(&outcome);
      ASSERT_NE(rejected, nullptr) << describe(outcome);
      EXPECT_EQ(rejected->error.errorClass, ErrorClass::corrupt) << describe(outcome);
    }
    EXPECT_EQ(row(), before);
  }
}

/// Refuses the first jobs that ask for the server's history, as Amazon Aurora does, which does not tell where its log
/// is.
class WithoutTimeline final : public Database {
 public:
  WithoutTimeline(std::shared_ptr<Link> link, std::string sqlState, int refusals)
      : link_{std::move(link)}, sqlState_{std::move(sqlState)}, refusals_{refusals} {}
  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    if (!job.history || refusals_-- <= 0) return link_->run(std::move(job), timeout, std::move(handler));
    // Over the link, so that the answer comes on its thread.
    link_->run(Job{.history = false, .statements = {{StatementId::readLayout, {}}}}, timeout,
               [state = sqlState_, handler = std::move(handler)](JobReply) {
                 handler({.commit = JobReply::Commit::rolledBack, .error = Complaint{"ERROR", state, "not here"}});
               });
  }
  std::string describe() const override { return link_->describe(); }

 private:
  const std::shared_ptr<Link> link_;
  const std::string sqlState_;
  std::atomic<int> refusals_;
};

class PostgresqlWithoutTimelineTest : public PostgresqlStoreTest {
 protected:
  StoreCalls serverThatRefuses(const std::string& sqlState, int refusals) {
    const auto statements = std::make_shared<const Statements>(schema(), "tenure_lease");
    auto link = makeLink({.store = options(),
                          .text = [statements](StatementId id, bool history) -> const std::string& {
                            return statements->sql(id, history);
                          },
                          .channel = channelOf(schema(), "tenure_lease")});
    const Logger logger{LogLevel::warn, [this](LogLevel, std::string_view) { ++warnings; }};
    return calls(
        makeStore(options(), {.database = std::make_shared<WithoutTimeline>(std::move(link), sqlState, refusals),
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
  promoted.apply(acquire(key, "a"));
  EXPECT_EQ(promoted.record(key).version.history(), "") << "the second refusal";
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

TEST_F(PostgresqlStoreTest, theGrantsThatItPrintsAreEnough) {
  const test::PostgresqlSchema other;
  const std::string role = other.name() + "_role";
  hand().exec("CREATE ROLE " + role + " LOGIN");
  PostgresqlStoreOptions asRole = options();
  asRole.schema = other.name();
  asRole.user = role;
  StoreCalls limited = calls(makePostgresqlStore(asRole));
  const StoreStatus refused = limited.startEnsureSchema()->get();
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().errorClass, ErrorClass::credentials) << refused.error().message;
  EXPECT_NE(refused.error().message.find("GRANT"), std::string::npos) << refused.error().message;
  hand().exec(postgresqlSchemaSql(asRole, role));
  limited.ensureSchema();
  const LeaseKey key{"lease"};
  const FencingToken token = limited.apply(acquire(key, "a")).token;
  limited.apply(renew(key, "a", {limited.record(key).version}));
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.requestStepDown(key, token)));
  limited.apply(release(key, "a", {limited.record(key).version}));
  EXPECT_EQ(limited.list("").size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.setTokens(key, limited.tokens(key), 17)));
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.remove(key, limited.record(key).version)));
  EXPECT_EQ(hand().text("SELECT has_table_privilege('" + role + "', '" + other.name() + ".tenure_lease', 'DELETE')"),
            "f");
  limited.drop();
  hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlStoreTest, aTableThatIsNotAsNeededIsRefusedByName) {
  const std::vector<std::pair<const char*, const char*>> faults{
      {"ALTER TABLE tenure_lease SET UNLOGGED", "UNLOGGED"},
      {"ALTER TABLE tenure_lease DROP COLUMN history", "history text"},
      {"ALTER TABLE tenure_lease ALTER COLUMN lease_ms TYPE int", "lease_ms bigint"},
      {"ALTER TABLE tenure_lease DROP CONSTRAINT tenure_lease_pkey", "PRIMARY KEY"},
      {"ALTER TABLE tenure_lease DROP CONSTRAINT tenure_lease_name_sort_token_key", "UNIQUE (name, sort, token)"},
      {"ALTER TABLE tenure_lease ALTER COLUMN name TYPE text COLLATE \"POSIX\"", "collation"},
      {"ALTER TABLE tenure_lease ALTER COLUMN layout SET DEFAULT 2", "Upgrade"},
      {"ALTER TABLE tenure_lease ADD COLUMN team text NOT NULL", "for these columns, which are NOT NULL: \"team\""},
      {"ALTER TABLE tenure_lease ALTER COLUMN token SET NOT NULL", "\"token\""},
      {"CREATE RULE quiet AS ON UPDATE TO tenure_lease DO INSTEAD NOTHING", "these rules: \"quiet\""},
      {"CREATE TRIGGER \"a\nb\" BEFORE UPDATE ON tenure_lease FOR EACH ROW EXECUTE FUNCTION "
       "pg_catalog.suppress_redundant_updates_trigger()",
       "these triggers: \"a\\nb\""},
      {"CREATE TABLE more () INHERITS (tenure_lease)", "these child tables: \"more\""},
      {"DROP TABLE tenure_lease CASCADE; CREATE VIEW tenure_lease AS SELECT 1 AS name", "ordinary table"}};
  for (const auto& [change, told] : faults) {
    SCOPED_TRACE(change);
    hand().exec("DROP TABLE IF EXISTS tenure_lease CASCADE");
    store().ensureSchema();
    hand().exec(change);
    const StoreStatus status = store().startEnsureSchema()->get();
    ASSERT_TRUE(status.has_error());
    EXPECT_EQ(status.error().errorClass, ErrorClass::misconfigured);
    EXPECT_TRUE(status.error().permanent);
    EXPECT_NE(status.error().message.find(told), std::string::npos) << status.error().message;
  }
}

TEST_F(PostgresqlStoreTest, whatOthersAddedAndDoesNotMatterIsAllowed) {
  hand().exec(
      "ALTER TABLE tenure_lease ADD COLUMN team text NOT NULL DEFAULT '', ADD COLUMN n int GENERATED ALWAYS AS "
      "IDENTITY;"
      "CREATE RULE quiet AS ON UPDATE TO tenure_lease DO INSTEAD NOTHING;"
      "DROP RULE quiet ON tenure_lease;"
      "CREATE TABLE more () INHERITS (tenure_lease); DROP TABLE more;"
      "CREATE TABLE page (lease text, sort text, FOREIGN KEY (lease, sort) REFERENCES tenure_lease);"
      "CREATE TRIGGER off BEFORE UPDATE ON tenure_lease FOR EACH ROW EXECUTE FUNCTION "
      "pg_catalog.suppress_redundant_updates_trigger();"
      "ALTER TABLE tenure_lease DISABLE TRIGGER off");
  store().ensureSchema();
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  store().apply(renew(key, "a", {store().record(key).version}));
}

TEST_F(PostgresqlStoreTest, rowLevelSecurityIsRefusedWhereItApplies) {
  const std::string role = schema() + "_role";
  hand().exec("CREATE ROLE " + role + " LOGIN; " + postgresqlSchemaSql(options(), role) +
              "ALTER TABLE tenure_lease ENABLE ROW LEVEL SECURITY");
  store().ensureSchema();  // the owner is above it
  PostgresqlStoreOptions asRole = options();
  asRole.user = role;
  StoreCalls limited = calls(makePostgresqlStore(asRole));
  const StoreStatus refused = limited.startEnsureSchema()->get();
  EXPECT_TRUE(refused.has_error());
  if (refused.has_error()) {
    EXPECT_EQ(refused.error().errorClass, ErrorClass::misconfigured) << refused.error().message;
    EXPECT_NE(refused.error().message.find("row-level security"), std::string::npos) << refused.error().message;
  }
  const WriteOutcome outcome = limited.write(acquire({"lease"}, "a"));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr);
  EXPECT_NE(rejected->error.message.find("row-level security"), std::string::npos) << rejected->error.message;
  EXPECT_NE(rejected->error.message.find("DISABLE ROW LEVEL SECURITY"), std::string::npos) << rejected->error.message;
  hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlStoreTest, manyProcessesMayCreateTheTableAtOnce) {
  for (int round = 0; round < 5; ++round) {
    hand().exec("DROP TABLE tenure_lease");
    std::vector<StoreCalls> handles;
    std::vector<Pending<StoreStatus>> pending;
    for (int i = 0; i < 8; ++i) handles.push_back(calls(makePostgresqlStore(options())));
    for (const StoreCalls& handle : handles) pending.push_back(handle.startEnsureSchema());
    for (const auto& status : pending) {
      EXPECT_TRUE(status->get().has_value()) << (status->get().has_error() ? status->get().error().message : "");
    }
  }
}

TEST_F(PostgresqlStoreTest, aMissingTableSaysHowToMakeIt) {
  hand().exec("DROP TABLE tenure_lease");
  const ReadOutcome read = store().startRead({"lease"})->get();
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().errorClass, ErrorClass::misconfigured);
  EXPECT_NE(read.error().message.find("tenure store sql"), std::string::npos) << read.error().message;
  EXPECT_TRUE(std::holds_alternative<Rejected>(store().write(acquire({"lease"}, "a"))));
}

/// The liveness file of a process that has ended.
LivenessFile fileOfDeadProcess(const std::string& directory) {
  const int ended = test::inChild([&]() -> int {
    liveness::OwnLivenessFile own{{"a store", [&]() -> StoreResult<std::string> { return directory; }}};
    _exit(own.get().has_value() ? 0 : 1);  // without destructors, which would remove the file
  });
  EXPECT_EQ(ended, 0);
  const std::string name = namesIn(directory, liveness::livenessFilePrefix).at(0);
  struct stat found {};
  EXPECT_EQ(stat((directory + '/' + name).c_str(), &found), 0);
  return {name.substr(liveness::livenessFilePrefix.size()), liveness::bootId(), found.st_dev, found.st_ino};
}

TEST_F(PostgresqlStoreTest, aHolderOfThisMachineThatDiedIsProvenDead) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const LivenessFile dead = fileOfDeadProcess(local.livenessDirectory);
  const auto watcher = makePostgresqlStore(local);
  EXPECT_EQ(store().raw().deathNotice(), nullptr) << "without a directory there is no proof";
  const auto deaths = watcher->deathNotice();
  ASSERT_NE(deaths, nullptr);
  const LeaseKey key{"lease"};
  WriteRequest request = acquire(key, "a");
  request.record.livenessFile = dead;
  const RecordVersion written = request.record.version;
  store().apply(std::move(request));
  std::promise<RecordVersion> proven;
  const auto follow =
      deaths->follow(calls(watcher).record(key), [&](const RecordVersion& version) { proven.set_value(version); });
  ASSERT_NE(follow, nullptr);
  auto death = proven.get_future();
  ASSERT_EQ(death.wait_for(patience), std::future_status::ready);
  EXPECT_EQ(death.get(), written);
}

TEST_F(PostgresqlStoreTest, theFirstTermRemovesTheFilesOfProcessesThatDiedLongAgo) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const auto pathOf = [&](const LivenessFile& file) {
    return liveness::livenessFilePath(local.livenessDirectory, file.id);
  };
  const std::string old = pathOf(fileOfDeadProcess(local.livenessDirectory));
  const auto holder = makePostgresqlStore(local);
  const auto begin = [&](const LeaseKey& key) {
    WriteRequest request = acquire(key, "a");
    request.record.livenessFile = *holder->deathNotice()->livenessFile();
    calls(holder).apply(std::move(request));
  };
  const auto age = [&](const std::string& path, std::chrono::minutes by) {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) - by);
  };
  age(old, std::chrono::minutes{59});
  begin({"first"});
  EXPECT_EQ(access(old.c_str(), F_OK), 0) << "a record may still refer to it";
  age(old, std::chrono::minutes{2});
  begin({"second"});
  EXPECT_EQ(access(old.c_str(), F_OK), 0) << "once in the life of a store";
  const auto later = makePostgresqlStore(local);
  WriteRequest request = acquire({"third"}, "b");
  request.record.livenessFile = *later->deathNotice()->livenessFile();
  const std::string own = pathOf(*request.record.livenessFile);
  age(pathOf(*holder->deathNotice()->livenessFile()), std::chrono::hours{2});
  calls(later).apply(std::move(request));
  EXPECT_NE(access(old.c_str(), F_OK), 0);
  EXPECT_EQ(access(own.c_str(), F_OK), 0);
  EXPECT_EQ(access(pathOf(*holder->deathNotice()->livenessFile()).c_str(), F_OK), 0) << "its process lives";
}

TEST_F(PostgresqlStoreTest, theLivenessFileStaysLockedWhileATermIsOpen) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const auto write = [&](bool releases) {
    const LeaseKey key{"lease", releases ? "released" : "open"};
    auto holder = makePostgresqlStore(local);
    WriteRequest request = acquire(key, "a");
    request.record.livenessFile = *holder->deathNotice()->livenessFile();
    const std::string id = request.record.livenessFile->id;
    const RecordVersion version = request.record.version;
    calls(holder).apply(std::move(request));
    if (releases) calls(holder).apply(release(key, "a", {version}));
    return id;
  };
  const auto isThere = [&](const std::string& id) {
    return access(liveness::livenessFilePath(local.livenessDirectory, id).c_str(), F_OK) == 0;
  };
  EXPECT_FALSE(isThere(write(true))) << "nothing is left of a store without terms";
  EXPECT_TRUE(isThere(write(false))) << "the end of a store is not the end of its process";
}

}  // namespace
}  // namespace tenure::postgresql_store
