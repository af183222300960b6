// A sharded start on a store that is slow to write: candidates give up nothing that they have just won, and write
// hardly anything in vain.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
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

constexpr nanoseconds interval = 500ms;
constexpr nanoseconds settling = 2 * interval;
constexpr nanoseconds leaseLength = 10s;
constexpr nanoseconds tick = 10ms;

/// How the store of one run is slow.
struct Slowness {
  nanoseconds write{0};   ///< one after the other
  std::size_t depth{1};   ///< how many writes are under way at a time; all others wait and are drawn at random
  nanoseconds listing{};  ///< a listing shows what was so up to this long ago
};

/// Candidates that do what ShardBalance says, and the store's queue of writes. A candidacy that is withdrawn while its
/// write is under way may still win: the shard is released then, by a further write.
class SlowWorld {
 public:
  SlowWorld(std::size_t shards, Slowness slowness, std::uint64_t seed)
      : slowness_{slowness}, random_{seed}, holders_(shards) {}

  void join() {
    const std::string id = "c" + std::to_string(100 + members_.size());
    members_.push_back({{id}, ShardBalance{{id, settling, leaseLength}}});
    members_.back().nextLook = now_ + uniform(random_, interval);
    waiting_.push_back({members_.size() - 1, Write::Kind::join, 0, {}});
  }
  void leave(std::size_t which) {
    Member& leaver = members_.at(which);
    leaver.alive = false;
    forgetWaiting(which);
    waiting_.push_back({which, Write::Kind::leave, 0, {}});
    for (const auto& [shard, seat] : leaver.seats) {
      if (seat.led) waiting_.push_back({which, Write::Kind::release, shard, {}});
    }
    changed();
  }
  void crash(std::size_t which) {
    Member& dead = members_.at(which);
    dead.alive = false;
    dead.expiresAt = now_ + leaseLength;
    forgetWaiting(which);
    changed();
  }

  void run(nanoseconds length) {
    for (const nanoseconds end = now_ + length; now_ < end; now_ += tick) step();
  }
  /// Until the store shows who has come and gone, and all candidates have seen it.
  void runUntilChangesAreSeen() {
    for (const nanoseconds end = now_ + 60s; now_ < end && changesAreOpen(); now_ += tick) step();
    ASSERT_FALSE(changesAreOpen());
  }
  bool runUntilAllAreLed(nanoseconds limit) {
    for (const nanoseconds end = now_ + limit; now_ < end && !allLed(); now_ += tick) step();
    return allLed();
  }

  [[nodiscard]] std::vector<std::size_t> led() const {
    std::vector<std::size_t> out;
    for (const Member& m : members_) {
      if (m.alive) out.push_back(m.led().size());
    }
    return out;
  }
  [[nodiscard]] bool allLed() const {
    std::size_t all = 0;
    for (const std::size_t count : led()) all += count;
    return all == holders_.size();
  }
  /// The writes that are left to do for an even spread. Those that are under way were sent before the last change of
  /// members was seen: what they win may have to be released.
  [[nodiscard]] std::size_t writesLeft() const {
    const std::vector<std::size_t> have = led();
    std::size_t all = 0;
    for (const std::size_t count : have) all += count;
    std::size_t others = 2 * underWay_.size();
    for (const Write& write : waiting_) others += write.kind == Write::Kind::acquire ? 0 : 1;
    return holders_.size() - all + others + 2 * fewestMoves(holders_.size(), alive(), have);
  }
  [[nodiscard]] std::vector<ShardMember> alive() const {
    std::vector<ShardMember> out;
    for (const Member& m : members_) {
      if (m.alive) out.push_back(m.member);
    }
    return out;
  }
  [[nodiscard]] bool isPresent(std::size_t which) const { return members_.at(which).present; }
  [[nodiscard]] std::size_t joined() const { return members_.size(); }
  [[nodiscard]] bool isAlive(std::size_t which) const { return members_.at(which).alive; }
  [[nodiscard]] nanoseconds now() const { return now_; }
  [[nodiscard]] std::string shown() const {
    std::ostringstream out;
    for (const std::size_t count : led()) out << count << ' ';
    out << "of " << holders_.size() << ", write " << slowness_.write / 1us << " us, depth " << slowness_.depth
        << ", gives " << gives << ", allowed " << allowed << ", in vain " << inVain;
    return out.str();
  }

  std::size_t gives{0};
  std::size_t inVain{0};   ///< writes that won nothing that was kept
  std::size_t allowed{0};  ///< gives, as counted when all had seen the last change of members
  bool gaveTooMuch{false};

 private:
  struct Write {
    enum class Kind { join, leave, acquire, release };
    std::size_t member;
    Kind kind;
    std::size_t shard;
    nanoseconds doneAt;
  };
  struct Seat {
    bool led{false};
    bool ending{false};  ///< given up, or withdrawn while its write is under way
    bool parked{false};  ///< another candidate was quicker
    std::uint64_t won{0};
    nanoseconds drained{0};
  };
  struct Member {
    ShardMember member;
    ShardBalance balance;
    std::map<std::size_t, Seat> seats{};
    bool alive{true};
    bool present{false};
    nanoseconds expiresAt{-1};
    nanoseconds nextLook{0};
    std::optional<ShardPicture> listing{};
    nanoseconds listingAt{0};

    [[nodiscard]] std::vector<std::size_t> led() const {
      std::vector<std::pair<std::uint64_t, std::size_t>> order;
      for (const auto& [shard, seat] : seats) {
        if (seat.led && !seat.ending) order.emplace_back(seat.won, shard);
      }
      std::sort(order.begin(), order.end());
      std::vector<std::size_t> out;
      for (const auto& [won, shard] : order) out.push_back(shard);
      return out;
    }
  };

  void step() {
    expire();
    serve();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& m = members_[i];
      if (!m.alive) continue;
      drain(i);
      if (m.listing && m.listingAt <= now_) look(i, *std::exchange(m.listing, std::nullopt));
      if (m.nextLook > now_) continue;
      m.nextLook = now_ + interval - interval / 10 + uniform(random_, interval / 5);
      m.listing = picture();
      m.listingAt = now_ + uniform(random_, slowness_.listing + 1ns);
    }
    for (; !changes_.empty() && changes_.front().seenAt <= now_; changes_.pop_front()) {
      gaveTooMuch = gaveTooMuch || gives > allowed;
      allowed = gives + std::max(fewest(changes_.front().present), fewest(present()));
    }
  }
  [[nodiscard]] bool changesAreOpen() const {
    const auto open = [](const Member& m) { return m.alive != m.present; };
    return !changes_.empty() || std::any_of(members_.begin(), members_.end(), open);
  }
  /// Each candidate acts on it once it is in its listing, and then gives up nothing at first.
  void changed() { changes_.push_back({now_ + interval + interval / 10 + slowness_.listing + 2 * tick, present()}); }
  [[nodiscard]] std::vector<std::size_t> present() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].present) out.push_back(i);
    }
    return out;
  }
  [[nodiscard]] std::size_t fewest(const std::vector<std::size_t>& of) const {
    std::vector<ShardMember> members;
    std::vector<std::size_t> owned;
    for (const std::size_t i : of) {
      const Member& m = members_[i];
      members.push_back(m.member);
      const auto held = std::count(holders_.begin(), holders_.end(), m.member.id);
      owned.push_back(m.alive ? m.led().size() : static_cast<std::size_t>(held));
    }
    return of.empty() ? 0 : fewestMoves(holders_.size(), members, owned);
  }

  void expire() {
    for (Member& m : members_) {
      if (m.expiresAt < 0ns || m.expiresAt > now_) continue;
      m.expiresAt = -1ns;
      m.present = false;
      for (std::string& holder : holders_) {
        if (holder == m.member.id) holder.clear();
      }
      changed();
    }
  }
  void serve() {
    for (;;) {
      while (underWay_.size() < slowness_.depth && !waiting_.empty()) {
        const std::size_t drawn = random_.below(waiting_.size());
        std::swap(waiting_[drawn], waiting_.back());
        Write next = waiting_.back();
        waiting_.pop_back();
        served_ = std::max(served_, now_ - tick) + slowness_.write;
        next.doneAt = served_;
        underWay_.push_back(next);
      }
      if (underWay_.empty() || underWay_.front().doneAt > now_) return;
      const Write done = underWay_.front();
      underWay_.pop_front();
      apply(done);
    }
  }
  void apply(const Write& write) {
    Member& m = members_[write.member];
    switch (write.kind) {
      case Write::Kind::join:
        m.present = m.alive;
        return changed();
      case Write::Kind::leave:
        m.present = false;
        return changed();
      case Write::Kind::release:
        holders_[write.shard].clear();
        m.seats.erase(write.shard);
        return;
      case Write::Kind::acquire:
        return acquired(write);
    }
  }
  void acquired(const Write& write) {
    Member& m = members_[write.member];
    Seat& seat = m.seats.at(write.shard);
    const bool free = holders_[write.shard].empty();
    if (!free || !m.alive || seat.ending) ++inVain;
    if (!m.alive) return;
    if (free) holders_[write.shard] = m.member.id;
    if (seat.ending && !free) {
      m.seats.erase(write.shard);
    } else if (seat.ending) {
      waiting_.push_back({write.member, Write::Kind::release, write.shard, {}});
    } else {
      seat.parked = !free;
      seat.led = free;
      seat.won = ++wins_;
    }
  }
  void forgetWaiting(std::size_t which) {
    const auto of = [&](const Write& w) { return w.member == which && w.kind == Write::Kind::acquire; };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), of), waiting_.end());
  }
  void drain(std::size_t which) {
    for (auto& [shard, seat] : members_[which].seats) {
      if (seat.parked && holders_[shard].empty()) {
        seat.parked = false;
        waiting_.push_back({which, Write::Kind::acquire, shard, {}});
      }
      if (!seat.led || !seat.ending || seat.drained > now_) continue;
      seat.led = false;
      waiting_.push_back({which, Write::Kind::release, shard, {}});
    }
  }

  [[nodiscard]] ShardPicture picture() const {
    ShardPicture out{{}, holders_};
    for (const Member& m : members_) {
      if (m.present) out.members.push_back(m.member);
    }
    return out;
  }
  void look(std::size_t which, const ShardPicture& picture) {
    Member& m = members_[which];
    OwnShards own{m.led(), {}, {}, {}};
    for (const Write& w : underWay_) {
      const bool open = w.member == which && w.kind == Write::Kind::acquire && !m.seats.at(w.shard).ending;
      if (open) own.acquiring.push_back(w.shard);
    }
    for (const auto& [shard, seat] : m.seats) {
      if (seat.ending) own.avoided.push_back(shard);
      if (!seat.ending && !seat.led) own.contested.push_back(shard);
    }
    const Instant at{now_ + 1h, now_ + 2h, now_ + 3h};
    const ShardMoves moves = m.balance.look(at, picture, own, random_);
    for (const std::size_t shard : moves.give) {
      m.seats.at(shard).ending = true;
      m.seats.at(shard).drained = now_ + uniform(random_, 200ms);
      ++gives;
    }
    for (const std::size_t shard : moves.withdraw) withdraw(which, shard);
    for (const std::size_t shard : moves.take) {
      ASSERT_TRUE(m.seats.emplace(shard, Seat{}).second);
      waiting_.push_back({which, Write::Kind::acquire, shard, {}});
    }
  }
  void withdraw(std::size_t which, std::size_t shard) {
    const auto it = [&](const Write& w) { return w.member == which && w.shard == shard && isOfShard(w); };
    const auto sent = std::find_if(underWay_.begin(), underWay_.end(), it);
    if (sent != underWay_.end()) {
      members_[which].seats.at(shard).ending = true;
      return;
    }
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), it), waiting_.end());
    members_[which].seats.erase(shard);
  }
  static bool isOfShard(const Write& w) { return w.kind == Write::Kind::acquire || w.kind == Write::Kind::release; }

  const Slowness slowness_;
  SeededRandom random_;
  nanoseconds now_{0};
  nanoseconds served_{0};
  std::uint64_t wins_{0};
  struct Change {
    nanoseconds seenAt;
    std::vector<std::size_t> present;  ///< as it was at the change
  };
  std::deque<Change> changes_{};
  std::vector<std::string> holders_;
  std::vector<Member> members_{};
  std::vector<Write> waiting_{};
  std::deque<Write> underWay_{};
};

Slowness anySlowness(SeededRandom& random) {
  return {1ms + uniform(random, 40ms), 1 + random.below(32), uniform(random, interval)};
}

void expectRestsEvenly(SlowWorld& world) {
  world.run(20s);
  const std::vector<std::size_t> led = world.led();
  const auto [least, most] = std::minmax_element(led.begin(), led.end());
  EXPECT_LE(*most - *least, 1U) << world.shown();
  EXPECT_TRUE(world.allLed()) << world.shown();
  EXPECT_FALSE(world.gaveTooMuch) << world.shown();
  EXPECT_LE(world.gives, world.allowed) << world.shown();
  const std::size_t gives = world.gives;
  world.run(20s);
  EXPECT_EQ(world.gives, gives) << "it rests";
}

TEST(ShardsOnASlowStore, AStartGivesUpNothingAndTakesAsLongAsItsWrites) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    const Slowness slowness = anySlowness(random);
    const std::size_t shards = 20 + random.below(280);
    const std::size_t members = 1 + random.below(7);
    SlowWorld world{shards, slowness, seed};
    for (std::size_t i = 0; i < members; ++i) world.join();
    const nanoseconds floor = slowness.write * static_cast<std::int64_t>(shards + members);
    // A newcomer is seen in a listing, and waits for two list intervals before it takes anything.
    const nanoseconds joining = 2 * interval + interval / 10 + slowness.listing + settling;
    EXPECT_TRUE(world.runUntilAllAreLed(joining + floor * 12 / 10 + interval)) << world.shown();
    EXPECT_EQ(world.gives, 0U) << world.shown();
    expectRestsEvenly(world);
  }
}

/// Candidates start one after the other, join, leave and crash while the shards are being won.
TEST(ShardsOnASlowStore, WhoComesAndGoesMovesWhatMustMoveAndTakesAsLongAsItsWrites) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed * 7919};
    const Slowness slowness = anySlowness(random);
    const std::size_t shards = 20 + random.below(280);
    SlowWorld world{shards, slowness, seed};
    const nanoseconds length = slowness.write * static_cast<std::int64_t>(shards);
    const std::size_t first = 1 + random.below(5);
    for (std::size_t i = 0; i < first; ++i) {
      world.join();
      world.run(uniform(random, length / 4));
    }
    for (std::size_t event = random.below(4); event > 0; --event) {
      const std::size_t which = random.below(world.joined());
      const auto what = random.below(3);
      if (what == 0) {
        world.join();
      } else if (world.alive().size() > 1 && world.isAlive(which) && world.isPresent(which)) {
        what == 1 ? world.leave(which) : world.crash(which);
      }
      world.run(uniform(random, length / 3));
    }
    world.runUntilChangesAreSeen();
    const nanoseconds floor = slowness.write * static_cast<std::int64_t>(world.writesLeft());
    const nanoseconds joining = 2 * interval + interval / 10 + slowness.listing + settling;
    EXPECT_TRUE(world.runUntilAllAreLed(joining + floor * 12 / 10 + interval)) << world.shown();
    expectRestsEvenly(world);
  }
}

}  // namespace
}  // namespace tenure::test
