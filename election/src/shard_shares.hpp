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

/// Any number of shards in this range is fair: `most` is `least`, or one more where the shards do not divide.
struct ShardShare {
  std::size_t least{0};
  std::size_t most{0};

  friend bool operator==(const ShardShare&, const ShardShare&) = default;
};

/// As even as the limits of the members allow: nobody has less than another could be asked for, but by its own limit.
/// In the order of the members.
[[nodiscard]] std::vector<ShardShare> fairShares(std::size_t shards, const std::vector<ShardMember>& members);

/// Which member each of `count` free shards goes to: always to the one that has least, the preferred and then the lower
/// id first where several have the same. `owned` is what they have now. Who is at the most of its share gets none, so
/// the result may be shorter than `count`.
[[nodiscard]] std::vector<std::size_t> dealShards(std::size_t count, const std::vector<ShardMember>& members,
                                                  const std::vector<ShardShare>& shares,
                                                  std::vector<std::size_t> owned);

}  // namespace tenure
