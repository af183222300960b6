#include "shard_shares.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace tenure {
namespace {

/// The highest level up to which all members can be filled with the shards that exist.
std::size_t levelOf(std::size_t shards, const std::vector<ShardMember>& members) {
  std::vector<std::size_t> limits;
  limits.reserve(members.size());
  for (const ShardMember& member : members) limits.push_back(std::min(member.maxLeases, shards));
  std::sort(limits.begin(), limits.end());
  std::size_t left = shards;
  std::size_t level = 0;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::size_t filling = limits.size() - i;  // members that are not at their limit yet
    const std::size_t rise = limits[i] - level;
    if (rise > left / filling) return level + left / filling;
    level = limits[i];
    left -= rise * filling;
  }
  return level;
}

}  // namespace

std::vector<ShardShare> fairShares(std::size_t shards, const std::vector<ShardMember>& members) {
  const std::size_t level = levelOf(shards, members);
  std::vector<ShardShare> shares;
  shares.reserve(members.size());
  std::size_t dealt = 0;
  for (const ShardMember& member : members) {
    const std::size_t least = std::min(member.maxLeases, level);
    shares.push_back({least, least});
    dealt += least;
  }
  if (dealt == shards) return shares;
  for (std::size_t i = 0; i < members.size(); ++i) shares[i].most = std::min(members[i].maxLeases, level + 1);
  return shares;
}

std::vector<std::size_t> dealShards(std::size_t count, const std::vector<ShardMember>& members,
                                    const std::vector<ShardShare>& shares, std::vector<std::size_t> owned) {
  std::vector<std::size_t> dealt;
  while (dealt.size() < count) {
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (owned[i] >= shares[i].most) continue;
      const auto turn = [&](std::size_t m) { return std::tie(owned[m], members[m].priority, members[m].id); };
      if (!next || turn(i) < turn(*next)) next = i;
    }
    if (!next) break;
    dealt.push_back(*next);
    ++owned[*next];
  }
  return dealt;
}

}  // namespace tenure
