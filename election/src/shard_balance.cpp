#include "shard_balance.hpp"

#include <algorithm>
#include <tuple>

namespace tenure {
namespace {

/// How long, in leases, a holder that is no member is taken for one that is about to join or leave.
constexpr int strangerLeases = 2;
/// How long, in leases, a shard that nobody else took stays where it is.
constexpr int rescueLeases = 10;

bool contains(const std::vector<std::size_t>& list, std::size_t shard) {
  return std::find(list.begin(), list.end(), shard) != list.end();
}

}  // namespace

struct ShardBalance::Count {
  const ShardPicture& picture;
  std::size_t self{0};               ///< index of this candidate
  std::vector<std::size_t> owned{};  ///< by member
  std::vector<ShardShare> shares{};  ///< by member
  std::vector<std::size_t> free{};   ///< shards without holder or candidate, as far as this candidate knows
  std::size_t pending{0};            ///< held by a candidate that is no member yet, or no member any more

  [[nodiscard]] std::size_t mine() const { return owned[self]; }
  [[nodiscard]] const ShardShare& share() const { return shares[self]; }
};

ShardOrders ShardBalance::look(const Instant& now, const ShardPicture& picture, const OwnShards& own,
                               RandomSource& random) {
  shards_.resize(picture.holders.size());
  ShardOrders orders;
  for (const std::size_t shard : own.contested) {
    const std::string& holder = picture.holders[shard];
    if (!holder.empty() && holder != options_.self) orders.forget.push_back(shard);
  }
  note(now, picture);
  if (!presentSince_) return orders;
  const Count counted = count(now, picture, own);
  if (passed(*presentSince_, now)) take(now, counted, own, random, orders);
  if (passed(membersSince_, now)) give(now, counted, own, orders);
  return orders;
}

/// Records since when the present state has existed.
void ShardBalance::note(const Instant& now, const ShardPicture& picture) {
  std::vector<std::string> members;
  for (const ShardMember& member : picture.members) members.push_back(member.id);
  std::sort(members.begin(), members.end());
  if (members != members_) {
    members_ = std::move(members);
    membersSince_ = now;
  }
  if (picture.holders != holders_) {
    holders_ = picture.holders;
    holdersSince_ = now;
  }
  const bool present = std::binary_search(members_.begin(), members_.end(), options_.self);
  if (!present) {
    presentSince_.reset();
  } else if (!presentSince_) {
    presentSince_ = now;
  }
}

/// A holder that is no member is about to join or leave, unless it stays like that. Then it is a program of another
/// kind (an operator's, say), and its shard is not counted.
bool ShardBalance::isStranger(const Instant& now, std::size_t shard) {
  std::optional<Instant>& since = shards_[shard].strangerSince;
  if (!since) since = now;
  return elapsedForChallenger(*since, now) >= options_.lease * strangerLeases;
}

ShardBalance::Count ShardBalance::count(const Instant& now, const ShardPicture& picture, const OwnShards& own) {
  Count out{picture};
  const std::vector<ShardMember>& members = picture.members;
  const auto indexOf = [&](const std::string& id) {
    return static_cast<std::size_t>(
        std::find_if(members.begin(), members.end(), [&](const ShardMember& m) { return m.id == id; }) -
        members.begin());
  };
  out.self = indexOf(options_.self);
  out.owned.resize(members.size());
  std::size_t strangers = 0;
  const bool settled = passed(membersSince_, now) && holdersSince_ != now;
  for (std::size_t shard = 0; shard < picture.holders.size(); ++shard) {
    const std::string& holder = picture.holders[shard];
    const bool mine =
        contains(own.led, shard) || (contains(own.contested, shard) && (holder.empty() || holder == options_.self));
    // If this candidate has written a record and does not count the shard as its own, then it is giving the shard up,
    // or the record was left by a lost answer.
    const std::size_t owner = mine ? out.self : holder == options_.self ? members.size() : indexOf(holder);
    const bool free = !mine && holder.empty();
    if (mine || free || owner < members.size()) shards_[shard].strangerSince.reset();
    shards_[shard].freeLooks = free && membersSince_ != now ? shards_[shard].freeLooks + 1 : 0;
    shards_[shard].settledLooks = free && settled ? shards_[shard].settledLooks + 1 : 0;
    if (free) {
      out.free.push_back(shard);
    } else if (owner < members.size()) {
      ++out.owned[owner];
    } else if (isStranger(now, shard)) {
      ++strangers;
    } else {
      ++out.pending;
    }
  }
  out.shares = fairShares(picture.holders.size() - strangers, members);
  return out;
}

void ShardBalance::take(const Instant& now, const Count& count, const OwnShards& own, RandomSource& random,
                        ShardOrders& orders) {
  const std::vector<ShardMember>& members = count.picture.members;
  const std::vector<std::size_t> dealt = dealShards(count.free.size(), members, count.shares, count.owned);
  for (std::size_t i = 0; i < count.free.size(); ++i) {
    const std::size_t shard = count.free[i];
    if (contains(own.avoided, shard)) continue;
    if (i < dealt.size() && dealt[i] == count.self) {
      orders.take.push_back(shard);
      continue;
    }
    const bool room = count.mine() + orders.take.size() < members[count.self].maxLeases;
    // Members that have just joined, and shards that move, need their time; but this must end some day.
    const bool left = shards_[shard].settledLooks > patience || shards_[shard].freeLooks > 4 * patience;
    // All members with room see the same, and one of them is enough.
    if (!room || !left || random.next() % members.size() != 0) continue;
    orders.take.push_back(shard);
    shards_[shard].rescuedAt = now;
  }
}

/// How many shards this candidate must give up now.
std::size_t ShardBalance::surplus(const Instant& now, const Count& count, std::size_t staying) const {
  const std::vector<ShardMember>& members = count.picture.members;
  const std::size_t mine = count.mine() - staying;
  if (mine > count.share().most) return mine - count.share().most;
  const bool quiet = count.free.empty() && count.pending == 0 && passed(holdersSince_, now);
  if (!quiet || mine <= count.share().least) return 0;
  std::size_t missing = 0;
  std::vector<std::size_t> richer;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (count.owned[i] > count.shares[i].most) return 0;  // the others must give up theirs first
    if (count.owned[i] > count.shares[i].least) richer.push_back(i);
    if (count.owned[i] < count.shares[i].least) missing += count.shares[i].least - count.owned[i];
  }
  const auto keepsLonger = [&](std::size_t a, std::size_t b) {
    return std::tie(members[a].priority, members[a].id) < std::tie(members[b].priority, members[b].id);
  };
  std::sort(richer.begin(), richer.end(), keepsLonger);
  const auto at = static_cast<std::size_t>(std::find(richer.begin(), richer.end(), count.self) - richer.begin());
  return richer.size() - at <= missing ? 1 : 0;
}

/// Nobody else took this shard, so giving it up would only leave it without an owner again.
bool ShardBalance::stays(const Instant& now, std::size_t shard) const {
  const std::optional<Instant>& rescued = shards_[shard].rescuedAt;
  return rescued && elapsedForChallenger(*rescued, now) < options_.lease * rescueLeases;
}

/// Gives up the shards that were won last, because they have been worked on least. It gives only a few at a time,
/// because nobody has them meanwhile.
void ShardBalance::give(const Instant& now, const Count& count, const OwnShards& own, ShardOrders& orders) const {
  const auto staying = static_cast<std::size_t>(
      std::count_if(own.led.begin(), own.led.end(), [&](std::size_t shard) { return stays(now, shard); }));
  const std::size_t atOnce = std::max<std::size_t>(1, count.picture.holders.size() / (4 * count.owned.size()));
  const std::size_t wanted = std::min(surplus(now, count, staying), atOnce);
  for (auto shard = own.led.rbegin(); shard != own.led.rend() && orders.give.size() < wanted; ++shard) {
    if (!stays(now, *shard)) orders.give.push_back(*shard);
  }
}

}  // namespace tenure
