// Many candidates that decide alone reach an even spread with the fewest moves, and keep it.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "election/fewest_moves.hpp"
#include "election/src/shard_balance.hpp"
#include "lockcore/port/random_draws.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds period = 500ms;
constexpr nanoseconds settle = 1s;
constexpr nanoseconds lease = 3s;

/// Candidates that look at one table of holders, each in its own rhythm. A shard that is given up becomes free a little
/// later, because its work has to end first. A dead candidate's shards become free when its lease is over.
class World {
 public:
  World(std::size_t shards, std::uint64_t seed) : random_{seed}, holders_(shards) {}

  void join(std::size_t maxLeases = ShardMember::unlimited, unsigned priority = 0) {
    const std::string id = "c" + std::to_string(100 + candidates_.size());
    candidates_.push_back({{id, maxLeases, priority}, ShardBalance{{id, settle, lease}}});
    candidates_.back().nextLook = now_ + below(period);
  }
  void crash(std::size_t which) {
    Candidate& dead = candidates_.at(which);
    dead.alive = false;
    dead.goneAt = now_ + lease;
    for (const std::size_t shard : dead.led) freeAt_[shard] = dead.goneAt;
    dead.led.clear();
  }
  void leave(std::size_t which) {
    Candidate& leaver = candidates_.at(which);
    leaver.alive = false;
    leaver.goneAt = now_;
    for (const std::size_t shard : leaver.led) freeAt_[shard] = now_ + below(200ms);
    leaver.led.clear();
  }
  /// Cut off: it neither looks nor renews; it loses its shards when its lease is over, and comes back later.
  void cutOff(std::size_t which, nanoseconds length) {
    Candidate& cut = candidates_.at(which);
    cut.cutUntil = now_ + length;
    if (length < lease) return;
    cut.goneAt = now_ + lease;
    for (const std::size_t shard : cut.led) freeAt_[shard] = cut.goneAt;
    cut.led.clear();
  }
  /// It is present but takes nothing.
  void lame(std::size_t which) { candidates_.at(which).lame = true; }

  void run(nanoseconds length) {
    for (const nanoseconds end = now_ + length; now_ < end; now_ += 10ms) {
      for (auto free = freeAt_.begin(); free != freeAt_.end();) {
        if (free->second > now_) {
          ++free;
          continue;
        }
        holders_[free->first].clear();
        free = freeAt_.erase(free);
      }
      for (Candidate& candidate : candidates_) {
        if (!candidate.alive || candidate.cutUntil > now_ || candidate.nextLook > now_) continue;
        candidate.nextLook = now_ + period - period / 10 + below(period / 5);
        look(candidate);
      }
    }
  }

  [[nodiscard]] std::size_t alive() const {
    return static_cast<std::size_t>(
        std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.alive; }));
  }
  [[nodiscard]] std::vector<std::size_t> owned() const {
    std::vector<std::size_t> out;
    for (const Candidate& c : candidates_) {
      if (c.alive) out.push_back(c.led.size());
    }
    return out;
  }
  [[nodiscard]] std::vector<ShardMember> members() const {
    std::vector<ShardMember> out;
    for (const Candidate& c : candidates_) {
      if (c.alive) out.push_back(c.member);
    }
    return out;
  }
  [[nodiscard]] std::size_t unowned() const {
    return static_cast<std::size_t>(std::count(holders_.begin(), holders_.end(), ""));
  }
  [[nodiscard]] bool isBalanced() const {
    const std::vector<ShardShare> shares = fairShares(holders_.size(), members());
    const std::vector<std::size_t> have = owned();
    std::size_t all = 0;
    std::size_t allowed = 0;
    for (std::size_t i = 0; i < have.size(); ++i) {
      if (have[i] < shares[i].least || have[i] > shares[i].most) return false;
      all += have[i];
      allowed += std::min(members()[i].maxLeases, holders_.size());
    }
    return all == std::min(holders_.size(), allowed);
  }
  [[nodiscard]] std::string shown() const {
    std::ostringstream out;
    for (const std::size_t count : owned()) out << count << ' ';
    out << "unowned " << unowned();
    return out.str();
  }

  std::size_t gives{0};
  std::size_t takes{0};
  std::size_t collisions{0};

 private:
  struct Candidate {
    ShardMember member;
    ShardBalance balance;
    std::vector<std::size_t> led{};
    bool alive{true};
    bool lame{false};
    nanoseconds nextLook{0};
    nanoseconds cutUntil{0};
    nanoseconds goneAt{-1};
  };

  nanoseconds below(nanoseconds bound) { return uniform(random_, bound); }

  [[nodiscard]] bool present(const Candidate& candidate) const {
    if (candidate.alive && candidate.cutUntil <= now_) return true;
    return candidate.goneAt < nanoseconds{0} || candidate.goneAt > now_;
  }

  void look(Candidate& candidate) {
    candidate.goneAt = nanoseconds{-1};
    ShardPicture picture{{}, holders_};
    for (const Candidate& other : candidates_) {
      if (present(other)) picture.members.push_back(other.member);
    }
    const Instant at{now_ + 1h, now_ + 2h, now_ + 3h};
    const ShardMoves moves = candidate.balance.look(at, picture, {candidate.led, {}, {}, {}}, random_);
    EXPECT_EQ(moves.withdraw, std::vector<std::size_t>{});
    for (const std::size_t shard : moves.give) {
      const auto found = std::find(candidate.led.begin(), candidate.led.end(), shard);
      ASSERT_NE(found, candidate.led.end());
      candidate.led.erase(found);
      freeAt_[shard] = now_ + below(200ms);
      ++gives;
    }
    for (const std::size_t shard : moves.take) {
      if (candidate.lame) continue;
      if (!holders_[shard].empty()) {
        ++collisions;
        continue;
      }
      holders_[shard] = candidate.member.id;
      candidate.led.push_back(shard);
      ++takes;
    }
    ASSERT_LE(candidate.led.size(), candidate.member.maxLeases);
  }

  SeededRandom random_;
  nanoseconds now_{0};
  std::vector<std::string> holders_;
  std::map<std::size_t, nanoseconds> freeAt_{};
  std::vector<Candidate> candidates_{};
};

TEST(ShardSpread, TheFewestMovesAreWhatOneWouldCount) {
  EXPECT_EQ(fewestMoves(64, {{"a"}, {"b"}}, {64, 0}), 32U);
  EXPECT_EQ(fewestMoves(17, {{"a"}, {"b"}, {"c"}, {"d"}}, {6, 6, 5, 0}), 4U);
  EXPECT_EQ(fewestMoves(5, {{"a"}, {"b"}}, {3, 2}), 0U);
}

TEST(ShardSpread, EndsAtMostOneApartAndGivesUpNothingIfAllStartTogether) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world{64, seed};
    for (int i = 0; i < 8; ++i) world.join();
    world.run(10s);
    EXPECT_TRUE(world.isBalanced()) << "seed " << seed << ": " << world.shown();
    EXPECT_EQ(world.gives, 0U) << "seed " << seed;
    EXPECT_EQ(world.owned(), std::vector<std::size_t>(8, 8));
  }
}

/// From any spread, after any candidates join or leave, it becomes even with the fewest moves, and then nothing moves.
TEST(ShardSpread, MovesOnlyTheNecessaryShardsAndDoesNotOscillate) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    const std::size_t shards = 1 + random.below(80);
    World world{shards, seed};
    const std::size_t first = 1 + random.below(9);
    const bool limited = random.chance(0.3);
    const auto join = [&] {
      world.join(limited ? 1 + random.below(shards) : ShardMember::unlimited, static_cast<unsigned>(random.below(3)));
    };
    for (std::size_t i = 0; i < first; ++i) join();
    world.run(40s);
    ASSERT_TRUE(world.isBalanced()) << world.shown();
    const std::size_t before = world.gives;
    const std::size_t joiners = 1 + random.below(4);
    for (std::size_t i = 0; i < joiners; ++i) join();
    std::vector<std::size_t> owned = world.owned();
    const std::size_t fewest = fewestMoves(shards, world.members(), owned);
    world.run(60s);
    ASSERT_TRUE(world.isBalanced()) << world.shown();
    EXPECT_LE(world.gives - before, fewest);
    const std::size_t settledGives = world.gives;
    const std::size_t settledTakes = world.takes;
    world.run(60s);
    EXPECT_EQ(world.gives, settledGives);
    EXPECT_EQ(world.takes, settledTakes);
  }
}

TEST(ShardSpread, WhatTheDeadLeaveIsTakenOnceAndNothingElseMoves) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world{64, seed};
    for (int i = 0; i < 8; ++i) world.join();
    world.run(10s);
    for (const std::size_t dead : {1U, 4U, 6U}) world.crash(dead);
    const std::size_t takes = world.takes;
    world.run(lease + 1s);
    EXPECT_EQ(world.unowned(), 0U);
    EXPECT_EQ(world.takes, takes + 24);
    world.run(30s);
    EXPECT_TRUE(world.isBalanced()) << world.shown();
    EXPECT_EQ(world.gives, 0U);
    EXPECT_EQ(world.takes, takes + 24);
    world.join();
    world.join();
    const std::size_t fewest = fewestMoves(64, world.members(), world.owned());
    world.run(30s);
    EXPECT_TRUE(world.isBalanced()) << world.shown();
    EXPECT_EQ(world.gives, fewest);
  }
}

/// Candidates join, leave, crash, are cut off, or cannot take anything, at random. In the end the spread is even again.
TEST(ShardSpread, ComesToAnEvenSpreadAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed * 7919};
    World world{1 + random.below(64), seed};
    std::size_t joined = 2;
    world.join();
    world.join();
    std::set<std::size_t> gone;
    for (int step = 0; step < 25; ++step) {
      const std::size_t which = random.below(joined);
      const auto what = random.below(5);
      if (what == 0 && joined < 40) {
        world.join();
        ++joined;
      } else if (what == 1 && gone.count(which) == 0 && world.alive() > 1) {
        world.crash(which);
        gone.insert(which);
      } else if (what == 2 && gone.count(which) == 0 && world.alive() > 1) {
        world.leave(which);
        gone.insert(which);
      } else if (what == 3 && gone.count(which) == 0) {
        world.cutOff(which, uniform(random, 8s));
      }
      world.run(uniform(random, 4s));
    }
    world.run(60s);
    EXPECT_TRUE(world.isBalanced()) << world.shown();
    const std::size_t gives = world.gives;
    world.run(60s);
    EXPECT_EQ(world.gives, gives);
  }
}

TEST(ShardSpread, AMemberThatCannotTakeAnythingLeavesNoShardWithoutAnOwner) {
  World world{12, 5};
  for (int i = 0; i < 3; ++i) world.join();
  world.lame(1);
  world.run(20s);
  EXPECT_EQ(world.unowned(), 0U);
  EXPECT_EQ(world.gives, 0U);
  world.run(3 * lease);
  EXPECT_EQ(world.gives, 0U) << "a shard that was taken in its place stays for ten leases";
}

}  // namespace
}  // namespace tenure::test
