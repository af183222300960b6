// Orders of events in which otherwise only a race would show a fault: the test acts between two system calls.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/stores/sqlite/src/sidecar/wake_files.hpp"
#include "stores/sqlite/actor.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "stores/sqlite/system_calls.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using liveness::LockState;

class SqliteOrder : public testing::Test {
 protected:
  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

/// In the other order a challenger could lock the liveness file that the record names. That would be a proof that a
/// living process is dead.
TEST_F(SqliteOrder, aLivenessFileLosesItsNameWhileItIsLocked) {
  auto store = std::make_unique<Store>(path_);
  const LivenessFile livenessFile = extended(store->raw())->deathNotice()->livenessFile().value();
  const std::string file = liveness::livenessFilePath(sidecarOf(path_), livenessFile.id);
  std::vector<LockState> seen;
  const HookedCalls calls{{.beforeUnlink = [&](const std::string& path) {
    if (path == file) seen.push_back(liveness::probeLivenessFile(liveness::openLivenessFileToLook(path)));
  }}};
  store.reset();
  EXPECT_EQ(seen, std::vector{LockState::held});
  EXPECT_FALSE(std::filesystem::exists(file));
}

/// Neither the check nor the watch reports what happens between them.
TEST_F(SqliteOrder, aHolderThatDiesBeforeItIsWatchedIsSeenByTheFirstLook) {
  Actor holder{path_};
  ASSERT_EQ(holder.ask("livenessFile"), "ok");
  ASSERT_TRUE(contains(holder.ask("acquire lease a"), "applied"));
  std::atomic<int> looks{0};
  std::atomic<int> looksAtProof{0};
  Signal proven;
  Store store{path_};
  const LeaseRecord record = store->record({"lease"});
  const HookedCalls calls{{.beforeWatch =
                               [&](const std::string& path) {
                                 if (contains(path, record.livenessFile->id)) holder.kill();
                               },
                           .beforeLook = [&] { ++looks; }}};
  const auto handle = extended(store.raw())->deathNotice()->follow(record, [&](const RecordVersion&) {
    looksAtProof = looks.load();
    proven.set();
  });
  ASSERT_TRUE(proven.wait());
  EXPECT_EQ(looksAtProof, 1) << "it looked before it watched; a later death would have been found by chance";
}

TEST_F(SqliteOrder, aCommitBeforeTheWakeFileIsWatchedIsToldAfterIt) {
  const LeaseKey key{"lease"};
  Actor writer{path_};
  Store store{path_};
  store->ensureSchema();
  const std::string wakeFile = sqlite_store::wakeFilePath(sidecarOf(path_), key);
  std::atomic<bool> committed{false};
  Signal told;
  const HookedCalls calls{{.beforeWatch = [&](const std::string& path) {
    if (path != wakeFile || committed) return;
    ASSERT_TRUE(contains(writer.ask("acquire lease a"), "applied"));
    // It notifies others after its answer, and before the next write.
    ASSERT_TRUE(contains(writer.ask("acquire lease b"), "conflict"));
    committed = true;
  }}};
  const auto handle = store.raw().watch(key, [&] {
    if (committed) told.set();
  });
  EXPECT_TRUE(told.wait()) << "it would be seen by polling only";
  EXPECT_TRUE(committed);
}

TEST_F(SqliteOrder, aDatabaseThatIsExchangedBeforeItIsWatchedIsWatchedAnew) {
  Store store{path_};
  store->ensureSchema();
  std::ofstream{directory_.file("other")} << "another file";
  std::atomic<int> armings{0};
  const HookedCalls calls{{.beforeWatch = [&](const std::string& path) {
    if (path == path_ && ++armings == 1) std::filesystem::rename(directory_.file("other"), path_);
  }}};
  const auto handle = extended(store.raw())->watchLoss([] {});
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(eventually([&] { return armings >= 2; })) << "what is at the path now could go without a word";
}

/// What the watch thread was asked to do before, it has done when this returns: a new watch of a lease begins with a
/// hint.
void waitForWatchThread(Store& store) {
  Signal begun;
  const auto handle = store.raw().watch({"nobody's"}, [&begun] { begun.set(); });
  ASSERT_TRUE(begun.wait());
}

/// The hint after the arming tells the holder what happened before. Here the watch thread is always the quicker one.
TEST_F(SqliteOrder, aHolderIsToldOnceItsDatabaseIsWatchedHoweverSoonThatIs) {
  Store store{path_};
  store->ensureSchema();
  Signal told;
  const std::thread::id caller = std::this_thread::get_id();
  bool inHook = false;
  const HookedCalls calls{{.afterWakeUp = [&] {
    if (std::this_thread::get_id() != caller || std::exchange(inHook, true)) return;
    waitForWatchThread(store);
    inHook = false;
  }}};
  const auto handle = extended(store.raw())->watchLoss([&] { told.set(); });
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(told.wait()) << "a database that was replaced before would be noticed at a heartbeat only";
}

/// A hint costs a renewal.
TEST_F(SqliteOrder, aLaterHolderIsToldOfLaterLossesOnly) {
  Store store{path_};
  store->ensureSchema();
  Signal first, late;
  const auto holder = extended(store.raw())->watchLoss([&] { first.set(); });
  waitForWatchThread(store);
  const auto later = extended(store.raw())->watchLoss([&] { late.set(); });
  waitForWatchThread(store);
  EXPECT_EQ(late.count(), 0);
  std::ofstream{directory_.file("other")} << "another file";
  std::filesystem::rename(directory_.file("other"), path_);
  EXPECT_TRUE(late.wait());
}

}  // namespace
}  // namespace tenure::sqlite_test
