// How many shards each member of a sharded election should have.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace tenure {

/// A candidate that is present.
struct ShardMember {
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  std::string id;  ///< the candidate's unique text
  std::size_t maxLeases{unlimited};
  unsigned priority{0};  ///< as in DNS SRV: 0 is the most preferred

  friend bool operator==(const ShardMember&, const ShardMember&) = default;
};

/// Any number of shards in this range is fair: `most` equals `least`, or is one more where the shards cannot be divided
/// equally.
struct ShardShare {
  std::size_t least{0};
  std::size_t most{0};

  friend bool operator==(const ShardShare&, const ShardShare&) = default;
};

/// As even as the limits of the members allow: only because of its own limit does a member have less than another could
/// be asked to have. In the order of the members.
[[nodiscard]] std::vector<ShardShare> fairShares(std::size_t shards, const std::vector<ShardMember>& members);

/// Which member each of these free shards falls to; `members.size()`: to none, because all have the `most` of their
/// share. `owned` is what the members have now. How many a member gets: each time the one that has the fewest gets one
/// more; if several have the same number, first the preferred one and then the one with the lower id.
/// Which ones it gets: the shards in turn go to the member with the greatest hash of both names among those that still
/// get some (rendezvous hashing). So if a member wins a shard that fell to it, the others fall to whom they fell
/// before, and a member that comes or goes changes as few as possible.
[[nodiscard]] std::vector<std::size_t> dealShards(const std::vector<std::size_t>& free,
                                                  const std::vector<ShardMember>& members,
                                                  const std::vector<ShardShare>& shares,
                                                  const std::vector<std::size_t>& owned);

}  // namespace tenure
