#include "shard_balance.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tenure {
namespace {

/// How long, in leases, a holder that is no member is taken for one that is about to join or leave.
constexpr int strangerLeases = 2;
/// How long, in leases, a shard that nobody else took stays where it is.
constexpr int rescueLeases = 10;

}  // namespace

struct ShardBalance::Count {
  const ShardPicture& picture;
  std::vector<Mine> mine{};           ///< by shard
  std::size_t self{0};                ///< index of this candidate
  std::vector<std::size_t> owned{};   ///< by member, as all can see it
  std::vector<ShardShare> shares{};   ///< by member
  std::vector<std::size_t> free{};    ///< shards without a holder, also those that this candidate competes for
  std::vector<std::size_t> fallTo{};  ///< for each free shard the index of a member; their number: none has room
  std::vector<std::size_t> needs{};   ///< by member: how many free shards fall to it
  std::size_t pending{0};             ///< held by a candidate that is no member, or being given up by this one

  [[nodiscard]] const ShardShare& share() const { return shares[self]; }
};

ShardMoves ShardBalance::look(const Instant& now, const ShardPicture& picture, const OwnShards& own,
                              RandomSource& random) {
  shards_.resize(picture.holders.size());
  ShardMoves moves;
  note(now, picture);
  const bool takes = presentSince_ && passed(*presentSince_, now);
  if (!takes) {
    for (const std::size_t shard : own.contested) {
      const std::string& holder = picture.holders[shard];
      if (!holder.empty() && holder != options_.self) moves.withdraw.push_back(shard);
    }
  }
  if (!presentSince_) return moves;
  const Count counted = count(now, picture, own);
  watchProgress(now, counted);
  if (takes) compete(now, counted, own, random, moves);
  if (passed(membersSince_, now)) give(now, counted, own, moves);
  return moves;
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
  const std::vector<ShardMember>& members = picture.members;
  Count out{picture};
  out.mine.resize(picture.holders.size());
  for (const std::size_t shard : own.contested) out.mine[shard] = Mine::contested;
  for (const std::size_t shard : own.acquiring) out.mine[shard] = Mine::acquiring;
  for (const std::size_t shard : own.led) out.mine[shard] = Mine::led;
  std::map<std::string_view, std::size_t> indexOf;
  for (const ShardMember& member : members) indexOf.emplace(member.id, indexOf.size());
  out.self = indexOf.at(options_.self);
  out.owned.resize(members.size());
  std::size_t strangers = 0;
  for (std::size_t shard = 0; shard < picture.holders.size(); ++shard) {
    const std::string& holder = picture.holders[shard];
    const bool led = out.mine[shard] == Mine::led;
    const auto owner = indexOf.find(led ? options_.self : holder);
    const bool free = !led && holder.empty();
    if (free || owner != indexOf.end()) shards_[shard].strangerSince.reset();
    if (free) {
      out.free.push_back(shard);
    } else if (owner != indexOf.end()) {
      ++out.owned[owner->second];
      // A record of this candidate that it no longer competes for: the shard is being given up, or a lost answer left
      // the record.
      if (owner->second == out.self && out.mine[shard] == Mine::no) ++out.pending;
    } else if (isStranger(now, shard)) {
      ++strangers;
    } else {
      ++out.pending;
    }
  }
  out.shares = fairShares(picture.holders.size() - strangers, members);
  out.fallTo = dealShards(out.free, members, out.shares, out.owned);
  out.needs.resize(members.size() + 1);
  for (const std::size_t member : out.fallTo) ++out.needs[member];
  return out;
}

void ShardBalance::watchProgress(const Instant& now, const Count& count) {
  if (membersSince_ == now) progress_.clear();
  const bool quiet = passed(membersSince_, now) && holdersSince_ != now;
  for (std::size_t i = 0; i < count.owned.size(); ++i) {
    Progress& progress = progress_[count.picture.members[i].id];
    const bool idle = count.needs[i] > 0 && count.owned[i] <= progress.owned;
    progress.idleLooks = idle ? progress.idleLooks + 1 : 0;
    progress.quietLooks = idle && quiet ? progress.quietLooks + 1 : 0;
    progress.owned = count.owned[i];
  }
}

/// Members that have just joined, and a store that is slow, need their time; but this must end some day.
bool ShardBalance::isStuck(const std::string& member) const {
  const Progress& progress = progress_.at(member);
  return progress.quietLooks > patience || progress.idleLooks > 4 * patience;
}

/// How many shards this candidate may compete for that fell to stuck members. A win is the proof that the store takes
/// writes and that it is the member that does not: if the store takes none, one candidacy is all that there is.
std::size_t ShardBalance::rescues(const Instant& now, const Count& count) const {
  const ShardMember& self = count.picture.members[count.self];
  if (count.needs[count.self] > 0 && !isStuck(self.id)) return 0;
  std::size_t won = 0;
  for (std::size_t shard = 0; shard < count.mine.size(); ++shard) {
    if (count.mine[shard] == Mine::led && stays(now, shard)) ++won;
  }
  const std::size_t used = count.owned[count.self] + count.needs[count.self];
  return std::min(won + 1, self.maxLeases - std::min(self.maxLeases, used));
}

void ShardBalance::rescue(const Instant& now, const Count& count, const std::set<std::size_t>& avoided,
                          RandomSource& random, std::vector<bool>& wanted) {
  const std::vector<ShardMember>& members = count.picture.members;
  std::size_t left = rescues(now, count);
  for (const bool begun : {true, false}) {  // what was begun comes first
    for (std::size_t i = 0; i < count.free.size() && left > 0; ++i) {
      const std::size_t shard = count.free[i];
      const std::size_t from = count.fallTo[i];
      if (wanted[shard] || from == members.size() || !isStuck(members[from].id)) continue;
      if (begun != (count.mine[shard] != Mine::no && stays(now, shard)) || avoided.count(shard) != 0) continue;
      // All members that may take it see the same, and one of them is enough.
      if (!begun && random.next() % members.size() != 0) continue;
      if (!begun) shards_[shard].rescued = Rescue{now, members[from].id};
      wanted[shard] = true;
      --left;
    }
  }
}

/// What this candidate competes for within its share: as many shards as fall to it.
std::vector<bool> ShardBalance::wanted(const Instant& now, const Count& count, const OwnShards& own) const {
  std::vector<bool> out(count.mine.size());
  // Its own record: the answer to a write is still on its way, or a lost term may be won back.
  std::size_t room = count.share().most - std::min(count.share().most, own.led.size());
  for (const std::size_t shard : own.contested) {
    if (count.picture.holders[shard] != options_.self) continue;
    out[shard] = room > 0 || stays(now, shard);
    if (room > 0) --room;
  }
  std::size_t left = count.needs[count.self];
  const auto want = [&](bool acquiring, bool falls) {
    for (std::size_t i = 0; i < count.free.size() && left > 0; ++i) {
      const std::size_t shard = count.free[i];
      if (acquiring != (count.mine[shard] == Mine::acquiring) || falls != (count.fallTo[i] == count.self)) continue;
      out[shard] = true;
      --left;
    }
  };
  want(true, true);
  want(true, false);
  want(false, true);
  return out;
}

/// Competes for what it wants and for what it rescues, and for nothing else.
void ShardBalance::compete(const Instant& now, const Count& count, const OwnShards& own, RandomSource& random,
                           ShardMoves& moves) {
  const std::set<std::size_t> avoided{own.avoided.begin(), own.avoided.end()};
  std::vector<bool> wanted = this->wanted(now, count, own);
  rescue(now, count, avoided, random, wanted);
  for (const std::size_t shard : own.contested) {
    if (!wanted[shard]) moves.withdraw.push_back(shard);
  }
  for (const std::size_t shard : count.free) {
    if (wanted[shard] && count.mine[shard] == Mine::no && avoided.count(shard) == 0) moves.take.push_back(shard);
  }
}

/// How many of the shards that this candidate leads it must give up now.
std::size_t ShardBalance::surplus(const Instant& now, const Count& count, std::size_t led) const {
  const std::vector<ShardMember>& members = count.picture.members;
  if (led > count.share().most) return led - count.share().most;
  const bool quiet = count.free.empty() && count.pending == 0 && passed(holdersSince_, now);
  if (!quiet || led <= count.share().least) return 0;
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

/// The member to which this shard fell did not take it. While that member is present, giving the shard up would only
/// leave it without an owner again.
bool ShardBalance::stays(const Instant& now, std::size_t shard) const {
  const std::optional<Rescue>& rescued = shards_[shard].rescued;
  return rescued && elapsedForChallenger(rescued->at, now) < options_.lease * rescueLeases &&
         std::binary_search(members_.begin(), members_.end(), rescued->from);
}

/// Gives up the shards that were won last, because they have been worked on least. It gives only a few at a time,
/// because nobody has them meanwhile.
void ShardBalance::give(const Instant& now, const Count& count, const OwnShards& own, ShardMoves& moves) const {
  const auto staying = static_cast<std::size_t>(
      std::count_if(own.led.begin(), own.led.end(), [&](std::size_t shard) { return stays(now, shard); }));
  const std::size_t atOnce = std::max<std::size_t>(1, count.picture.holders.size() / (4 * count.owned.size()));
  const std::size_t wanted = std::min(surplus(now, count, own.led.size() - staying), atOnce);
  for (auto shard = own.led.rbegin(); shard != own.led.rend() && moves.give.size() < wanted; ++shard) {
    if (!stays(now, *shard)) moves.give.push_back(*shard);
  }
}

}  // namespace tenure
