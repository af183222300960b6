// Holders, newcomers and an operator who deletes the database again and again: there are never two beliefs at once. A
// belief begins with the answer to the acquisition. It ends with the lease of the last write that was applied, counted
// from before it was sent, or when its holder gives up or learns of the end.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class SqliteMissingDatabaseRace : public testing::Test {
 protected:
  static constexpr milliseconds lease{40};
  using Moment = steady_clock::time_point;
  struct Belief {
    Moment begin, end;
  };

  /// For contenders of one process. Between processes SQLite's lock on the -shm file keeps a newcomer from truncating
  /// the file while others have it mapped; within one process it does not. And a file that is removed after the
  /// database may belong to the next database, which nobody here would repair. So the database is removed last.
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

  /// The record, vanished or not, has not changed during its lease.
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

  int lost() {
    const std::lock_guard lock{mutex_};
    return lost_;
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
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
  // The number of terms depends on the time of an fsync here: 2 ms, or 200 ms on a busy disk.
  static_cast<void>(eventually(
      [&] {
        if (terms() >= next) {
          deleteDatabaseOfThisProcess();
          next = terms() + 1 + static_cast<int>(random.below(3));
        }
        return terms() >= 100 && lost() >= 2;
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
