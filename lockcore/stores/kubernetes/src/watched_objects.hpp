// What the watch has shown of leases that others hold, so that a candidate that waits asks the server once a lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/runtime/process_mark.hpp"

namespace tenure::kubernetes_store {

/// A candidate looks at each heartbeat, to see that the version changes. What it sees here may be late, by as much as
/// the stream is behind. That is safe: it then waits longer, and it takes the lease only by a write that requires the
/// object as it was seen. So that a stream that tells nothing cannot hold it back for long, the server is asked again
/// after each lease, and whenever the stream is found to have kept something back.
///
/// Only what was read since the stream began is in it: from then on the stream tells each change. Thread-safe. In a
/// forked child it is empty.
class WatchedObjects {
 public:
  /// The number of the stream.
  std::uint64_t streamBegins();
  /// Nothing is known any more, unless another stream has begun meanwhile.
  void streamEnds(std::uint64_t stream);

  /// The server was asked, and somebody else holds the lease for so long.
  void asked(const LeaseKey& key, const LeaseObject& object, std::chrono::milliseconds lease, const Instant& now);
  /// The stream tells that the object has changed.
  void shown(const LeaseKey& key, const LeaseObject& object);
  /// The process has written it, or it was deleted: the next read asks the server.
  void forget(const LeaseKey& key);

  /// Empty: the server is to be asked.
  [[nodiscard]] std::optional<LeaseObject> find(const LeaseKey& key, const Instant& now) const;

 private:
  struct Seen {
    LeaseObject object;
    Instant askedAt{};
    std::chrono::milliseconds lease{0};
    bool told{false};    ///< by the stream, since the server was asked
    bool behind{false};  ///< the stream has kept something back, and has told nothing since
  };

  const ProcessMark mark_{};
  mutable std::mutex mutex_;
  std::uint64_t stream_{0};  ///< guarded by mutex_, as all that follow
  bool streams_{false};
  std::map<LeaseKey, Seen> seen_{};
};

}  // namespace tenure::kubernetes_store
