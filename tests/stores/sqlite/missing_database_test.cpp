// A database that is deleted as a whole under a living holder: another is made once no lease in it can be held any
// more.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <sys/file.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/death_notice.hpp>

#include "actor.hpp"
#include "beacon_file.hpp"
#include "sqlite_support.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"
#include "unique_fd.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class SqliteMissingDatabase : public testing::Test {
 protected:
  /// In the order of `rm NAME*`.
  void deleteDatabase() const {
    for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::remove(path_ + suffix);
  }

  /// A holder in another process, of a lease of this length.
  void lead(Actor& actor, milliseconds lease) {
    ASSERT_EQ(actor.ask("lease " + std::to_string(lease.count())), "ok");
    const std::string answer = actor.ask("acquire lease a");
    ASSERT_TRUE(contains(answer, "applied ")) << answer << actor.ask("error");
  }

  /// The refusal of an acquisition for want of a database.
  StoreError refusal(Store& store) {
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

  /// A locked file of a beacon's name with this text.
  [[nodiscard]] sqlite_store::UniqueFd livingBeacon(const std::string& text) const {
    std::filesystem::create_directories(sidecarOf(path_));
    const std::string file = sidecarOf(path_) + "/beacon-" + strangersId_;
    std::ofstream{file} << text;
    sqlite_store::UniqueFd fd{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
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
  const StoreError error = refusal(newcomer);
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
  EXPECT_TRUE(contains(refusal(newcomer).message, "a lease of 60000 ms")) << "it never becomes shorter";
}

TEST_F(SqliteMissingDatabase, aFrozenHolderIsWaitedForAndADeadOneIsNot) {
  Actor holder{path_};
  lead(holder, milliseconds{60'000});
  holder.stop();
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(refusal(newcomer).message, "which is stopped"));
  holder.kill();
  newcomer->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, nobodyWaitsForHisOwnTermNorForThoseWhoNeverLed) {
  Actor candidate{path_};
  ASSERT_EQ(candidate.ask("beacon"), "ok");
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
  EXPECT_TRUE(contains(refusal(store).message, "another candidate of this process"));
  EXPECT_TRUE(isConflictWith(store->write(renew(key_, "a", {version})), std::nullopt));
  store->apply(acquire(key_, "b"));
}

TEST_F(SqliteMissingDatabase, storesOfOneProcessWaitForEachOther) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(refusal(newcomer).message, "a lease of 10000 ms"));
}

TEST_F(SqliteMissingDatabase, aStoreThatEndsWithAnOpenTermIsWaitedForUntilItsProcessEnds) {
  {
    Store holder{path_};
    holder->apply(acquire(key_, "a"));
  }
  deleteDatabase();
  Store newcomer{path_};
  EXPECT_TRUE(contains(refusal(newcomer).message, "a lease of 10000 ms"));
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
  static_cast<void>(newcomer->startRead(key_)->get());  // a session that had it open is told by an error, once
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
    first.record.leaseDuration = milliseconds{100};  // which the next one waits for
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

TEST_F(SqliteMissingDatabase, aLivingBeaconThatDoesNotSayHowLongIsARefusal) {
  for (const std::string& text :
       {strangersId_ + '\n', std::string{}, strangersId_ + "\nlongest_lease_ms 000000000009 00000000",
        strangersId_ + "\nlongest_lease_ms 000000000009 000000000008\n",
        strangersId_ + "\nlongest_lease_ms 00000000000x 00000000000x\n"}) {
    const sqlite_store::UniqueFd older = livingBeacon(text);
    Store store{path_};
    const std::string message = refusal(store).message;
    EXPECT_TRUE(contains(message, "beacon-" + strangersId_)) << message;
    EXPECT_TRUE(contains(message, "End the processes of the older release")) << message;
  }
  Store store{path_};
  store->apply(acquire(key_, "b"));  // unlocked now
}

TEST_F(SqliteMissingDatabase, aBeaconThatCannotBeLookedAtIsAnErrorAndNotADeadOne) {
  const sqlite_store::UniqueFd living = livingBeacon(strangersId_ + "\nlongest_lease_ms 000000000000 000000000000\n");
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

// What is in the directory cannot be listed: that must not read as "no beacons".
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
  static_cast<void>(refusal(slow));
  // Another one is quicker, leads, and its database is deleted as well, all behind the slow one's back.
  Actor quick{path_};
  ASSERT_EQ(quick.ask("lease 2500"), "ok");
  ASSERT_TRUE(eventually([&] { return contains(quick.ask("acquire lease c"), "applied"); }));
  const auto led = steady_clock::now();
  ASSERT_GT(led - begin, milliseconds{2400});
  deleteDatabase();
  EXPECT_TRUE(contains(refusal(slow).message, "there is no database")) << "the quick one leads";
  tryUntilApplied(slow, "b");
  EXPECT_GT(steady_clock::now() - led, milliseconds{2500});
}

// Holders, newcomers and an operator who deletes the database again and again: no two believe at once. A belief begins
// with the answer to the acquisition and ends with the lease of the last write that was applied, counted from before it
// was sent, or when its holder gives up or is told.
class SqliteMissingDatabaseRace : public SqliteMissingDatabase {
 protected:
  static constexpr milliseconds lease{40};
  using Moment = steady_clock::time_point;
  struct Belief {
    Moment begin, end;
  };

  /// The same under contenders of one process. Between processes SQLite's lock on the -shm file keeps a newcomer from
  /// truncating it under those who have it mapped; within one it does not. And what is removed after the database may
  /// be the next one's, which nobody would repair here. So the database goes last.
  void deleteDatabaseOfThisProcess() const {
    for (const char* suffix : {"-shm", "-wal", ""}) std::filesystem::remove(path_ + suffix);
  }

  void contend(std::uint64_t seed) {
    test::SeededRandom random{seed};
    Store store{path_};
    const std::string name = "contender" + std::to_string(seed);
    while (!over_) {
      const ReadOutcome seen = store->startRead(key_)->get();
      if (seen.has_error()) continue;
      const bool free = !*seen || (*seen)->released;
      if (!free && !isOver(store, **seen)) continue;
      hold(store, name, *seen ? std::vector{(*seen)->version} : std::vector<RecordVersion>{}, random);
    }
  }

  /// The record, vanished or not, did not change for its lease.
  bool isOver(Store& store, const LeaseRecord& seen) {
    const Moment until = steady_clock::now() + seen.leaseDuration;
    while (!over_) {
      const ReadOutcome now = store->startRead(key_)->get();
      if (now.has_error() || !*now || (*now)->version != seen.version) return false;
      if (steady_clock::now() >= until) return true;
    }
    return false;
  }

  WriteOutcome write(Store& store, WriteRequest request, Moment& sent) {
    request.record.leaseDuration = lease;
    sent = steady_clock::now();
    return store->write(std::move(request));
  }

  void hold(Store& store, const std::string& name, std::vector<RecordVersion> expected, test::SeededRandom& random) {
    WriteRequest attempt = acquire(key_, name, std::move(expected));
    RecordVersion version = attempt.record.version;
    Moment sent;
    if (!std::holds_alternative<Applied>(write(store, std::move(attempt), sent))) return;
    Belief belief{steady_clock::now(), sent + lease};
    for (std::uint64_t left = random.below(8); left > 0 && steady_clock::now() < belief.end; --left) {
      WriteRequest renewal = renew(key_, name, {version});
      const RecordVersion next = renewal.record.version;
      const WriteOutcome outcome = write(store, std::move(renewal), sent);
      if (std::holds_alternative<Conflict>(outcome)) return note(belief, steady_clock::now(), lost_);
      if (!std::holds_alternative<Applied>(outcome) || steady_clock::now() >= belief.end) break;
      belief.end = sent + lease;
      version = next;
    }
    note(belief, steady_clock::now(), kept_);
    static_cast<void>(write(store, release(key_, name, {version}), sent));
  }

  void note(Belief belief, Moment now, int& count) {
    belief.end = std::min(belief.end, now);
    const std::lock_guard lock{mutex_};
    ++count;
    if (belief.begin < belief.end) beliefs_.push_back(belief);
  }

  int terms() {
    const std::lock_guard lock{mutex_};
    return lost_ + kept_;
  }

  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<Belief> beliefs_;  // guarded by mutex_, as the next two
  int lost_{0}, kept_{0};
};

TEST_F(SqliteMissingDatabaseRace, noTwoBelieveAtOnce) {
  std::vector<std::thread> contenders;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) contenders.emplace_back([this, seed] { contend(seed); });
  test::SeededRandom random{99};
  int next = 1;
  // How many terms fit depends on what an fsync costs here: 2 ms, or 200 on a busy disk.
  static_cast<void>(eventually(
      [&] {
        if (terms() >= next) {
          deleteDatabaseOfThisProcess();
          next = terms() + 1 + static_cast<int>(random.below(3));
        }
        return terms() >= 100;
      },
      std::chrono::seconds{40}));
  over_ = true;
  for (std::thread& contender : contenders) contender.join();
  EXPECT_GE(terms(), 10);
  EXPECT_GE(lost_, 2);
  std::sort(beliefs_.begin(), beliefs_.end(), [](const Belief& a, const Belief& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < beliefs_.size(); ++i) {
    EXPECT_LE(beliefs_[i - 1].end, beliefs_[i].begin) << "belief " << i << " of " << beliefs_.size();
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
