#include "watched_objects.hpp"

namespace tenure::kubernetes_store {

std::uint64_t WatchedObjects::streamBegins() {
  const std::lock_guard lock{mutex_};
  seen_.clear();
  streams_ = true;
  return ++stream_;
}

void WatchedObjects::streamEnds(std::uint64_t stream) {
  const std::lock_guard lock{mutex_};
  if (stream != stream_) return;
  seen_.clear();
  streams_ = false;
}

void WatchedObjects::asked(const LeaseKey& key, const LeaseObject& object, std::chrono::milliseconds lease,
                           const Instant& now) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (!streams_) return;
  const auto before = seen_.find(key);
  const bool isSame = before != seen_.end() && before->second.object.uid == object.uid;
  if (isSame && object.revision < before->second.object.revision) return;  // the stream was quicker than this answer
  const bool missed = before != seen_.end() && before->second.object.resourceVersion != object.resourceVersion;
  const bool behind = missed && (before->second.behind || !before->second.told);
  seen_.insert_or_assign(key, Seen{object, now, lease, false, behind});
}

void WatchedObjects::shown(const LeaseKey& key, const LeaseObject& object) {
  const std::lock_guard lock{mutex_};
  const auto found = seen_.find(key);
  if (found == seen_.end() || found->second.object.uid != object.uid) return;
  Seen& seen = found->second;
  if (object.revision <= seen.object.revision) return;
  seen.object = object;
  seen.told = true;
  seen.behind = false;
}

void WatchedObjects::forget(const LeaseKey& key) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  seen_.erase(key);
}

std::optional<LeaseObject> WatchedObjects::find(const LeaseKey& key, const Instant& now) const {
  if (!mark_.isHere()) return std::nullopt;
  const std::lock_guard lock{mutex_};
  const auto found = seen_.find(key);
  if (found == seen_.end() || found->second.behind) return std::nullopt;
  const bool fresh = elapsedForHolder(found->second.askedAt, now) < found->second.lease;
  return fresh ? std::optional{found->second.object} : std::nullopt;
}

}  // namespace tenure::kubernetes_store
