#include "lockcore/stores/sqlite/src/connection.hpp"

#include <cerrno>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "faulty_vfs.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_store {
namespace {

// Both files are open, and none of their calls has failed yet.
struct ConnectionErrno : testing::Test {
  void SetUp() override {
    ASSERT_EQ(connection.open(directory.file("leases.db"), true), SQLITE_OK);
    ASSERT_EQ(connection.run("PRAGMA journal_mode = WAL; CREATE TABLE leases(name)"), SQLITE_OK);
  }

  test::TempDir directory;
  sqlite_test::FaultyVfs files;
  Connection connection;
};

TEST_F(ConnectionErrno, isThatOfTheDatabaseIfTheLogHasNone) {
  files.tellErrno(EDQUOT, 0);
  EXPECT_EQ(connection.lastErrno(), EDQUOT);
}

TEST_F(ConnectionErrno, isThatOfTheLogIfItHasOne) {
  files.tellErrno(EDQUOT, EROFS);
  EXPECT_EQ(connection.lastErrno(), EROFS);
}

TEST_F(ConnectionErrno, isNoneWithoutAConnection) { EXPECT_EQ(Connection{}.lastErrno(), 0); }

}  // namespace
}  // namespace tenure::sqlite_store
