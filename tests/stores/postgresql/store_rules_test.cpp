// The SQL agrees with the rules in C++: which token follows, and which rows are understood.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "lockcore/stores/postgresql/src/token_rule.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

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

}  // namespace
}  // namespace tenure::postgresql_store
