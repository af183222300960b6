// Which shards a candidate should take and which it should give up: pure, decided from one listing of the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "shard_shares.hpp"

namespace tenure {

/// What one listing of the store showed.
struct ShardPicture {
  std::vector<ShardMember> members;  ///< the members present; this candidate is one if others can see it
  /// For each shard its holder. Empty: nobody, or its lease ends before the next listing.
  std::vector<std::string> holders;
};

/// The shards of this candidate. A shard that is being given up is in none of the lists.
struct OwnShards {
  std::vector<std::size_t> led;        ///< the one that was won last comes last
  std::vector<std::size_t> contested;  ///< competing for it, or trying to win it back
  std::vector<std::size_t> avoided;    ///< given up on request just now: others come first
};

struct ShardOrders {
  std::vector<std::size_t> take;    ///< begin to compete for these
  std::vector<std::size_t> give;    ///< give these up in an orderly way
  std::vector<std::size_t> forget;  ///< stop competing for these: somebody else has them

  friend bool operator==(const ShardOrders&, const ShardOrders&) = default;
};

/// Each candidate decides alone, from its own listings. All come to the same spread because they apply the same rules.
/// If they see different things for a moment, two may want one shard: the lease decides, and the other forgets it. The
/// guarantee of at most one owner does not depend on anything here.
///
/// - A free shard goes to the member that has the fewest shards (dealShards). If it stays free for several listings,
///   because that member cannot take it, any member that has room takes it.
/// - No member gives a shard up unless the members have been the same for a while. Then a member with more than the
///   `most` of its share gives up the surplus, a few shards at a time. When all is quiet and a member still has less
///   than the `least` of its share, as many members that have one shard more give up that shard as are needed.
///
/// Together these rules need no more moves than any other way to an even spread.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back.
class ShardBalance {
 public:
  struct Options {
    std::string self;
    std::chrono::nanoseconds settle;  ///< how long to wait after a change of members
    std::chrono::nanoseconds lease;
  };

  /// For how many listings a free shard is left to the member that it was dealt to.
  static constexpr int patience = 4;

  explicit ShardBalance(Options options) : options_{std::move(options)} {}

  [[nodiscard]] ShardOrders look(const Instant& now, const ShardPicture& picture, const OwnShards& own,
                                 RandomSource& random);

 private:
  struct Count;  // for one listing

  void note(const Instant& now, const ShardPicture& picture);
  [[nodiscard]] Count count(const Instant& now, const ShardPicture& picture, const OwnShards& own);
  [[nodiscard]] bool isStranger(const Instant& now, std::size_t shard);
  void take(const Instant& now, const Count& count, const OwnShards& own, RandomSource& random, ShardOrders& orders);
  [[nodiscard]] std::size_t surplus(const Instant& now, const Count& count, std::size_t staying) const;
  [[nodiscard]] bool stays(const Instant& now, std::size_t shard) const;
  void give(const Instant& now, const Count& count, const OwnShards& own, ShardOrders& orders) const;
  [[nodiscard]] bool passed(const Instant& since, const Instant& now) const {
    return elapsedForChallenger(since, now) >= options_.settle;
  }

  const Options options_;

  struct Shard {
    int freeLooks{0};                        ///< listings in a row that showed it free and the same members
    int settledLooks{0};                     ///< of these, the last ones in which nothing else was going on
    std::optional<Instant> strangerSince{};  ///< held by a holder that is no member
    std::optional<Instant> rescuedAt{};      ///< taken beyond the share, because nobody else took it
  };
  std::vector<Shard> shards_{};
  std::vector<std::string> members_{};
  std::vector<std::string> holders_{};
  Instant membersSince_{};
  Instant holdersSince_{};
  std::optional<Instant> presentSince_{};
};

}  // namespace tenure
