// Leases in one process that are written in one step: the rule of every store (lockcore/stored/decisions.hpp), without
// the calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/stored/decisions.hpp"

namespace tenure::test {

/// The caller has checked keys and requests.
class PairTable {
 public:
  [[nodiscard]] std::optional<LeaseRecord> read(const LeaseKey& key) const { return at(key).told().value(); }
  WriteOutcome write(const WriteRequest& request) {
    return carryOut(request.key, stored::decideWrite("memory", request, at(request.key)));
  }
  WriteOutcome remove(const LeaseKey& key, const RecordVersion& version) {
    return carryOut(key, stored::decideRemoval(version, at(key)));
  }
  WriteOutcome requestStepDown(const LeaseKey& key, FencingToken token) {
    return carryOut(key, stored::decideStepDown(token, at(key)));
  }
  [[nodiscard]] std::vector<ListedLease> list(const std::string& prefix) const {
    std::vector<ListedLease> found;
    for (const auto& [key, lease] : leases_) {
      if (key.name.starts_with(prefix) && *lease.record) found.push_back({key, (*lease.record)->record});
    }
    return found;
  }

 private:
  [[nodiscard]] stored::StoredLease at(const LeaseKey& key) const {
    const auto found = leases_.find(key);
    return found == leases_.end() ? stored::StoredLease{} : found->second;
  }
  WriteOutcome carryOut(const LeaseKey& key, stored::Decision decision) {
    const auto* change = std::get_if<stored::Change>(&decision);
    if (change == nullptr) return std::get<WriteOutcome>(std::move(decision));
    leases_[key] = stored::after(at(key), *change);
    return change->applied;
  }

  std::map<LeaseKey, stored::StoredLease> leases_{};
};

}  // namespace tenure::test
