// Listings of more leases than one statement returns, on a real server.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "adapters/postgresql_database.hpp"
#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/link/link.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "lockcore/stores/postgresql/src/store.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace contract;
using namespace std::chrono_literals;

/// The database of the test, which counts what is listed and lets the test act before each page.
class CountedDatabase final : public Database {
 public:
  CountedDatabase(std::shared_ptr<Database> real, std::function<void(std::size_t page)> before)
      : real_{std::move(real)}, before_{std::move(before)} {}

  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    if (job.statements.front().id != StatementId::listLeases) return real_->run(std::move(job), timeout, handler);
    before_(rows_.size());
    real_->run(std::move(job), timeout, [this, handler = std::move(handler)](JobReply reply) {
      rows_.push_back(reply.rows.empty() ? 0 : reply.rows.front().size());
      handler(std::move(reply));
    });
  }
  [[nodiscard]] std::string describe() const override { return real_->describe(); }

  /// How many rows each answered statement has brought.
  [[nodiscard]] const std::vector<std::size_t>& rows() const noexcept { return rows_; }

 private:
  const std::shared_ptr<Database> real_;
  const std::function<void(std::size_t)> before_;
  std::vector<std::size_t> rows_{};  // the database answers one page after the other, and the test looks afterwards
};

class PostgresqlListing : public testing::Test {
 protected:
  PostgresqlListing() {
    hand_.exec("SET search_path = " + schema_.name());
    calls_.ensureSchema();
  }
  ~PostgresqlListing() override {
    calls_.drop();
    for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
  }

  /// Leases `job-00000` on, written by hand, because so many acquisitions would take long.
  void fill(std::size_t count) const {
    calls_.apply(acquire({"a"}, "me"));
    hand_.exec(
        "INSERT INTO tenure_lease (name, counter, counter_lease_ms, counter_history, history, token, version, holder, "
        "lease_ms, released, acquired_at, renewed_at) SELECT 'job-' || lpad(n::text, 5, '0'), 1, lease_ms, "
        "counter_history, history, 1, 'v' || n, holder, lease_ms, released, acquired_at, renewed_at "
        "FROM tenure_lease, generate_series(0, " +
        std::to_string(count) + " - 1) AS n WHERE name = 'a'");
    calls_.apply(acquire({"z"}, "me"));
  }
  static std::string nameOf(std::size_t n) {
    const std::string digits = std::to_string(n);
    return "job-" + std::string(5 - digits.size(), '0') + digits;
  }

  [[nodiscard]] StoreCalls& calls() noexcept { return calls_; }
  [[nodiscard]] const test::PostgresqlConnection& hand() const noexcept { return hand_; }
  [[nodiscard]] const std::vector<std::size_t>& rows() const noexcept { return database_->rows(); }
  std::function<void(std::size_t page)> beforePage_ = [](std::size_t) {};

 private:
  [[nodiscard]] std::shared_ptr<CountedDatabase> makeDatabase() {
    const auto statements = std::make_shared<const Statements>(options_.schema, options_.table);
    auto link = makeLink({.store = options_,
                          .text = [statements](StatementId id, bool history) -> const std::string& {
                            return statements->sql(id, history);
                          },
                          .channel = channelOf(options_.schema, options_.table)});
    return std::make_shared<CountedDatabase>(std::move(link), [this](std::size_t page) { beforePage_(page); });
  }

  std::shared_ptr<CallLedger> ledger_ = std::make_shared<CallLedger>();
  const test::PostgresqlSchema schema_;
  const PostgresqlStoreOptions options_{.connection = test::postgresqlUrl(), .schema = schema_.name()};
  const test::PostgresqlConnection hand_;
  const std::shared_ptr<CountedDatabase> database_ = makeDatabase();
  StoreCalls calls_{makeStore(options_, {.database = database_, .scheduler = sharedScheduler()}), ledger_};
};

TEST_F(PostgresqlListing, allLeasesOfAPrefixComeInOrderAndNoStatementReturnsMoreThanAPage) {
  const std::size_t count = 2 * leasesOfAPage + 5;
  fill(count);
  const std::vector<LeaseKey> found = calls().listKeys("job-");
  ASSERT_EQ(found.size(), count);
  for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(found[n], LeaseKey{nameOf(n)});
  EXPECT_EQ(rows(), (std::vector<std::size_t>{leasesOfAPage + 1, leasesOfAPage + 1, 5}));
}

TEST_F(PostgresqlListing, onlyThePagesThatThereAreAreAskedFor) {
  fill(leasesOfAPage);
  EXPECT_EQ(calls().listKeys("job-").size(), leasesOfAPage);
  EXPECT_EQ(rows(), std::vector<std::size_t>{leasesOfAPage});
  EXPECT_EQ(calls().listKeys("none"), std::vector<LeaseKey>{});
  EXPECT_EQ(calls().listKeys("").size(), leasesOfAPage + 2);
}

TEST_F(PostgresqlListing, aLeaseThatGoesBetweenPagesTakesNoOtherWithIt) {
  const std::size_t count = 3 * leasesOfAPage;
  fill(count);
  beforePage_ = [this](std::size_t page) {
    if (page != 1) return;
    hand().exec("DELETE FROM tenure_lease WHERE name IN ('" + nameOf(leasesOfAPage) + "', '" +
                nameOf(leasesOfAPage - 1) + "')");  // where this page begins, and one that was listed already
  };
  const std::vector<LeaseKey> found = calls().listKeys("job-");
  std::vector<LeaseKey> expected;
  for (std::size_t n = 0; n < count; ++n) {
    if (n != leasesOfAPage) expected.push_back({nameOf(n)});
  }
  EXPECT_TRUE(found == expected) << found.size() << " of " << expected.size();
}

TEST_F(PostgresqlListing, whatGoesWrongInALaterPageIsToldOnce) {
  fill(leasesOfAPage + 1);
  beforePage_ = [this](std::size_t page) {
    if (page == 1) hand().exec("ALTER TABLE tenure_lease RENAME TO elsewhere");
  };
  const ListOutcome outcome = calls().startList("job-")->get();
  ASSERT_TRUE(outcome.has_error());
  EXPECT_EQ(outcome.error().errorClass, ErrorClass::misconfigured) << outcome.error().message;
}

}  // namespace
}  // namespace tenure::postgresql_store
