#include "shard_shares.hpp"

#include <algorithm>
#include <cstdint>
#include <queue>
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

/// How many of `free` shards each member gets. Each step gives one to the member whose turn it is.
std::vector<std::size_t> needsOf(std::size_t free, const std::vector<ShardMember>& members,
                                 const std::vector<ShardShare>& shares, std::vector<std::size_t> owned) {
  const auto later = [&](std::size_t a, std::size_t b) {
    return std::tie(owned[a], members[a].priority, members[a].id) >
           std::tie(owned[b], members[b].priority, members[b].id);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> turns{later};
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (owned[m] < shares[m].most) turns.push(m);
  }
  std::vector<std::size_t> needs(members.size());
  for (; free > 0 && !turns.empty(); --free) {
    const std::size_t next = turns.top();
    turns.pop();
    ++needs[next];
    if (++owned[next] < shares[next].most) turns.push(next);
  }
  return needs;
}

/// FNV-1a of 64 bits: the same in all processes and versions.
std::uint64_t hashOf(const std::string& id) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  return hash;
}

/// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
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

std::vector<std::size_t> dealShards(const std::vector<std::size_t>& free, const std::vector<ShardMember>& members,
                                    const std::vector<ShardShare>& shares, const std::vector<std::size_t>& owned) {
  std::vector<std::size_t> dealt(free.size(), members.size());
  if (free.empty()) return dealt;
  std::vector<std::size_t> needs = needsOf(free.size(), members, shares, owned);
  std::vector<std::uint64_t> hashes;
  hashes.reserve(members.size());
  for (const ShardMember& member : members) hashes.push_back(hashOf(member.id));
  for (std::size_t i = 0; i < free.size(); ++i) {
    std::uint64_t greatest = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (needs[m] == 0) continue;
      const std::uint64_t weight = mixed(hashes[m] ^ mixed(free[i] + 1));
      const bool first = dealt[i] == members.size();
      if (first || std::tie(weight, members[m].id) > std::tie(greatest, members[dealt[i]].id)) {
        dealt[i] = m;
        greatest = weight;
      }
    }
    if (dealt[i] == members.size()) break;
    --needs[dealt[i]];
  }
  return dealt;
}

}  // namespace tenure
