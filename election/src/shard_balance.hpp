// Which shards a candidate should take and which it should give up: pure, from what one look at the store showed.
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

/// What one look at the store showed.
struct ShardPicture {
  std::vector<ShardMember> members;  ///< who is present, this candidate among them if others can see it
  /// By shard: who holds it. Empty: nobody, or its lease ends before the next look.
  std::vector<std::string> holders;
};

/// The shards of this candidate. A shard that is being given up is in none of the lists.
struct OwnShards {
  std::vector<std::size_t> led;        ///< the one that was won last comes last
  std::vector<std::size_t> contested;  ///< competing for it, or for winning it back
  std::vector<std::size_t> avoided;    ///< just given up on request: others come first
};

struct ShardOrders {
  std::vector<std::size_t> take;    ///< begin to compete for these
  std::vector<std::size_t> give;    ///< give these up politely
  std::vector<std::size_t> forget;  ///< stop competing for these: somebody else has them

  friend bool operator==(const ShardOrders&, const ShardOrders&) = default;
};

/// All candidates decide alone, each by its own looks, and come to the same spread because they apply the same rules.
/// Where they see different things for a moment, two may want one shard: the lease decides, and the other forgets it.
/// Nothing here is needed for at most one owner.
///
/// - A free shard goes to the member that has least (dealShards). If it stays free for several looks, because that
///   member cannot take it, anybody who has room takes it.
/// - Nobody gives a shard up unless the members have been the same for a while. Then who has more than the most of its
///   share gives the surplus, a few at a time; and when all is quiet and somebody still has less than the least of its
///   share, as many of those who have one more give that one.
///
/// Together they make as few moves as any way to an even spread does.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back.
class ShardBalance {
 public:
  struct Options {
    std::string self;
    std::chrono::nanoseconds settle;  ///< how long a change of members is waited out
    std::chrono::nanoseconds lease;
  };

  /// Looks for which a free shard is left to the member that it was dealt to.
  static constexpr int patience = 4;

  explicit ShardBalance(Options options) : options_{std::move(options)} {}

  [[nodiscard]] ShardOrders look(const Instant& now, const ShardPicture& picture, const OwnShards& own,
                                 RandomSource& random);

 private:
  struct Count;  // of one look

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
    int freeLooks{0};                        ///< in a row that showed it free and the same members
    int settledLooks{0};                     ///< those of the last in which nothing else went on
    std::optional<Instant> strangerSince{};  ///< held by somebody who is no member
    std::optional<Instant> rescuedAt{};      ///< taken beyond the share, as nobody else did
  };
  std::vector<Shard> shards_{};
  std::vector<std::string> members_{};
  std::vector<std::string> holders_{};
  Instant membersSince_{};
  Instant holdersSince_{};
  std::optional<Instant> presentSince_{};
};

}  // namespace tenure
