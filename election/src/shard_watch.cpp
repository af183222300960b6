#include "shard_watch.hpp"

#include <algorithm>

#include "lockcore/port/ascii_text.hpp"

namespace tenure {
namespace {

constexpr std::string_view slotName = "member/";
/// The number of free slots to choose from, so that candidates that start together seldom choose the same one.
constexpr std::size_t choices = 8;

/// The value after `name=` in words that are separated by blanks.
template <class Number>
std::optional<Number> valueOf(std::string_view name, std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = takeUpTo(text, ' ');
    if (word.starts_with(name)) return numberFrom<Number>(word.substr(name.size()));
  }
  return std::nullopt;
}

}  // namespace

ShardWatch::ShardWatch(ShardKeys keys, std::vector<std::string> shards, std::string self,
                       std::chrono::nanoseconds window)
    : keys_{std::move(keys)}, shards_{std::move(shards)}, self_{std::move(self)}, window_{window} {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) shardOf_.emplace(shards_[shard], shard);
}

std::optional<std::size_t> ShardWatch::slotOf(std::string_view part) {
  return part.starts_with(slotName) ? numberFrom<std::size_t>(part.substr(slotName.size())) : std::nullopt;
}

std::string ShardWatch::slotPart(std::size_t slot) { return std::string{slotName} + std::to_string(slot); }

std::string ShardWatch::describe(std::size_t maxLeases, unsigned priority) {
  const std::string limit = maxLeases == ShardMember::unlimited ? "" : "max=" + std::to_string(maxLeases) + ' ';
  return limit + "priority=" + std::to_string(priority);
}

ShardMember ShardWatch::memberFrom(std::string id, const std::string& data) {
  return {std::move(id), valueOf<std::size_t>("max=", data).value_or(ShardMember::unlimited),
          valueOf<unsigned>("priority=", data).value_or(0)};
}

void ShardWatch::saw(const Instant& now, const std::vector<ListedLease>& listing) {
  std::map<std::size_t, LeaseRecord> slots;
  records_.clear();
  unreadable_.clear();
  for (const ListedLease& listed : listing) {
    const LeaseKey& key = listed.key;
    const auto part = keys_.partOf(key);
    if (!part) continue;
    const auto slot = slotOf(*part);
    if (!slot && shardOf_.find(*part) == shardOf_.end()) continue;
    if (!listed.record) {
      sightings_.distrust(key);
      unreadable_.insert(key);
      continue;
    }
    sightings_.saw(now, key, *listed.record);
    if (slot) {
      slots.emplace(*slot, *listed.record);
    } else {
      records_.emplace(key, *listed.record);
    }
  }
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const LeaseKey key = shardKey(shard);
    if (records_.count(key) == 0 && unreadable_.count(key) == 0) sightings_.saw(now, key, std::nullopt);
  }
  for (const auto& [slot, record] : slots_) {
    if (slots.count(slot) == 0) sightings_.saw(now, slotKey(slot), std::nullopt);
  }
  slots_ = std::move(slots);
}

ShardWatch::Standing ShardWatch::standing(const Instant& now, const LeaseKey& key,
                                          std::chrono::nanoseconds window) const {
  const auto untilFree = sightings_.untilFree(key, now);
  if (!untilFree) return Standing::held;
  const auto seen = sightings_.find(key);
  const std::optional<LeaseRecord>& record = seen->record;
  if (record && record->livenessFile && dead_.count(record->livenessFile->id) != 0) return Standing::free;
  if (*untilFree <= std::chrono::nanoseconds{0}) return Standing::free;
  const bool nearlyFree = record && *untilFree <= std::min<std::chrono::nanoseconds>(window, record->leaseDuration / 3);
  return nearlyFree ? Standing::silent : Standing::held;
}

const std::string* ShardWatch::holderOf(const LeaseKey& key) const {
  const auto found = records_.find(key);
  return found == records_.end() || found->second.released ? nullptr : &found->second.holder;
}

/// The candidates that hold a shard by a lease that is not over.
std::set<std::string> ShardWatch::shardHolders(const Instant& now) const {
  std::set<std::string> holders;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const LeaseKey key = shardKey(shard);
    const std::string* holder = holderOf(key);
    if (holder != nullptr && standing(now, key, {}) == Standing::held) holders.insert(*holder);
  }
  return holders;
}

/// A member whose slot has expired counts as present for as long as it renews a shard.
ShardPicture ShardWatch::picture(const Instant& now) const {
  ShardPicture picture;
  const std::set<std::string> busy = shardHolders(now);
  std::set<std::string> known;
  for (const auto& [slot, record] : slots_) {
    if (record.released) continue;
    const bool present = standing(now, slotKey(slot), {}) == Standing::held || busy.count(record.holder) != 0;
    if (present && known.insert(record.holder).second)
      picture.members.push_back(memberFrom(record.holder, record.data));
  }
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const LeaseKey key = shardKey(shard);
    const std::string* holder = holderOf(key);
    const bool held = standing(now, key, window_) == Standing::held;
    // If a record cannot be read, or has vanished under its holder, nobody may take the shard.
    picture.holders.push_back(!held ? std::string{} : holder != nullptr ? *holder : std::string{"?"});
  }
  return picture;
}

std::optional<LeaseSighting> ShardWatch::sighting(const LeaseKey& key) const { return sightings_.find(key); }

bool ShardWatch::slotTaken(const Instant& now, std::size_t slot) const {
  const auto found = slots_.find(slot);
  const bool unreadable = unreadable_.count(slotKey(slot)) != 0;
  if (found == slots_.end() || found->second.released || unreadable) return unreadable;
  return found->second.holder != self_ && standing(now, slotKey(slot), {}) == Standing::held;
}

std::size_t ShardWatch::freeSlot(const Instant& now, std::optional<std::size_t> except, RandomSource& random) const {
  const std::set<std::string> busy = shardHolders(now);
  std::vector<std::size_t> free;
  for (std::size_t slot = 0; free.size() < choices; ++slot) {
    if (slot == except || slotTaken(now, slot)) continue;
    const auto found = slots_.find(slot);
    const bool lapsed = found != slots_.end() && !found->second.released && found->second.holder != self_;
    if (lapsed && busy.count(found->second.holder) != 0) continue;  // the slot tells who that holder is
    free.push_back(slot);
  }
  return free[random.next() % free.size()];
}

std::vector<std::size_t> ShardWatch::abandonedSlots(const Instant& now) const {
  const std::set<std::string> busy = shardHolders(now);
  std::vector<std::size_t> out;
  for (const auto& [slot, record] : slots_) {
    if (record.released || record.holder == self_ || busy.count(record.holder) != 0) continue;
    if (standing(now, slotKey(slot), {}) == Standing::free) out.push_back(slot);
  }
  return out;
}

std::map<std::string, LeaseRecord> ShardWatch::livenessFiles(const Instant& now) const {
  std::map<std::string, LeaseRecord> out;
  for (const auto& [slot, record] : slots_) {
    const bool other = record.holder != self_ && !record.released && record.livenessFile;
    if (other && dead_.count(record.livenessFile->id) == 0 && standing(now, slotKey(slot), {}) == Standing::held)
      out.emplace(record.livenessFile->id, record);
  }
  return out;
}

}  // namespace tenure
