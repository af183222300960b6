// Whether somebody competes for the same shards under other names.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/lease/lease_sightings.hpp"

namespace tenure {

/// In a store that keeps groups together the lease of a shard is that of the group's name with a sort key. A candidate
/// of a build that does not know this, or whose store is hidden by another one that does not say so, takes the leases
/// `group/NAME` instead. A listing of the group does not show those, and both would lead. Such candidates hold all
/// shards among themselves, so the lease of one shard shows them: this reads one at first, and then one a minute. Pure.
class FormerNames {
 public:
  FormerNames(const std::string& group, const std::vector<std::string>& shards);

  /// The lease to read at this look, if any.
  [[nodiscard]] std::optional<LeaseKey> due(const Instant& now, RandomSource& random);

  /// An answer. Returns a sentence for people when it shows for the first time that the holder lives.
  [[nodiscard]] std::optional<std::string> saw(const Instant& now, const LeaseKey& key, const ReadOutcome& outcome);

  /// False until the first lease was seen free, and while one is held: no shard is to be taken then.
  [[nodiscard]] bool mayTake() const noexcept { return clear_; }

 private:
  std::vector<LeaseKey> leases_{};
  LeaseSightings sightings_{};
  std::optional<LeaseKey> watched_{};
  std::optional<RecordVersion> version_{};  ///< of the watched lease, as seen first
  std::optional<Instant> seenFree_{};
  bool clear_{false};
  bool told_{false};
};

}  // namespace tenure
