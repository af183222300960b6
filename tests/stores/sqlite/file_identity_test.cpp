// A database is deleted or replaced while processes use it. They notice at the next call, a holder never creates it
// again, and a write into a file that the path no longer names does not count.
#include <filesystem>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteFileIdentity : public testing::Test {
 protected:
  void SetUp() override { token_ = store_->apply(acquire(key_, "a")).token; }

  RecordVersion version() { return store_->record(key_).version; }

  /// Deletes the files as `rm NAME*` does: in the order of names.
  void deleteDatabase() const {
    for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::remove(path_ + suffix);
  }
  void moveAway() const {
    for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::rename(path_ + suffix, moved_ + suffix);
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const std::string moved_ = directory_.file("moved.db");
  const LeaseKey key_{"lease"};
  Store store_{path_};
  FencingToken token_;
};

TEST_F(SqliteFileIdentity, aHolderWhoseDatabaseWasDeletedIsToldAndDoesNotReviveIt) {
  const RecordVersion last = version();
  deleteDatabase();
  EXPECT_TRUE(isConflictWith(store_->write(renew(key_, "a", {last})), std::nullopt));
  EXPECT_TRUE(isConflictWith(store_->write(release(key_, "a", {last})), std::nullopt));
  EXPECT_TRUE(isConflictWith(store_->requestStepDown(key_, token_), std::nullopt));
  EXPECT_EQ(store_->read(key_), std::nullopt);
  EXPECT_EQ(store_->list("").size(), 0U);
  EXPECT_FALSE(std::filesystem::exists(path_));
  WriteRequest again = acquire(key_, "a");
  again.tokenFloor = token_;
  EXPECT_GT(store_->apply(std::move(again)).token, token_);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SqliteFileIdentity, aConflictTellsWhatIsInTheNewFile) {
  const RecordVersion last = version();
  moveAway();
  const std::string other = directory_.file("other.db");
  {
    Store prepared{other};
    prepared->apply(acquire(key_, "b"));
  }
  std::filesystem::rename(other, path_);
  const WriteOutcome outcome = store_->write(renew(key_, "a", {last}));
  const auto* conflict = std::get_if<Conflict>(&outcome);
  ASSERT_NE(conflict, nullptr) << describe(outcome);
  ASSERT_TRUE(conflict->current && *conflict->current);
  EXPECT_EQ((*conflict->current)->holder, "b");
  EXPECT_EQ(store_->record(key_).holder, "b") << "the reader has noticed, too";
  EXPECT_EQ(Shell{moved_}.value("SELECT holder FROM tenure_lease"), "a") << "the old file was left alone";
}

// The file is replaced after the first check. Meanwhile the write waits for the lock, and is then committed to the old
// file.
TEST_F(SqliteFileIdentity, aCommitIntoAFileThatIsNoLongerThereIsNotApplied) {
  const RecordVersion last = version();
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto renewal = store_->startWrite(renew(key_, "a", {last}));
  EXPECT_FALSE(eventually([&] { return renewal->answers() > 0; }, std::chrono::milliseconds{100}));
  moveAway();
  ASSERT_EQ(foreigner.ask("unlock"), "ok");
  EXPECT_TRUE(isConflictWith(renewal->get(), std::nullopt));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_NE(Shell{moved_}.value("SELECT record_version FROM tenure_lease"), last.text())
      << "the test must have met the moment between check and commit";
}

TEST_F(SqliteFileIdentity, anAcquisitionIntoAFileThatIsNoLongerThereIsNotApplied) {
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto acquisition = store_->startWrite(acquire({"second"}, "a"));
  EXPECT_FALSE(eventually([&] { return acquisition->answers() > 0; }, std::chrono::milliseconds{100}));
  moveAway();
  ASSERT_EQ(foreigner.ask("unlock"), "ok");
  EXPECT_TRUE(isConflictWith(acquisition->get(), std::nullopt));
  Store newcomer{path_};
  EXPECT_EQ(newcomer->read({"second"}), std::nullopt);
  EXPECT_EQ(Shell{moved_}.value("SELECT count(*) FROM tenure_lease WHERE name = 'second'"), "1")
      << "the test must have met the moment between check and commit";
}

// What was removed, or asked for, where nobody looks any more did not happen.
TEST_F(SqliteFileIdentity, aRemovalOrARequestInAFileThatIsNoLongerThereIsNotApplied) {
  store_->apply(release(key_, "a", {version()}));
  store_->apply(acquire({"led"}, "a"));
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto removal = store_->startRemove(key_, version());
  const auto request = store_->startStepDown({"led"}, {store_->record({"led"}).token});
  EXPECT_FALSE(eventually([&] { return removal->answers() + request->answers() > 0; }, std::chrono::milliseconds{100}));
  moveAway();
  ASSERT_EQ(foreigner.ask("unlock"), "ok");
  for (const WriteOutcome& outcome : {removal->get(), request->get()}) {
    EXPECT_TRUE(std::holds_alternative<Conflict>(outcome)) << describe(outcome);
  }
  EXPECT_EQ(Shell{moved_}.value("SELECT count(*) FROM tenure_lease WHERE name = 'lease'"), "0")
      << "the test must have met the moment between check and commit";
}

// Without its log the database is as it was when the log was last copied into it: older, or even empty.
TEST_F(SqliteFileIdentity, aDeletedLogIsNoticedAndDoesNotDamageTheDatabase) {
  for (const char* suffix : {"-wal", "-shm"}) {
    const RecordVersion last = version();
    std::filesystem::remove(path_ + suffix);
    const WriteOutcome outcome = store_->write(renew(key_, "a", {last}));
    EXPECT_FALSE(std::holds_alternative<Unknown>(outcome)) << describe(outcome);
    if (std::holds_alternative<Conflict>(outcome)) {
      const auto seen = store_->read(key_);
      store_->apply(acquire(key_, "a", seen ? std::vector{seen->version} : std::vector<RecordVersion>{}));
    }
    EXPECT_EQ(store_->record(key_).holder, "a");
    EXPECT_EQ(Shell{path_}.value("PRAGMA integrity_check"), "ok");
  }
}

TEST_F(SqliteFileIdentity, aDirectoryThatIsTakenAwayIsToldAndMayComeBack) {
  const RecordVersion last = version();
  const std::string sub = directory_.file("sub");
  std::filesystem::create_directory(sub);
  Store store{sub + "/leases.db"};
  store->apply(acquire(key_, "a"));
  std::filesystem::remove_all(sub);
  EXPECT_EQ(errorOf(store->write(renew(key_, "a", {last}))).errorClass, ErrorClass::misconfigured);
  std::filesystem::create_directory(sub);
  EXPECT_TRUE(isConflictWith(store->write(renew(key_, "a", {last})), std::nullopt));
  store->apply(acquire(key_, "a"));
}

}  // namespace
}  // namespace tenure::sqlite_test
