// The rules in C++ hold on a real server: which token follows, and which rows are understood.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

/// A counter of any history, on a real server: the rule in lockcore/stored decides, and what it decides is stored.
TEST_F(PostgresqlStoreTest, tokensFollowTheBlockOfTheHistory) {
  const std::string now = presentHistory();
  constexpr std::int64_t block = std::int64_t{1} << 40;
  int cases = 0;
  const auto tokenAfter = [&](std::int64_t counter, const std::string& before, std::int64_t floor = 0) {
    const LeaseKey key{"lease", std::to_string(++cases)};
    store().apply(acquire(key, "a"));
    hand().exec("UPDATE tenure_lease SET token = 7, counter = " + std::to_string(counter) + ", counter_history = '" +
                before + "' WHERE sort = '" + key.sortKey + "'");
    WriteRequest request = acquire(key, "b", {store().record(key).version});
    request.tokenFloor = FencingToken{static_cast<std::uint64_t>(floor)};
    const FencingToken token = store().apply(std::move(request)).token;
    EXPECT_EQ(store().tokens(key).counter, toString(token));
    return static_cast<std::int64_t>(token.value());
  };
  EXPECT_EQ(tokenAfter(7, now), 8);
  EXPECT_EQ(tokenAfter(0, now), 8) << "the record knows more";
  EXPECT_EQ(tokenAfter(7, now, 30), 31);
  EXPECT_EQ(tokenAfter(7, "1/1"), block);
  EXPECT_EQ(tokenAfter(5 * block + 3, "1/1"), 6 * block);
  EXPECT_EQ(tokenAfter(7, "nonsense", block + 5), block + 6);
  EXPECT_EQ(tokenAfter(7, now + "7"), block) << "of a later timeline";
}

/// The counter was changed by another process since this one has read it.
TEST_F(PostgresqlStoreTest, aTokenFollowsTheCounterThatIsStored) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion version = store().record(key).version;
  hand().exec("UPDATE tenure_lease SET counter = 41");
  EXPECT_EQ(store().apply(acquire(key, "b", {version})).token, FencingToken{42});
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

}  // namespace
}  // namespace tenure::postgresql_store
