// Two processes race with rising and stale tokens, and are killed in the middle.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <poll.h>

#include <tenure/lockcore/clock.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/contract/writer_process.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

std::uint64_t writesWanted(const FenceUnderTest& fence) {
  const char* wanted = std::getenv("TENURE_FENCE_RACE_WRITES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : fence.raceWrites;
}

std::vector<std::string> linesOf(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Race {
 public:
  explicit Race(const FenceUnderTest& fence) : fence_{fence}, resource_{fence.make()} {}

  [[nodiscard]] std::unique_ptr<WriterProcess> start(const std::string& holder) {
    return WriterProcess::racing(fence_, resource_->address(), holder, boardFile_, acks_);
  }
  /// False if nothing has happened for a minute.
  [[nodiscard]] bool waitForAttempts(std::uint64_t wanted) const {
    std::uint64_t before = board_->attempts;
    for (Instant since = readClock(); board_->attempts < wanted;) {
      if (board_->attempts != before) since = readClock();
      before = board_->attempts;
      if (elapsedForChallenger(since, readClock()) > 60s) return false;
      poll(nullptr, 0, 1);
    }
    return true;
  }
  [[nodiscard]] RaceBoard& board() const noexcept { return *board_; }
  [[nodiscard]] std::vector<FencedEntry> entries() { return resource_->entries(); }
  [[nodiscard]] std::vector<std::string> acknowledged() const { return linesOf(acks_); }

 private:
  const FenceUnderTest& fence_;
  const test::TempDir directory_;
  const std::string boardFile_ = directory_.file("board");
  const std::string acks_ = directory_.file("acknowledged");
  const SharedBoard board_{boardFile_};
  std::unique_ptr<FencedResource> resource_;
};

/// Totals over all races of one test.
struct Sums {
  std::uint64_t races{0}, writes{0}, accepted{0}, stale{0}, errors{0}, kills{0}, entries{0};

  void add(const RaceBoard& board, std::uint64_t killed, std::size_t found) {
    ++races;
    writes += board.attempts;
    accepted += board.accepted;
    stale += board.stale;
    errors += board.errors;
    kills += killed;
    entries += found;
  }
};

/// Two writers. Now and then one of them is killed and started again. Returns the number of kills.
std::uint64_t runWriters(Race& race, std::uint64_t writes, test::SeededRandom& random) {
  const std::uint64_t kills = std::clamp<std::uint64_t>(writes / 250, 4, 200);
  race.board().limit = writes;
  std::unique_ptr<WriterProcess> writers[] = {race.start("a-0"), race.start("b-0")};
  for (std::uint64_t round = 1; round <= kills; ++round) {
    const std::uint64_t until = round * writes / (kills + 1) + random.below(writes / (kills + 1) / 2 + 1);
    EXPECT_TRUE(race.waitForAttempts(until)) << "round " << round;
    const std::size_t victim = random.below(2);
    EXPECT_TRUE(writers[victim]->kill()) << "round " << round << ": the writer ended by itself";
    if (round % 20 == 1) {
      EXPECT_EQ(faultsOf(race.entries()), std::vector<std::string>{}) << "round " << round;
    }
    if (testing::Test::HasFailure()) return round;
    writers[victim] = race.start((victim == 0 ? "a-" : "b-") + std::to_string(round));
  }
  for (auto& writer : writers) EXPECT_TRUE(writer->waitForEnd());
  return kills;
}

/// One race on its own resource, from the first writer to the judge's verdict.
void runRace(const FenceUnderTest& fence, std::uint64_t writes, test::SeededRandom& random, Sums& sums) {
  Race race{fence};
  const std::uint64_t kills = runWriters(race, writes, random);
  const std::vector<FencedEntry> entries = race.entries();
  EXPECT_EQ(faultsOf(entries), std::vector<std::string>{});
  EXPECT_EQ(lostOf(race.acknowledged(), entries), std::vector<std::string>{});
  const RaceBoard& board = race.board();
  EXPECT_GT(board.stale, 0U) << "the processes never met";
  EXPECT_GE(entries.size(), board.accepted) << "more were acknowledged than are there";
  EXPECT_LE(entries.size(), board.attempts);
  EXPECT_GT(board.accepted, writes / 20) << board.stale << " stale, " << board.errors << " errors";
  sums.add(board, kills, entries.size());
}

TEST_P(FenceRaceContract, noStaleWriteIsAcceptedWhenProcessesRaceAndAreKilled) {
  const std::uint64_t wanted = writesWanted(GetParam());
  test::SeededRandom random{20261121};
  Sums sums;
  for (std::uint64_t left = wanted; left > 0 && !HasFailure();) {
    const std::uint64_t writes = std::min(left, GetParam().writesOfOneRace);
    runRace(GetParam(), writes, random, sums);
    left -= writes;
    if (wanted > GetParam().writesOfOneRace) {  // a long run reports its progress
      std::cout << sums.races << " races, " << wanted - left << " of " << wanted << " writes: " << sums.accepted
                << " accepted, " << sums.stale << " stale refused, " << sums.kills << " kills" << std::endl;
    }
  }
  RecordProperty("races", std::to_string(sums.races));
  RecordProperty("writes", std::to_string(sums.writes));
  RecordProperty("accepted", std::to_string(sums.accepted));
  RecordProperty("entries", std::to_string(sums.entries));
  RecordProperty("stale", std::to_string(sums.stale));
  RecordProperty("errors", std::to_string(sums.errors));
  RecordProperty("kills", std::to_string(sums.kills));
}

}  // namespace
}  // namespace tenure::contract
