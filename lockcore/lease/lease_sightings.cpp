#include "lease_sightings.hpp"

#include <algorithm>
#include <unordered_map>

#include "observation.hpp"

namespace tenure {

class LeaseSightings::Impl {
 public:
  struct Seen {
    Observation observation{};
    std::optional<LeaseRecord> record{};
    FencingToken tokenFloor{};
  };

  [[nodiscard]] const Seen* find(const LeaseKey& key) const {
    const auto found = seen.find(key);
    return found == seen.end() || !found->second.observation.known() ? nullptr : &found->second;
  }

  std::unordered_map<LeaseKey, Seen> seen{};
};

LeaseSightings::LeaseSightings() : impl_{std::make_unique<Impl>()} {}
LeaseSightings::~LeaseSightings() = default;
LeaseSightings::LeaseSightings(LeaseSightings&&) noexcept = default;
LeaseSightings& LeaseSightings::operator=(LeaseSightings&&) noexcept = default;

void LeaseSightings::saw(const Instant& now, const LeaseKey& key, const std::optional<LeaseRecord>& record) {
  Impl::Seen& seen = impl_->seen[key];
  seen.observation.confirm(now, record, false);
  seen.record = record;
  if (record) seen.tokenFloor = std::max(seen.tokenFloor, record->token);
}

void LeaseSightings::distrust(const LeaseKey& key) { impl_->seen[key].observation.distrust(); }

std::optional<std::chrono::nanoseconds> LeaseSightings::untilFree(const LeaseKey& key, const Instant& now) const {
  const Impl::Seen* seen = impl_->find(key);
  return seen == nullptr ? std::nullopt : seen->observation.untilFree(now, std::chrono::nanoseconds{0});
}

std::optional<LeaseSighting> LeaseSightings::find(const LeaseKey& key) const {
  const Impl::Seen* seen = impl_->find(key);
  if (seen == nullptr) return std::nullopt;
  return LeaseSighting{seen->record, seen->observation.since(), seen->observation.vanishedLease(), seen->tokenFloor,
                       seen->observation.lost()};
}

void LeaseSightings::forget(const LeaseKey& key) { impl_->seen.erase(key); }

}  // namespace tenure
