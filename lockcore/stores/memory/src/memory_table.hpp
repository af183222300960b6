// The data of a memory store: pairs under the rule of every store (lockcore/stored/decisions.hpp), without threads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/port/lease_store.hpp"
#include "lockcore/stored/decisions.hpp"

namespace tenure {

/// Not thread-safe. The caller has checked keys and requests.
class MemoryTable {
 public:
  [[nodiscard]] const stored::StoredLease& at(const LeaseKey& key) const {
    const auto found = leases_.find(key);
    return found == leases_.end() ? absent_ : found->second;
  }

  /// Decides and writes in one step.
  WriteOutcome change(const LeaseKey& key, const stored::Decide& decide) {
    const auto found = leases_.find(key);
    stored::Decision decision = decide(found == leases_.end() ? absent_ : found->second);
    auto* change = std::get_if<stored::Change>(&decision);
    if (change == nullptr) return std::get<WriteOutcome>(std::move(decision));
    Applied applied = std::move(change->applied);
    apply(std::move(*change), found == leases_.end() ? leases_[key] : found->second);
    return applied;
  }

  [[nodiscard]] std::vector<ListedLease> list(const std::string& prefix) const {
    std::vector<ListedLease> found;
    for (auto it = leases_.lower_bound(LeaseKey{prefix}); it != leases_.end(); ++it) {
      if (!it->first.name.starts_with(prefix)) break;
      if (const auto& record = *it->second.record) found.push_back({it->first, record->record});
    }
    return found;
  }

 private:
  const stored::StoredLease absent_{};
  std::map<LeaseKey, stored::StoredLease> leases_{};
};

}  // namespace tenure
