// A listing in parts: every row once, in order, even while rows are added and deleted between the parts.
#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteListPages : public testing::Test {
 protected:
  /// This many leases, in one transaction, with names that look like a position in a listing.
  void fill(int count) {
    store_->apply(acquire({"model"}, "a"));
    shell_.run("BEGIN");
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(10'000 + i);
      shell_.run("INSERT INTO tenure_lease(name, sort_key, state, holder, token, lease_ms, record_version) SELECT '3:" +
                 number +
                 "', '1:x', state, holder, token, lease_ms, record_version FROM tenure_lease WHERE name = 'model'");
    }
    shell_.run("COMMIT");
  }
  [[nodiscard]] ListPage page(const std::string& from) { return store_->startListPage("3:", from)->get().value(); }

  test::TempDir directory_;
  Store store_{directory_.file("leases.db")};
  Shell shell_{directory_.file("leases.db")};
};

TEST_F(SqliteListPages, holdAThousandLeasesEachInTheOrderOfTheKeys) {
  fill(2'500);
  std::vector<LeaseKey> paged;
  std::vector<std::size_t> sizes;
  for (const ListPage& part : store_->listPages("3:")) {
    sizes.push_back(part.leases.size());
    for (const ListedLease& lease : part.leases) paged.push_back(lease.key);
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1'000, 1'000, 500}));
  EXPECT_EQ(paged, store_->listKeys("3:"));
  EXPECT_EQ(paged.size(), 2'500U);
}

TEST_F(SqliteListPages, goOnWhereTheyStoppedThoughThatRowIsGone) {
  fill(1'001);
  const ListPage first = page("");
  ASSERT_FALSE(first.next.empty());
  shell_.run("DELETE FROM tenure_lease WHERE name = '3:11000'");
  EXPECT_TRUE(page(first.next).leases.empty());
  EXPECT_TRUE(page(first.next).next.empty());
  shell_.run(
      "INSERT INTO tenure_lease(name, sort_key, state, holder, token, lease_ms, record_version) SELECT "
      "'3:2', '', state, holder, token, lease_ms, record_version FROM tenure_lease WHERE name = 'model'");
  ASSERT_EQ(page(first.next).leases.size(), 1U);
  EXPECT_EQ(page(first.next).leases[0].key, LeaseKey{"3:2"}) << "it came after that place";
}

TEST_F(SqliteListPages, refuseAPlaceThatIsNone) {
  store_->ensureSchema();
  for (const std::string place : {"x", ":", "9:abc", "1x:abc", "-1:abc", "99999999999999999999999:a"}) {
    const PageOutcome refused = store_->startListPage("", place)->get();
    ASSERT_TRUE(refused.has_error()) << place;
    EXPECT_EQ(refused.error().errorClass, ErrorClass::misconfigured);
    EXPECT_TRUE(contains(refused.error().message, place)) << refused.error().message;
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
