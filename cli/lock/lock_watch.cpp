#include "lock_watch.hpp"

#include <algorithm>
#include <utility>

#include "election/jobs/src/jobs_in_document.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::string_view toString(LockState state) noexcept {
  switch (state) {
    case LockState::renewed:
      return "renewed";
    case LockState::held:
      return "held";
    case LockState::stale:
      return "stale";
    case LockState::released:
      return "released";
    case LockState::corrupt:
      return "corrupt";
  }
  return "invalid";
}

void LockWatch::see(const Instant& sentAt, const Instant& receivedAt, const std::vector<ListedLease>& listing) {
  std::map<LeaseKey, Sighting> now;
  for (const ListedLease& lease : listing) {
    if (lease.record.has_error() || lease.record->released) continue;
    const RecordVersion& version = lease.record->version;
    const auto before = sightings_.find(lease.key);
    if (before != sightings_.end() && before->second.version == version) {
      now[lease.key] = {version, lease.record->holder, before->second.since, sentAt, before->second.renewed};
    } else {
      const bool renewed = before != sightings_.end() && before->second.holder == lease.record->holder;
      now[lease.key] = {version, lease.record->holder, receivedAt, receivedAt, renewed};
    }
  }
  sightings_ = std::move(now);
  last_ = listing;
}

std::vector<LockWatch::Row> LockWatch::rows() const {
  std::vector<Row> out;
  for (const ListedLease& lease : last_) {
    Row row{lease.key, lease.record, LockState::corrupt, nanoseconds{0}, lease.warning};
    if (lease.record.has_value() && lease.record->released) {
      row.state = LockState::released;
    } else if (lease.record.has_value()) {
      const Sighting& seen = sightings_.at(lease.key);
      row.unrenewedFor = std::max(elapsedForChallenger(seen.since, seen.confirmed), nanoseconds{0});
      const bool silent = row.unrenewedFor >= lease.record->leaseDuration;
      row.state = silent ? LockState::stale : seen.renewed ? LockState::renewed : LockState::held;
    }
    out.push_back(std::move(row));
  }
  return out;
}

bool LockWatch::mayBeRemoved(const Row& row, std::optional<milliseconds> grace) {
  if (row.state == LockState::released) return true;
  return row.state == LockState::stale && grace && row.unrenewedFor >= row.record->leaseDuration + *grace;
}

bool LockWatch::holdsLedger(const Row& row) {
  if (row.record.has_error() || row.record->data.empty()) return false;
  const std::string& data = row.record->data;
  if (const auto jobs = jobsIn(data)) return !jobs->jobs.empty();
  // Data of a user's own have no ledger. A document of a later release may have one.
  return data.find(R"("tenure":)") != std::string::npos && data.find(R"("jobs":)") != std::string::npos;
}

milliseconds LockWatch::longestWatch(milliseconds grace) const {
  milliseconds longest{0};
  for (const ListedLease& lease : last_) {
    if (lease.record.has_value() && !lease.record->released) {
      longest = std::max(longest, lease.record->leaseDuration + grace);
    }
  }
  return longest;
}

}  // namespace tenure::cli
