// What happens while another process holds the write lock.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "lockcore/stores/sqlite/src/lock_holder.hpp"
#include "sqlite_support.hpp"
#include "support/lateness_probe.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;

class SqliteBusy : public testing::Test {
 protected:
  [[nodiscard]] static milliseconds since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
};

TEST_F(SqliteBusy, aWriteEndsAtItsTimeLimitAndNamesWhoHoldsTheLock) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");

  const test::LatenessProbe probe;
  const auto start = std::chrono::steady_clock::now();
  const WriteOutcome outcome = store->startWrite(acquire({"other"}, "a"), milliseconds{300})->get();
  EXPECT_GE(since(start), milliseconds{300});
  EXPECT_LT(since(start), milliseconds{2000} + 2 * probe.worst());
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcome)) << describe(outcome);
  const StoreError error = errorOf(outcome);
  EXPECT_EQ(error.errorClass, ErrorClass::transient);
  EXPECT_TRUE(contains(error.message, path_)) << error.message;
  EXPECT_TRUE(contains(error.message, "acquiring lease other")) << error.message;
  EXPECT_TRUE(contains(error.message, "process " + std::to_string(foreigner.pid()) + " (sqlite_actor)"))
      << error.message;
  EXPECT_FALSE(contains(error.message, "stopped")) << error.message;
}

TEST_F(SqliteBusy, aStoppedProcessWithTheLockIsToldAsSuch) {
  Store store{path_};
  store->ensureSchema();
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  foreigner.stop();
  const StoreError error = errorOf(store->startWrite(acquire(key_, "a"), milliseconds{50})->get());
  EXPECT_TRUE(contains(error.message, "(sqlite_actor), which is stopped")) << error.message;
  foreigner.signal(SIGCONT);
}

TEST_F(SqliteBusy, readsGoOnWhileAWriterWaits) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto waiting = store->startWrite(renew(key_, "a", {store->record(key_).version}), patience);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(store->record(key_).holder, "a");
  EXPECT_EQ(store->list("").size(), 1U);
  EXPECT_EQ(waiting->answers(), 0U);
  ASSERT_EQ(foreigner.ask("unlock"), "ok");
  EXPECT_TRUE(std::holds_alternative<Applied>(waiting->get()));
}

TEST_F(SqliteBusy, aLockThatIsLetGoIsTakenWithinMilliseconds) {
  Store store{path_};
  store->ensureSchema();
  Actor foreigner{path_};
  std::vector<milliseconds> bare, delays;
  for (int round = 0; round < 9; ++round) {
    ASSERT_EQ(foreigner.ask("lock"), "ok");
    const auto before = std::chrono::steady_clock::now();
    ASSERT_EQ(foreigner.ask("unlock"), "ok");
    store->apply(acquire({"bare" + std::to_string(round)}, "a"));
    bare.push_back(since(before));
    ASSERT_EQ(foreigner.ask("lock"), "ok");
    const auto waiting = store->startWrite(acquire({"lease" + std::to_string(round)}, "a"), patience);
    EXPECT_FALSE(eventually([&] { return waiting->answers() > 0; }, milliseconds{30}));
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(foreigner.ask("unlock"), "ok");
    ASSERT_TRUE(std::holds_alternative<Applied>(waiting->get()));
    delays.push_back(since(start));
  }
  std::sort(bare.begin(), bare.end());
  std::sort(delays.begin(), delays.end());
  // Compared with the same steps without a wait. The medians are compared, because single rounds depend on what else
  // the machine does. SQLite's own waiting takes 25 to 100 ms.
  EXPECT_LT(delays[delays.size() / 2], bare[bare.size() / 2] + milliseconds{20});
}

TEST_F(SqliteBusy, aCallWhoseTimeIsOverBeforeItsTurnIsNotAttempted) {
  Store store{path_};
  store->ensureSchema();
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto first = store->startWrite(acquire({"first"}, "a"), milliseconds{300});
  const auto second = store->startWrite(acquire({"second"}, "a"), milliseconds{30});
  const auto schema = store->startEnsureSchema(milliseconds{30});
  EXPECT_TRUE(std::holds_alternative<Rejected>(first->get()));
  const WriteOutcome late = second->get();
  ASSERT_TRUE(std::holds_alternative<Rejected>(late)) << describe(late);
  EXPECT_EQ(errorOf(late).errorClass, ErrorClass::transient);
  EXPECT_TRUE(contains(errorOf(late).message, "30 ms was over before its turn came")) << errorOf(late).message;
  EXPECT_EQ(schema->get().error().errorClass, ErrorClass::transient);
  ASSERT_EQ(foreigner.ask("unlock"), "ok");
  EXPECT_EQ(store->read({"second"}), std::nullopt);
}

TEST_F(SqliteBusy, aStoreThatEndsWaitsForNoLock) {
  Store store{path_};
  store->ensureSchema();
  Actor foreigner{path_};
  ASSERT_EQ(foreigner.ask("lock"), "ok");
  const auto waiting = store->startWrite(acquire(key_, "a"), std::chrono::hours{1});
  const auto queued = store->startWrite(acquire(key_, "b"), std::chrono::hours{1});
  store.close();
  EXPECT_EQ(errorOf(waiting->get()).errorClass, ErrorClass::transient);
  EXPECT_TRUE(contains(errorOf(queued->get()).message, "the store was closed")) << errorOf(queued->get()).message;
}

// SQLite's own busy handler lets one busy writer starve the others for seconds (measured); ours must not.
TEST_F(SqliteBusy, noWriterStarvesAmongSeveralProcesses) {
  Store store{path_};
  constexpr int writers = 3;
  std::vector<std::unique_ptr<Actor>> actors;
  for (int i = 0; i < writers; ++i) {
    const std::string name = std::to_string(i);
    actors.push_back(std::make_unique<Actor>(path_));
    ASSERT_TRUE(contains(actors.back()->ask("acquire lease" + name + " a"), "applied"));
  }
  for (int i = 0; i < writers; ++i) {
    const std::string name = "lease" + std::to_string(i);
    actors[static_cast<std::size_t>(i)]->tell("loop " + name + " a " + store->record({name}).version.text());
  }
  // Each of them, and this process too, gets the lock again and again.
  store->apply(acquire(key_, "mine"));
  for (int round = 0; round < 40; ++round) {
    store->apply(renew(key_, "mine", {store->record(key_).version}));
    for (const auto& actor : actors) {
      ASSERT_TRUE(contains(actor->hear(), "sent"));
      ASSERT_TRUE(contains(actor->hear(), "applied"));
    }
  }
}

/// Another program with the right to read. It locks one byte of a file, and stays.
class ReadLock {
 public:
  ReadLock(const std::string& path, off_t byte, int command) {
    std::array<int, 2> ready{};
    if (pipe(ready.data()) != 0) throw std::runtime_error{"no pipe"};
    child_ = fork();
    if (child_ == 0) {
      struct flock lock {};
      lock.l_type = F_RDLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = byte;
      lock.l_len = 1;
      const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0 || fcntl(fd, command, &lock) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byteRead = 0;
    isHeld_ = read(ready[0], &byteRead, 1) == 1;
    close(ready[0]);
  }
  ~ReadLock() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

  [[nodiscard]] bool isHeld() const { return isHeld_; }
  [[nodiscard]] std::string name() const { return "process " + std::to_string(child_); }

 private:
  pid_t child_{-1};
  bool isHeld_{false};
};

/// For which the right to read the -shm file is enough: it stops all elections, so its process is named.
TEST_F(SqliteBusy, aLockOfAReaderIsNamedByItsProcess) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  const RecordVersion version = store->record(key_).version;
  for (const int command : {F_SETLK, F_OFD_SETLK}) {
    const ReadLock reader{path_ + "-shm", 120, command};
    ASSERT_TRUE(reader.isHeld());
    for (const WriteRequest& request :
         {acquire({"other"}, "a"), renew(key_, "a", {version}), release(key_, "a", {version})}) {
      // Where there are many processes, the first call has not the time to find the one.
      std::string message;
      EXPECT_TRUE(eventually([&] {
        message = errorOf(store->startWrite(request, milliseconds{200})->get()).message;
        return contains(message, "the lock is held by " + reader.name() + " (");
      })) << message;
    }
  }
  store->apply(renew(key_, "a", {version}));
}

/// The search through /proc took longer than a leader waits for an answer, so its log said only "the store did not
/// answer".
TEST_F(SqliteBusy, theSearchForAProcessTakesOnlyTheTimeThatItIsGiven) {
  Store store{path_};
  store->ensureSchema();
  Shell shell{path_};
  shell.run("SELECT * FROM tenure_lease");
  const std::string directory = directory_.path().string();
  const sqlite_store::StoreFiles files{directory, path_, path_ + "-wal", path_ + "-shm", sidecarOf(path_)};
  const ReadLock reader{files.shm, 120, F_OFD_SETLK};
  ASSERT_TRUE(reader.isHeld());
  sqlite_store::WriteLockHolder holder;
  holder.search(files, std::chrono::nanoseconds{0});
  EXPECT_TRUE(contains(holder.text(files), "a process that locks by open file description")) << holder.text(files);
  holder.search(files, std::chrono::minutes{1});
  EXPECT_TRUE(contains(holder.text(files), reader.name() + " (")) << holder.text(files);
  holder.search(files, std::chrono::nanoseconds{0});  // it is known now
  EXPECT_TRUE(contains(holder.text(files), reader.name() + " (")) << holder.text(files);
}

/// ThreadSanitizer reported the search as a race with each thread of the program that opened or closed a file.
TEST_F(SqliteBusy, theSearchForAProcessUsesNoDescriptorOfAnotherThread) {
  std::vector<UniqueFd> low;  // numbers that the search comes to before SQLite's
  for (int i = 0; i < 8; ++i) low.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Store store{path_};
  store->ensureSchema();
  Shell shell{path_};
  shell.run("SELECT * FROM tenure_lease");
  const std::string directory = directory_.path().string();
  const sqlite_store::StoreFiles files{directory, path_, path_ + "-wal", path_ + "-shm", sidecarOf(path_)};
  const ReadLock reader{files.shm, 120, F_SETLK};
  ASSERT_TRUE(reader.isHeld());
  low.clear();
  std::atomic<int> opened{0};
  std::jthread others{[&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++opened) {
      const UniqueFd one{open("/dev/null", O_RDONLY | O_CLOEXEC)}, two{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    }
  }};
  ASSERT_TRUE(eventually([&] { return opened > 0; }));
  const sqlite_store::WriteLockHolder holder;
  for (const int before = opened; opened < before + 2000;) {
    EXPECT_TRUE(contains(holder.text(files), reader.name() + " (")) << holder.text(files);
  }
}

TEST_F(SqliteBusy, aLockForMakingTheDatabaseIsNamedByItsProcess) {
  std::filesystem::create_directory(directory_.file(".leases.db.tenure"));
  const std::string path = directory_.file(".leases.db.tenure/creation-lock");
  const UniqueFd held{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  Store store{path_};
  const StoreError error = errorOf(store->startWrite(acquire(key_, "a"), milliseconds{200})->get());
  EXPECT_TRUE(contains(error.message, "it is held by process " + std::to_string(getpid()))) << error.message;
}

}  // namespace
}  // namespace tenure::sqlite_test
