// A database that is deleted under a living holder: whoever finds it gone has to wait for the holder's lease.
#include "claims.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/death_notice.hpp>

#include "actor.hpp"
#include "names_read.hpp"
#include "sidecar.hpp"
#include "sqlite_support.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

void deleteDatabase(const std::string& path) {
  for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::remove(path + suffix);  // the order of `rm NAME*`
}

/// The same under contenders of one process. Between processes SQLite's lock on the -shm file keeps a newcomer from
/// truncating it under those who have it mapped; within one it does not. And what is removed after the database may
/// be the next one's, which nobody would repair here. So the database goes last.
void deleteDatabaseOfThisProcess(const std::string& path) {
  for (const char* suffix : {"-shm", "-wal", ""}) std::filesystem::remove(path + suffix);
}

class SqliteClaims : public testing::Test {
 protected:
  [[nodiscard]] std::size_t claims() const { return claimFilesOf(path_).size(); }

  /// The record of whom a conflict tells.
  static LeaseRecord rival(const WriteOutcome& outcome) {
    const auto* conflict = std::get_if<Conflict>(&outcome);
    EXPECT_TRUE(conflict != nullptr && conflict->current && *conflict->current) << describe(outcome);
    return conflict != nullptr && conflict->current && *conflict->current ? **conflict->current : LeaseRecord{};
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
};

TEST_F(SqliteClaims, aNewcomerSeesTheLivingHolderInAFreshDatabase) {
  Store holder{path_};
  WriteRequest first = acquire(key_, "a");
  first.tokenFloor = FencingToken{6};
  first.record.leaseDuration = std::chrono::milliseconds{4321};
  ASSERT_EQ(holder->apply(std::move(first)).token, FencingToken{7});
  deleteDatabase(path_);

  Store newcomer{path_};
  const LeaseRecord seen = newcomer->record(key_);
  EXPECT_EQ(seen.holder, "a");
  EXPECT_EQ(seen.token, FencingToken{7});
  EXPECT_EQ(seen.leaseDuration, std::chrono::milliseconds{4321});
  EXPECT_FALSE(seen.released);
  EXPECT_EQ(rival(newcomer->write(acquire(key_, "b"))), seen);
  EXPECT_EQ(newcomer->read({"another"}), std::nullopt) << "other leases are free";
  EXPECT_EQ(newcomer->record(key_), seen) << "the version does not change while nothing happens";

  // The wait is over (that is the machine's business); the claim's token is a floor for the new one.
  EXPECT_EQ(newcomer->apply(acquire(key_, "b", {seen.version})).token, FencingToken{8});
  EXPECT_EQ(rival(holder->write(renew(key_, "a", {newVersion()}))).holder, "b");
  EXPECT_EQ(claims(), 1U) << "the loser's claim is gone";
}

TEST_F(SqliteClaims, aHolderThatNoticedIsNotWaitedFor) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  const RecordVersion version = holder->record(key_).version;
  deleteDatabase(path_);
  EXPECT_TRUE(isConflictWith(holder->write(renew(key_, "a", {version})), std::nullopt));
  Store newcomer{path_};
  EXPECT_EQ(newcomer->read(key_), std::nullopt);
  newcomer->apply(acquire(key_, "b"));
}

TEST_F(SqliteClaims, aHolderThatIsDeadIsNotWaitedFor) {
  Actor holder{path_};
  ASSERT_TRUE(contains(holder.ask("acquire lease a"), "applied 1 "));
  deleteDatabase(path_);
  Store newcomer{path_};
  const LeaseRecord seen = newcomer->record(key_);
  EXPECT_EQ(seen.holder, "a");
  holder.kill();
  EXPECT_EQ(newcomer->read(key_), std::nullopt);
  EXPECT_EQ(newcomer->apply(acquire(key_, "b", {seen.version})).token, FencingToken{2}) << "its token still counts";
}

TEST_F(SqliteClaims, aFrozenHolderIsWaitedFor) {
  Actor holder{path_};
  ASSERT_TRUE(contains(holder.ask("acquire lease a"), "applied 1 "));
  holder.stop();
  deleteDatabase(path_);
  Store newcomer{path_};
  EXPECT_EQ(newcomer->record(key_).holder, "a");
  EXPECT_EQ(rival(newcomer->write(acquire(key_, "b"))).holder, "a");
}

TEST_F(SqliteClaims, endWithTheRelease) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  EXPECT_EQ(claims(), 1U);
  holder->apply(release(key_, "a", {holder->record(key_).version}));
  EXPECT_EQ(claims(), 0U);
  deleteDatabase(path_);
  Store newcomer{path_};
  EXPECT_EQ(newcomer->read(key_), std::nullopt);
}

TEST_F(SqliteClaims, countForNothingOnceARowIsNewer) {
  Actor frozen{path_};
  ASSERT_TRUE(contains(frozen.ask("acquire lease a"), "applied 1 "));
  frozen.stop();
  Store successor{path_};
  successor->apply(acquire(key_, "b", {successor->record(key_).version}));
  successor->apply(release(key_, "b", {successor->record(key_).version}));
  EXPECT_EQ(claims(), 1U) << "the frozen one's is still there";
  Store next{path_};
  EXPECT_TRUE(next->record(key_).released);
  EXPECT_EQ(next->apply(acquire(key_, "c", {next->record(key_).version})).token, FencingToken{3});
}

// A holder that was paused is not told of its end by the store, but sees its successor when it reads. Were the claim to
// stay, whoever finds the row deleted later would wait for a term that has long been over.
TEST_F(SqliteClaims, endWhenTheHolderSeesALaterTerm) {
  Store paused{path_};
  paused->apply(acquire(key_, "a"));
  EXPECT_EQ(paused->record(key_).holder, "a");
  EXPECT_EQ(claims(), 1U) << "its own term does not end it";
  Store successor{path_};
  successor->apply(acquire(key_, "b", {successor->record(key_).version}));
  EXPECT_EQ(claims(), 2U);
  EXPECT_EQ(paused->record(key_).holder, "b");
  EXPECT_EQ(claims(), 1U);
  paused->apply(acquire(key_, "a", {paused->record(key_).version}));
  EXPECT_EQ(paused->record(key_).token, FencingToken{3});
  EXPECT_EQ(claims(), 2U) << "that of the new term stays, and the successor has not looked yet";
}

// The claim stands in for the record, so it must not tell of a shorter lease than the record did.
TEST_F(SqliteClaims, growWithALongerLeaseAndNeverShrink) {
  using std::chrono::milliseconds;
  Store holder{path_};
  WriteRequest first = acquire(key_, "a");
  first.record.leaseDuration = milliseconds{1000};
  RecordVersion version = first.record.version;
  holder->apply(std::move(first));
  const auto renewWith = [&](milliseconds lease) {
    WriteRequest renewal = renew(key_, "a", {version});
    renewal.record.leaseDuration = lease;
    version = renewal.record.version;
    holder->apply(std::move(renewal));
  };
  renewWith(milliseconds{60'000});
  renewWith(milliseconds{500});
  EXPECT_EQ(claims(), 1U);
  deleteDatabase(path_);
  Store newcomer{path_};
  const LeaseRecord seen = newcomer->record(key_);
  EXPECT_EQ(seen.leaseDuration, milliseconds{60'000}) << "the last renewal might not have arrived";
  EXPECT_EQ(seen.token, FencingToken{1});
  EXPECT_EQ(rival(newcomer->write(acquire(key_, "b"))), seen);
  EXPECT_EQ(holder->record(key_), seen) << "it is still a settled one";
}

// Or thousands of leases of one process could not be acquired in the time of one.
TEST_F(SqliteClaims, anAcquisitionReadsFewNamesHoweverManyClaimsThereAre) {
  constexpr int leases = 300;
  Store store{path_};
  std::vector<contract::Pending<WriteOutcome>> acquisitions;
  for (int i = 0; i < leases; ++i) {
    acquisitions.push_back(store->startWrite(acquire({"lease" + std::to_string(i)}, "a")));
  }
  for (const auto& acquisition : acquisitions) {
    ASSERT_TRUE(std::holds_alternative<Applied>(acquisition->get())) << describe(acquisition->get());
  }
  ASSERT_EQ(claims(), std::size_t{leases});

  constexpr int more = 50;
  Store another{path_};
  another->apply(acquire({"first"}, "b"));  // what a store object does once, the sweep among it
  EXPECT_TRUE(eventually([&] { return another->read({"first"}).has_value(); }));
  const std::uint64_t before = namesRead();
  for (int i = 0; i < more; ++i) {
    const LeaseKey key{"more" + std::to_string(i)};
    EXPECT_EQ(another->read(key), std::nullopt);
    another->apply(acquire(key, "b"));
  }
  const std::uint64_t each = (namesRead() - before) / more;
  EXPECT_GT(each, 0U) << "the count is blind";
  EXPECT_LT(each, std::uint64_t{leases} / 10);
}

// A backup was put back: its row is older than the term that somebody holds.
TEST_F(SqliteClaims, countMoreThanAnOlderReleasedRow) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  holder->apply(release(key_, "a", {holder->record(key_).version}));
  Shell{path_}.run("VACUUM INTO '" + directory_.file("backup.db") + "'");
  holder->apply(acquire(key_, "a", {holder->record(key_).version}));
  deleteDatabase(path_);
  std::filesystem::rename(directory_.file("backup.db"), path_);

  Store newcomer{path_};
  const LeaseRecord seen = newcomer->record(key_);
  EXPECT_FALSE(seen.released);
  EXPECT_EQ(seen.token, FencingToken{2});
  const RecordVersion inRow{Shell{path_}.value("SELECT record_version FROM tenure_lease")};
  EXPECT_EQ(rival(newcomer->write(acquire(key_, "b", {inRow}))), seen);
  EXPECT_EQ(newcomer->apply(acquire(key_, "b", {seen.version})).token, FencingToken{3});
}

TEST_F(SqliteClaims, candidatesOfOneProcessWaitForEachOther) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  const RecordVersion version = store->record(key_).version;
  deleteDatabase(path_);
  EXPECT_EQ(store->record(key_).holder, "a");
  EXPECT_EQ(rival(store->write(acquire(key_, "b"))).holder, "a");
  EXPECT_TRUE(isConflictWith(store->write(renew(key_, "a", {version})), std::nullopt));
  store->apply(acquire(key_, "b"));
}

TEST_F(SqliteClaims, newcomersDoNotBlockEachOther) {
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    const LeaseKey key{"lease" + std::to_string(round)};
    std::vector<std::unique_ptr<Store>> stores;
    for (int i = 0; i < 4; ++i) stores.push_back(std::make_unique<Store>(path_));
    std::vector<contract::Pending<WriteOutcome>> races;
    for (const auto& store : stores) races.push_back((*store)->startWrite(acquire(key, "holder")));
    int won = 0;
    for (const auto& race : races) won += std::holds_alternative<Applied>(race->get()) ? 1 : 0;
    EXPECT_EQ(won, 1);
    EXPECT_EQ(claims(), 1U) << "those who lost have left no claim";
    deleteDatabase(path_);
    stores.clear();  // with a claim that is still open: its beacon stays locked, so the next round takes another lease
    std::filesystem::remove_all(sidecarOf(path_));
  }
}

// The process of the beacon lives, but what the file says is not a claim to this lease.
TEST_F(SqliteClaims, areReadWithCare) {
  Store living{path_};
  const std::string id = living.raw().deathNotice()->beacon().value().id;
  const std::string directory = sqlite_store::claimsBucket(sidecarOf(path_), key_) + '/';
  const std::string file = directory + sqlite_store::fileNameOf(key_) + '-' + id;
  std::filesystem::create_directories(directory);
  const auto claim = [&](const std::string& name, const std::string& token, const std::string& lease) {
    return R"({"name":")" + name + R"(","sort_key":"","holder":"x","token":")" + token + R"(","lease_ms":")" + lease +
           "\"}\n";
  };
  Store newcomer{path_};
  std::ofstream{file} << claim("lease", "3", "1000");
  ASSERT_EQ(newcomer->record(key_).token, FencingToken{3}) << "one that is as it should be";
  std::ofstream{file} << claim("lease", "3", "1000") << "what was there before";
  EXPECT_EQ(newcomer->record(key_).token, FencingToken{3}) << "only the first line counts";
  const std::string half = claim("lease", "3", "1000").substr(0, claim("lease", "3", "1000").size() - 1);
  for (const std::string& text :
       {std::string{}, std::string{"x\n"}, std::string{"{}\n"}, half, '-' + half.substr(1) + '\n',
        claim("another", "3", "1000"), claim("lease", "0", "1000"), claim("lease", "-1", "1000"),
        claim("lease", "3", "0"), claim("lease", "3", "604800001"), claim("lease", "x", "1"),
        claim("lease", "9223372036854775808", "1000")}) {
    std::ofstream{file} << text;
    EXPECT_EQ(newcomer->read(key_), std::nullopt) << text;
  }
  std::ofstream{file} << claim("lease", "3", "1000");
  std::filesystem::rename(file, directory + sqlite_store::fileNameOf(key_) + "-" + std::string(32, '0'));
  EXPECT_EQ(newcomer->read(key_), std::nullopt) << "nobody has that beacon";
}

// Holders, newcomers and an operator who deletes the database again and again: two never hold the lease at once.
//
// A contender marks the lease as its own from the answer to a write that was applied until it sends its next write. If
// two ever held it at once, one of them would find the other's mark.
class SqliteClaimsRace : public SqliteClaims {
 protected:
  void contend(std::uint64_t seed) {
    test::SeededRandom random{seed};
    Store store{path_};
    const std::string name = "contender" + std::to_string(seed);
    while (!over_) {
      const ReadOutcome seen = store->startRead(key_)->get();
      if (seen.has_error()) continue;
      const bool free = !*seen || (*seen)->released;
      if (!free) continue;
      WriteRequest attempt = acquire(key_, name, *seen ? std::vector{(*seen)->version} : std::vector<RecordVersion>{});
      RecordVersion version = attempt.record.version;
      if (!std::holds_alternative<Applied>(store->write(std::move(attempt)))) continue;
      hold(store, name, version, random);
    }
  }

  void hold(Store& store, const std::string& name, RecordVersion version, test::SeededRandom& random) {
    ++terms_;
    mark();
    for (std::uint64_t left = random.below(8); left > 0; --left) {
      unmark();
      WriteRequest renewal = renew(key_, name, {version});
      const RecordVersion next = renewal.record.version;
      const WriteOutcome outcome = store->write(std::move(renewal));
      if (std::holds_alternative<Conflict>(outcome)) return void(++lost_);
      // Deleting the files one after the other may look like anything in between. The holder goes on as holder until
      // its lease is over; here it simply tries again.
      if (std::holds_alternative<Applied>(outcome)) version = next;
      mark();
    }
    unmark();
    giveUp(store, name, version);
  }

  void giveUp(Store& store, const std::string& name, const RecordVersion& version) {
    for (;;) {
      const WriteOutcome outcome = store->write(release(key_, name, {version}));
      if (std::holds_alternative<Applied>(outcome) || std::holds_alternative<Conflict>(outcome)) return;
    }
  }

  void mark() {
    if (holders_.fetch_add(1) != 0) ++violations_;
  }
  void unmark() { --holders_; }

  std::atomic<bool> over_{false};
  std::atomic<int> holders_{0}, violations_{0}, terms_{0}, lost_{0};
};

TEST_F(SqliteClaimsRace, twoNeverHoldTheLeaseAtOnce) {
  std::vector<std::thread> contenders;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) contenders.emplace_back([this, seed] { contend(seed); });
  test::SeededRandom random{99};
  int next = 1;
  // How many terms fit depends on what an fsync costs here: 2 ms, or 200 on a busy disk, which leaves some 36.
  static_cast<void>(eventually(
      [&] {
        if (terms_ >= next) {
          deleteDatabaseOfThisProcess(path_);
          next = terms_ + static_cast<int>(random.below(3));
        }
        return terms_ >= 150 && lost_ >= 20;
      },
      std::chrono::seconds{60}));
  // Deletions hit whatever phase a contender is in; there must have been several terms, and lost ones among them.
  EXPECT_GE(terms_, 12);
  EXPECT_GE(lost_, 4);
  over_ = true;
  for (std::thread& contender : contenders) contender.join();
  EXPECT_EQ(violations_, 0) << "in " << terms_ << " terms, " << lost_ << " of them lost to the deletion";
}

}  // namespace
}  // namespace tenure::sqlite_test
