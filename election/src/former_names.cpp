#include "former_names.hpp"

namespace tenure {
namespace {

constexpr std::chrono::minutes pause{1};

}  // namespace

FormerNames::FormerNames(const std::string& group, const std::vector<std::string>& shards) {
  for (const std::string& shard : shards) leases_.push_back({group + '/' + shard});
}

std::optional<LeaseKey> FormerNames::due(const Instant& now, RandomSource& random) {
  if (watched_) return watched_;
  if (seenFree_ && elapsedForHolder(*seenFree_, now) < pause) return std::nullopt;
  watched_ = leases_.at(random.next() % leases_.size());
  version_.reset();
  return watched_;
}

std::optional<std::string> FormerNames::saw(const Instant& now, const LeaseKey& key, const ReadOutcome& outcome) {
  if (key != watched_) return std::nullopt;  // a late answer
  // Another program's item is no lease of a shard. Other errors leave the question open.
  const bool foreign = outcome.has_error() && outcome.error().errorClass == ErrorClass::corrupt;
  if (outcome.has_error() && !foreign) return std::nullopt;
  const std::optional<LeaseRecord> record = foreign ? std::nullopt : *outcome;
  sightings_.saw(now, key, record);
  const auto untilFree = sightings_.untilFree(key, now);
  if (!record || (untilFree && untilFree->count() <= 0)) {
    sightings_.forget(key);
    watched_.reset();
    seenFree_ = now;
    clear_ = true;
    told_ = false;
    return std::nullopt;
  }
  clear_ = false;
  if (!version_) version_ = record->version;
  if (told_ || *version_ == record->version) return std::nullopt;
  told_ = true;
  return "the lease named " + toString(key) + " is held by " + record->holder +
         ": a candidate of an older build, or one whose store hides the table's sort key, competes for the same shards "
         "under other names, and two candidates may lead one shard. This candidate takes no shard until that lease is "
         "free; stop those candidates";
}

}  // namespace tenure
