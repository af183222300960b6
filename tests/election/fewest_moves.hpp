// What any way to an even spread of shards costs at least.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "election/src/shard_shares.hpp"

namespace tenure::test {

/// The fewest shards that must change hands for an even spread over these members. It tries every way to distribute the
/// rest (dynamic programming over the members), and does not know how the candidates decide.
inline std::size_t fewestMoves(std::size_t shards, const std::vector<ShardMember>& members,
                               const std::vector<std::size_t>& owned) {
  const std::vector<ShardShare> shares = fairShares(shards, members);
  std::map<std::size_t, std::size_t> best{{0, 0}};  // shards dealt so far -> fewest given up
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::map<std::size_t, std::size_t> next;
    for (const auto& [dealt, given] : best) {
      for (const std::size_t share : {shares[i].least, shares[i].most}) {
        const std::size_t cost = given + (owned[i] > share ? owned[i] - share : 0);
        const auto [at, isNew] = next.emplace(dealt + share, cost);
        at->second = std::min(at->second, cost);
      }
    }
    best = std::move(next);
  }
  std::size_t allowed = 0;
  for (const ShardMember& member : members) allowed += std::min(member.maxLeases, shards);
  return best.at(std::min(shards, allowed));
}

}  // namespace tenure::test
