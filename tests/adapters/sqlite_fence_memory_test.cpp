#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>

#include "adapters/fence/src/fence_memory.hpp"
#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

TermStamp stamped(std::uint64_t token) { return {"billing", FencingToken{token}, recoveredHolder}; }

struct SqliteFenceMemoryTest : testing::Test {
  const test::TempDir directory;
  const std::string file = directory.file("user.db");
  const test::TestDatabase database{file};
};

TEST_F(SqliteFenceMemoryTest, tellsWhatTheFenceRemembersAndSetsItAlsoToALowerToken) {
  SqliteFence fence = SqliteFence::open(database.raw()).value();
  ASSERT_TRUE(fence.write({"billing", FencingToken{41}, "a#1"}, [](sqlite3*) { return SQLITE_OK; }));
  const auto memory = openSqliteFenceMemory(file).value();
  EXPECT_EQ(memory->stored("billing").value(), "41");
  EXPECT_EQ(memory->stored("payroll").value(), "") << "a lease of which nothing is remembered";
  ASSERT_TRUE(memory->set(stamped(7)));
  EXPECT_EQ(memory->stored("billing").value(), "7");
  EXPECT_EQ(fence.highestSeen("billing").value()->token, FencingToken{7});
  EXPECT_FALSE(fence.write({"billing", FencingToken{7}, "a#1"}, [](sqlite3*) { return SQLITE_OK; }));
  EXPECT_TRUE(fence.write({"billing", FencingToken{8}, "b#1"}, [](sqlite3*) { return SQLITE_OK; }));
}

TEST_F(SqliteFenceMemoryTest, isRefusedWithoutAFileOrATable) {
  for (const std::string& missing : {directory.file("none.db"), file}) {
    const auto memory = openSqliteFenceMemory(missing);
    ASSERT_TRUE(memory.has_error()) << missing;
    EXPECT_NE(FenceError{memory.error()}.message.find(missing == file ? "tenure_fence_guard" : "none.db"),
              std::string::npos)
        << FenceError{memory.error()}.message;
  }
}

}  // namespace
}  // namespace tenure
