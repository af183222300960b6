// What the listings of a sharded group show: who is present, who holds which shard, which shards may be taken. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/lease/lease_sightings.hpp"
#include "shard_balance.hpp"
#include "shard_keys.hpp"

namespace tenure {

/// The leases of a sharded group (ShardKeys): one for each shard's name, and `member/N` (a slot) for each candidate
/// that is present. A candidate holds one slot, any that is free, so there are never many more slots than candidates
/// were present at a time. A slot is renewed like any lease and judged by the observer's clock alone; its data says
/// what others must know about the member.
class ShardWatch {
 public:
  /// `window`: how long before its end a lease already counts as free, because the candidate that is to get it needs
  /// time to begin.
  ShardWatch(ShardKeys keys, std::vector<std::string> shards, std::string self, std::chrono::nanoseconds window);

  [[nodiscard]] const ShardKeys& keys() const noexcept { return keys_; }
  [[nodiscard]] LeaseKey shardKey(std::size_t shard) const { return keys_.keyOf(shards_[shard]); }
  [[nodiscard]] LeaseKey slotKey(std::size_t slot) const { return keys_.keyOf(slotPart(slot)); }
  /// `member/N`
  [[nodiscard]] static std::string slotPart(std::size_t slot);
  /// Empty: it is no slot.
  [[nodiscard]] static std::optional<std::size_t> slotOf(std::string_view part);

  /// A listing of the group that was received at `now`.
  void saw(const Instant& now, const std::vector<ListedLease>& listing);
  /// The kernel proved the end of the process that holds this liveness file.
  void provenDead(const std::string& livenessFileId) { dead_.insert(livenessFileId); }

  [[nodiscard]] ShardPicture picture(const Instant& now) const;

  /// What was seen of a shard or a slot, for the machine that begins to compete for it.
  [[nodiscard]] std::optional<LeaseSighting> sighting(const LeaseKey& key) const;

  /// A free slot other than `except`. It is chosen at random, so that different candidates choose different ones.
  [[nodiscard]] std::size_t freeSlot(const Instant& now, std::optional<std::size_t> except, RandomSource& random) const;
  /// Whether another candidate holds this slot.
  [[nodiscard]] bool slotTaken(const Instant& now, std::size_t slot) const;
  /// Slots that dead members have left. A candidate that has just joined cannot distinguish them from slots of living
  /// ones.
  [[nodiscard]] std::vector<std::size_t> abandonedSlots(const Instant& now) const;

  /// The liveness files of the other members that are present, each with a record for following it.
  [[nodiscard]] std::map<std::string, LeaseRecord> livenessFiles(const Instant& now) const;

  /// The data of a member's slot, which tells others about the member.
  [[nodiscard]] static std::string describe(std::size_t maxLeases, unsigned priority);
  /// If the data is not understood, the member has no limit and no preference.
  [[nodiscard]] static ShardMember memberFrom(std::string id, const std::string& data);

 private:
  enum class Standing { free, silent, held };

  [[nodiscard]] Standing standing(const Instant& now, const LeaseKey& key, std::chrono::nanoseconds window) const;
  [[nodiscard]] std::set<std::string> shardHolders(const Instant& now) const;
  [[nodiscard]] const std::string* holderOf(const LeaseKey& key) const;

  const ShardKeys keys_;
  const std::vector<std::string> shards_;
  const std::string self_;
  const std::chrono::nanoseconds window_;
  std::map<std::string, std::size_t, std::less<>> shardOf_{};  ///< by name
  LeaseSightings sightings_{};
  std::map<std::size_t, LeaseRecord> slots_{};  ///< as listed last
  std::map<LeaseKey, LeaseRecord> records_{};   ///< of the shards, as listed last
  std::set<LeaseKey> unreadable_{};             ///< leases whose records are not understood
  std::set<std::string> dead_{};                ///< ids of liveness files
};

}  // namespace tenure
