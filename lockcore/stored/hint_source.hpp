// A stream of what happens in a store, as a store's watch sees it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>

namespace tenure::stored {

/// A lease that was written or deleted.
struct LeaseChange {
  LeaseKey key;
  /// Tells the terms of a lease apart. Empty: it is free, or nobody knows.
  std::string term{};
  /// All of the lease as a release has left it; null: it is something else, or nobody knows.
  LoadedLease release{};
};

/// What a stream tells at once.
struct StreamEvent {
  bool anew{false};   ///< what happened before is not known: everybody who watches is told
  bool alive{false};  ///< it shows that the stream works, so the next one need not wait long
  bool loss{false};   ///< a record has gone that the store itself never deletes
  std::vector<LeaseChange> changes{};
};

/// Why a stream has ended, for people, and how long to wait before the next one at least.
struct StreamEnd {
  std::string why{};
  std::chrono::nanoseconds pause{0};
};

/// Called on one thread, one call at a time. The functions must not block.
struct HintHandlers {
  std::function<void(const StreamEvent&)> onEvent{};
  std::function<void(const StreamEnd&)> onEnd{};  ///< there may be more calls after it, which mean nothing
};

class HintSource {
 public:
  virtual ~HintSource() = default;

  /// Begins a stream that tells of these leases, and of losses. Nothing is called inside, nor once the returned handle
  /// is destroyed. Null: the store was closed. Only from tasks of the store's scheduler.
  [[nodiscard]] virtual std::shared_ptr<void> open(const std::set<LeaseKey>& watched, HintHandlers handlers) = 0;

  /// Whether the stream that was opened last tells of these leases too.
  [[nodiscard]] virtual bool covers(const std::set<LeaseKey>& /*watched*/) const { return true; }
};

}  // namespace tenure::stored
