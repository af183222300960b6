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

/// Which member gets each of `count` free shards: always the member that has the fewest; if several have the same
/// number, first the preferred one and then the one with the lower id. `owned` is what they have now. A member at the
/// `most` of its share gets none, so the result may be shorter than `count`.
[[nodiscard]] std::vector<std::size_t> dealShards(std::size_t count, const std::vector<ShardMember>& members,
                                                  const std::vector<ShardShare>& shares,
                                                  std::vector<std::size_t> owned);

}  // namespace tenure
