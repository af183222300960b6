// The whole database is deleted while a holder lives: another one is created once no lease in the old one can be held
// any more.
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "actor.hpp"
#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class SqliteMissingDatabase : public testing::Test {
 protected:
  /// Deletes the files in the order of `rm NAME*`.
  void deleteDatabase() const {
    for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::remove(path_ + suffix);
  }

  /// A holder in another process; its lease has this length.
  void lead(Actor& actor, milliseconds lease) {
    ASSERT_EQ(actor.ask("lease " + std::to_string(lease.count())), "ok");
    const std::string answer = actor.ask("acquire lease a");
    ASSERT_TRUE(contains(answer, "applied ")) << answer << actor.ask("error");
  }

  /// The error of an acquisition that is refused because there is no database.
  StoreError rejectionOf(Store& store) {
    const auto begin = steady_clock::now();
    const WriteOutcome outcome = store->write(acquire(key_, "b"));
    const auto* rejected = std::get_if<Rejected>(&outcome);
    EXPECT_NE(rejected, nullptr) << describe(outcome);
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{2}) << "no thread waits for it";
    EXPECT_FALSE(std::filesystem::exists(path_));
    return rejected != nullptr ? rejected->error : StoreError{};
  }

  void tryUntilApplied(Store& store, const std::string& holder) {
    EXPECT_TRUE(eventually([&] { return std::holds_alternative<Applied>(store->write(acquire(key_, holder))); }));
  }

  /// A locked file with a liveness file's name, with this text.
  [[nodiscard]] UniqueFd livingLivenessFile(const std::string& text) const {
    std::filesystem::create_directories(sidecarOf(path_));
    const std::string file = sidecarOf(path_) + "/beacon-" + strangersId_;
    std::ofstream{file} << text;
    UniqueFd fd{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    return fd;
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
  const std::string strangersId_ = std::string(32, 'a');
};

TEST_F(SqliteMissingDatabase, isMadeOnlyWhenTheLeaseOfALivingHolderIsOver) {
  Actor holder{path_};
  lead(holder, milliseconds{3000});
  Store newcomer{path_};
  EXPECT_EQ(newcomer->record(key_).holder, "a");
  const auto begin = steady_clock::now();
  deleteDatabase();
  EXPECT_EQ(newcomer->read(key_), std::nullopt);
  const StoreError error = rejectionOf(newcomer);
  EXPECT_EQ(error.errorClass, ErrorClass::transient) << error.message;
  for (const std::string& part : {std::string{"there is no database"}, std::string{"a lease of 3000 ms"},
                                  "process " + std::to_string(holder.pid()) + " (sqlite_actor)"}) {
    EXPECT_TRUE(contains(error.message, part)) << error.message << "\nlacks " << part;
  }
  EXPECT_TRUE(newcomer->startEnsureSchema()->get().has_error()) << "no other way to one";
  tryUntilApplied(newcomer, "b");
  EXPECT_GE(steady_clock::now() - begin, milliseconds{3000});
}

TEST_F(SqliteMissingDatabase, aLongerLeaseIsStatedBeforeItIsInTheDatabase) {
  Actor holder{path_};
  lead(holder, milliseconds{500});
  const std::string version = Shell{path_}.value("SELECT record_version FROM tenure_lease");
  ASSERT_EQ(holder.ask("lease 60000"), "ok");
  ASSERT_TRUE(contains(holder.ask("renew lease a " + version), "applied"));
  ASSERT_EQ(holder.ask("lease 500"), "ok");
  const std::string next = Shell{path_}.value("SELECT record_version FROM tenure_lease");
  ASSERT_TRUE(contains(holder.ask("renew lease a " + next), "applied"));
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(rejectionOf(newcomer).message, "a lease of 60000 ms")) << "it never becomes shorter";
}

TEST_F(SqliteMissingDatabase, aFrozenHolderIsWaitedForAndADeadOneIsNot) {
  Actor holder{path_};
  lead(holder, milliseconds{60'000});
  holder.stop();
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(rejectionOf(newcomer).message, "which is stopped"));
  holder.kill();
  newcomer->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, nobodyWaitsForHisOwnTermNorForThoseWhoNeverLed) {
  Actor candidate{path_};
  ASSERT_EQ(candidate.ask("livenessFile"), "ok");
  Store store{path_};
  store->apply(acquire(key_, "a"));
  deleteDatabase();
  store->apply(acquire(key_, "a"));
}

TEST_F(SqliteMissingDatabase, candidatesOfOneProcessWaitForEachOther) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  const RecordVersion version = store->record(key_).version;
  deleteDatabase();
  EXPECT_TRUE(contains(rejectionOf(store).message, "another candidate of this process"));
  EXPECT_TRUE(isConflictWith(store->write(renew(key_, "a", {version})), std::nullopt));
  store->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, storesOfOneProcessWaitForEachOther) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(rejectionOf(newcomer).message, "a lease of 10000 ms"));
}

TEST_F(SqliteMissingDatabase, aStoreThatEndsWithAnOpenTermIsWaitedForUntilItsProcessEnds) {
  {
    Store holder{path_};
    holder->apply(acquire(key_, "a"));
  }
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(rejectionOf(newcomer).message, "a lease of 10000 ms"));
}

TEST_F(SqliteMissingDatabase, aStoreThatGaveItsTermsUpIsNotWaitedFor) {
  {
    Store holder{path_};
    holder->apply(acquire(key_, "a"));
    holder->apply(release(key_, "a", {holder->record(key_).version}));
  }
  deleteDatabase();
  Store newcomer{path_};
  newcomer->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, anEmptyFileOrDroppedTablesAreAsNone) {
  Actor holder{path_};
  lead(holder, milliseconds{60'000});
  Store newcomer{path_};
  const auto isRefused = [&](const std::string& why) {
    EXPECT_TRUE(contains(errorOf(newcomer->write(acquire(key_, "b"))).message, "a lease of 60000 ms")) << why;
    EXPECT_EQ(newcomer->read(key_), std::nullopt) << why;
  };
  Shell{path_}.run("DROP TABLE tenure_fence");
  static_cast<void>(newcomer->startRead(key_)->get());  // a session that had the file open gets an error, once
  isRefused("no counters");
  Shell{path_}.run("DROP TABLE tenure_lease; DROP TABLE tenure_meta");
  isRefused("no tables");
  deleteDatabase();
  std::ofstream{path_} << "";
  isRefused("an empty file");
  holder.kill();
  newcomer->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, anyDroppedTableIsMadeAgain) {
  for (const std::string table : {"tenure_lease", "tenure_fence", "tenure_meta"}) {
    Store store{path_};
    const auto seen = store->read(key_);
    const auto expected = seen ? std::vector{seen->version} : std::vector<RecordVersion>{};
    WriteRequest first = acquire(key_, "a", expected);
    first.record.leaseDuration = milliseconds{100};  // the next acquisition waits for it
    const FencingToken before = store->apply(std::move(first)).token;
    store->apply(release(key_, "a", {store->record(key_).version}));
    Shell{path_}.run("DROP TABLE " + table);
    Store next{path_};
    EXPECT_TRUE(eventually([&] {
      const auto now = next->read(key_);
      WriteRequest again = acquire(key_, "b", now ? std::vector{now->version} : std::vector<RecordVersion>{});
      again.record.leaseDuration = milliseconds{100};
      return std::holds_alternative<Applied>(next->write(std::move(again)));
    })) << table;
    const FencingToken least = table == "tenure_fence" ? FencingToken{1} : before;
    EXPECT_GE(next->record(key_).token, least) << table;
    next->apply(release(key_, "b", {next->record(key_).version}));
  }
}

TEST_F(SqliteMissingDatabase, aLivingLivenessFileThatDoesNotSayHowLongIsARejection) {
  for (const std::string& text :
       {strangersId_ + '\n', std::string{}, strangersId_ + "\nlongest_lease_ms 000000000009 00000000",
        strangersId_ + "\nlongest_lease_ms 000000000009 000000000008\n",
        strangersId_ + "\nlongest_lease_ms 00000000000x 00000000000x\n"}) {
    const UniqueFd older = livingLivenessFile(text);
    Store store{path_};
    const std::string message = rejectionOf(store).message;
    EXPECT_TRUE(contains(message, "beacon-" + strangersId_)) << message;
    EXPECT_TRUE(contains(message, "End the processes of the older release")) << message;
  }
  Store store{path_};
  store->apply(acquire(key_, "b"));  // unlocked now
}

TEST_F(SqliteMissingDatabase, aLivenessFileThatCannotBeLookedAtIsAnErrorAndNotADeadOne) {
  const UniqueFd living = livingLivenessFile(strangersId_ + "\nlongest_lease_ms 000000000000 000000000000\n");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0777});
  std::filesystem::permissions(sidecarOf(path_) + "/beacon-" + strangersId_, std::filesystem::perms{0600});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease b"), "rejected");
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, "Permission denied")) << message;
  EXPECT_TRUE(contains(message, "beacon-" + strangersId_)) << message;
  std::filesystem::permissions(sidecarOf(path_) + "/beacon-" + strangersId_, std::filesystem::perms{0644});
  EXPECT_TRUE(contains(actor.ask("acquire lease b"), "applied")) << actor.ask("error");
}

// The directory's contents cannot be listed: that must not mean "no liveness files".
TEST_F(SqliteMissingDatabase, aSidecarThatCannotBeReadIsAnError) {
  std::filesystem::create_directories(sidecarOf(path_));
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0333});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease b"), "rejected");
  EXPECT_TRUE(contains(actor.ask("error"), "Permission denied")) << actor.ask("error");
}

TEST_F(SqliteMissingDatabase, oneThatCameAndWentBetweenTwoLooksBeginsTheWaitAnew) {
  Actor first{path_};
  lead(first, milliseconds{2500});
  deleteDatabase();
  Store slow{path_};
  const auto begin = steady_clock::now();
  static_cast<void>(rejectionOf(slow));
  // Another process is quicker and leads, and its database is deleted as well; the slow one notices none of this.
  Actor quick{path_};
  ASSERT_EQ(quick.ask("lease 2500"), "ok");
  ASSERT_TRUE(eventually([&] { return contains(quick.ask("acquire lease c"), "applied"); }));
  const auto led = steady_clock::now();
  ASSERT_GT(led - begin, milliseconds{2400});
  deleteDatabase();
  EXPECT_TRUE(contains(rejectionOf(slow).message, "there is no database")) << "the quick one leads";
  tryUntilApplied(slow, "b");
  EXPECT_GT(steady_clock::now() - led, milliseconds{2500});
}

}  // namespace
}  // namespace tenure::sqlite_test
