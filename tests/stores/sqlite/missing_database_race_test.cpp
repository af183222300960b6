// Holders, newcomers and an operator who deletes the database again and again: there are never two beliefs at once. A
// belief begins with the answer to the acquisition. It ends with the lease of the last write that was applied, counted
// from before it was sent, or when its holder gives up or learns of the end.
//
// The contenders are processes, because SQLite's lock on the -shm file keeps a newcomer from truncating a file that
// another process has mapped. Within one process it does not: POSIX locks of one process never conflict. There, two
// databases of the same path whose -shm file outlives one of them end in SIGBUS.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"
#include "sqlite_support.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Belief {
  steady_clock::time_point begin, end;
};

/// What the contenders tell, in memory that they share with the test.
class Account {
 public:
  void note(Belief belief, steady_clock::time_point now, std::atomic<int>& count) {
    belief.end = std::min(belief.end, now);
    if (belief.begin < belief.end) {
      const std::size_t place = noted_++;
      if (place < beliefs_.size()) beliefs_[place] = belief;
    }
    ++count;
  }

  [[nodiscard]] int terms() const { return lost + kept; }
  [[nodiscard]] bool isFull() const { return noted_ > beliefs_.size(); }

  /// After the contenders have ended.
  [[nodiscard]] std::vector<Belief> beliefsInOrder() const {
    std::vector<Belief> all{beliefs_.begin(), beliefs_.begin() + static_cast<std::ptrdiff_t>(noted_.load())};
    std::sort(all.begin(), all.end(), [](const Belief& a, const Belief& b) { return a.begin < b.begin; });
    return all;
  }

  std::atomic<bool> over{false};
  std::atomic<int> lost{0}, kept{0};
  std::atomic<int> renewals{0};

 private:
  std::atomic<std::size_t> noted_{0};
  std::array<Belief, 4096> beliefs_{};
};

class SqliteMissingDatabaseRace : public testing::Test {
 protected:
  using Moment = steady_clock::time_point;

  SqliteMissingDatabaseRace() {
    void* memory = mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    account_ = new (memory) Account;
    lease_ = leaseFor(longestRenewal());
  }
  ~SqliteMissingDatabaseRace() override { munmap(account_, sizeof(Account)); }

  /// On a busy disk a commit takes longer than a short lease, and nobody would ever renew.
  static milliseconds leaseFor(milliseconds renewal) { return std::max(8 * renewal, milliseconds{40}); }

  /// In a database of its own, by a child, because a process that has had a store cannot fork one that makes another.
  [[nodiscard]] milliseconds longestRenewal() const {
    const test::TempDir elsewhere;
    const int tookMs = test::inChild([&] {
      Store store{elsewhere.file("leases.db")};
      RecordVersion version = newVersion();
      std::chrono::nanoseconds longest{0};
      for (int i = 0; i < 6; ++i) {
        WriteRequest request = i == 0 ? acquire(key_, "probe") : renew(key_, "probe", {version});
        version = request.record.version;
        const Moment sent = steady_clock::now();
        static_cast<void>(store->write(std::move(request)));
        if (i > 0) longest = std::max<std::chrono::nanoseconds>(longest, steady_clock::now() - sent);
      }
      return static_cast<int>(std::min<std::int64_t>(std::chrono::ceil<milliseconds>(longest).count(), 125));
    });
    return milliseconds{tookMs};
  }

  /// An alarm ends a contender that hangs.
  pid_t startContender(std::uint64_t seed) {
    const pid_t child = fork();
    if (child != 0) return child;
    signal(SIGALRM, SIG_DFL);
    alarm(100);
    contend(seed);
    _exit(0);
  }

  /// A file that is removed after the database may belong to the next database, which nobody here would repair. So the
  /// database is removed last.
  void deleteDatabase() const {
    for (const char* suffix : {"-shm", "-wal", ""}) std::filesystem::remove(path_ + suffix);
  }

  void contend(std::uint64_t seed) {
    test::SeededRandom random{seed};
    Store store{path_};
    const std::string name = "contender" + std::to_string(seed);
    while (!account_->over) {
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
    while (!account_->over) {
      const ReadOutcome now = store->startRead(key_)->get();
      if (now.has_error() || !*now || (*now)->version != seen.version) return false;
      if (steady_clock::now() >= until) return true;
    }
    return false;
  }

  WriteOutcome write(Store& store, WriteRequest request, Moment& sent) {
    request.record.leaseDuration = lease_;
    sent = steady_clock::now();
    return store->write(std::move(request));
  }

  /// A holder that sleeps learns nothing, and believes until its lease is over.
  void pause(test::SeededRandom& random) const {
    if (random.below(3) > 0) return;
    const auto time = lease_ * static_cast<int>(random.below(100)) / 100;
    std::this_thread::sleep_for(time);  // lint-allow(sleep): a frozen holder is what this test is about
  }

  void hold(Store& store, const std::string& name, std::vector<RecordVersion> expected, test::SeededRandom& random) {
    WriteRequest attempt = acquire(key_, name, std::move(expected));
    RecordVersion version = attempt.record.version;
    Moment sent;
    if (!std::holds_alternative<Applied>(write(store, std::move(attempt), sent))) return;
    Belief belief{steady_clock::now(), sent + lease_};
    for (std::uint64_t left = random.below(8); left > 0 && steady_clock::now() < belief.end; --left) {
      pause(random);
      WriteRequest renewal = renew(key_, name, {version});
      const RecordVersion next = renewal.record.version;
      const WriteOutcome outcome = write(store, std::move(renewal), sent);
      if (std::holds_alternative<Conflict>(outcome)) {
        return account_->note(belief, steady_clock::now(), account_->lost);
      }
      if (!std::holds_alternative<Applied>(outcome) || steady_clock::now() >= belief.end) break;
      belief.end = sent + lease_;
      ++account_->renewals;
      version = next;
    }
    account_->note(belief, steady_clock::now(), account_->kept);
    static_cast<void>(write(store, release(key_, name, {version}), sent));
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
  Account* account_{nullptr};
  milliseconds lease_{};
};

TEST_F(SqliteMissingDatabaseRace, noTwoBelieveAtOnce) {
  std::vector<pid_t> contenders;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) contenders.push_back(startContender(seed));
  test::SeededRandom random{99};
  // A deletion right after a renewal finds somebody who leads.
  int next = 1;
  static_cast<void>(eventually(
      [&] {
        if (account_->renewals >= next) {
          deleteDatabase();
          next = account_->renewals + 1 + static_cast<int>(random.below(8));
        }
        return account_->terms() >= 100 && account_->lost >= 2;
      },
      std::chrono::seconds{40}));
  account_->over = true;
  for (const pid_t contender : contenders) {
    int status = 0;
    ASSERT_EQ(waitpid(contender, &status, 0), contender);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a contender ended with status " << status;
  }
  EXPECT_GE(account_->terms(), 10);
  EXPECT_GE(account_->lost, 2);
  ASSERT_FALSE(account_->isFull());
  const std::vector<Belief> beliefs = account_->beliefsInOrder();
  for (std::size_t i = 1; i < beliefs.size(); ++i) {
    EXPECT_LE(beliefs[i - 1].end, beliefs[i].begin) << "belief " << i << " of " << beliefs.size();
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
