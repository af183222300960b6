// Which shards a candidate should take and which it should give up: pure, decided from one listing of the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
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

/// The shards of this candidate. A shard that is being given up is in `avoided` alone.
struct OwnShards {
  std::vector<std::size_t> led;        ///< the one that was won last comes last
  std::vector<std::size_t> contested;  ///< competing for it, or trying to win it back
  std::vector<std::size_t> acquiring;  ///< of the contested ones those whose write is under way
  std::vector<std::size_t> avoided;    ///< given up just now: others come first
};

struct ShardMoves {
  std::vector<std::size_t> take;      ///< begin to compete for these
  std::vector<std::size_t> give;      ///< give these up in an orderly way: they are led
  std::vector<std::size_t> withdraw;  ///< stop competing for these: they fall to others

  friend bool operator==(const ShardMoves&, const ShardMoves&) = default;
};

/// Each candidate decides alone, from its own listings. All come to the same spread because they apply the same rules
/// to what all can see: who is present, and who holds what. A candidacy cannot be seen, so it counts as nothing: a
/// shard that is only competed for is a free shard for its candidate as well.
///
/// - The free shards are dealt to the members, always to the one that has least (dealShards). A candidate competes for
///   the shards that fall to it, and withdraws from the others. A shard that is won by the member to which it fell
///   changes nothing in the rest of the deal, so listings of different ages agree, however slowly the store writes.
///   Only a write that is under way is not called back: it might win all the same, and the shard would have to be
///   released. Such a shard takes the place of one that fell to the candidate.
/// - A member that wins nothing although shards fall to it may be unable to. After several listings a member that leads
///   all of its own deal takes one of these shards, and then as many as it has won of them, and one more.
/// - Only what is led beyond the `most` of the share is given up, once the members have been the same for a while, a
/// few
///   shards at a time. When all is quiet and a member still has less than the `least` of its share, as many members
///   that have one shard more give up that shard as are needed.
///
/// Together these rules need no more moves than any other way to an even spread. If members see different things for a
/// moment, two may want one shard: the lease decides. The guarantee of at most one owner does not depend on anything
/// here.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back.
class ShardBalance {
 public:
  struct Options {
    std::string self;
    std::chrono::nanoseconds settle;  ///< how long to wait after a change of members
    std::chrono::nanoseconds lease;
  };

  /// For how many listings, in which nothing moves, a free shard is left to the member to which it fell.
  static constexpr int patience = 4;

  explicit ShardBalance(Options options) : options_{std::move(options)} {}

  [[nodiscard]] ShardMoves look(const Instant& now, const ShardPicture& picture, const OwnShards& own,
                                RandomSource& random);

 private:
  enum class Mine : unsigned char { no, contested, acquiring, led };
  struct Count;  // for one listing

  void note(const Instant& now, const ShardPicture& picture);
  [[nodiscard]] Count count(const Instant& now, const ShardPicture& picture, const OwnShards& own);
  [[nodiscard]] bool isStranger(const Instant& now, std::size_t shard);
  void watchProgress(const Instant& now, const Count& count);
  [[nodiscard]] bool isStuck(const std::string& member) const;
  void compete(const Instant& now, const Count& count, const OwnShards& own, RandomSource& random, ShardMoves& moves);
  void rescue(const Instant& now, const Count& count, const std::set<std::size_t>& avoided, RandomSource& random,
              std::vector<bool>& wanted);
  [[nodiscard]] std::vector<bool> wanted(const Instant& now, const Count& count, const OwnShards& own) const;
  [[nodiscard]] std::size_t rescues(const Instant& now, const Count& count) const;
  [[nodiscard]] std::size_t surplus(const Instant& now, const Count& count, std::size_t led) const;
  [[nodiscard]] bool stays(const Instant& now, std::size_t shard) const;
  void give(const Instant& now, const Count& count, const OwnShards& own, ShardMoves& moves) const;
  [[nodiscard]] bool passed(const Instant& since, const Instant& now) const {
    return elapsedForChallenger(since, now) >= options_.settle;
  }

  const Options options_;

  /// A shard was taken although it fell to another member, which did not take it.
  struct Rescue {
    Instant at;
    std::string from;
  };
  struct Shard {
    std::optional<Instant> strangerSince{};  ///< held by a holder that is no member
    std::optional<Rescue> rescued{};
  };
  /// Listings in a row in which shards fell to a member and it won none.
  struct Progress {
    std::size_t owned{0};
    int idleLooks{0};
    int quietLooks{0};  ///< of these, the last ones in which no other member won or lost anything either
  };
  std::vector<Shard> shards_{};
  std::map<std::string, Progress> progress_{};  ///< by member
  std::vector<std::string> members_{};
  std::vector<std::string> holders_{};
  Instant membersSince_{};
  Instant holdersSince_{};
  std::optional<Instant> presentSince_{};
};

}  // namespace tenure
