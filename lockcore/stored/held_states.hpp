// What this process last wrote of the leases that it holds, so that a heartbeat is one request, and what it last read
// of a released one that it waits for, so that its acquisition is one, too.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure::stored {

/// Each state has a record. As long as that is unchanged, nobody has acquired the lease since, so a token above those
/// in the state is above all of the lease.
///
/// A state may be out of date. A write that is made from it requires what is in it, so it is refused then, and the
/// store looks at the present state. Thread-safe. A forked child has none, and does not touch the lock, which a thread
/// of the parent may hold for ever.
template <class State>
class HeldStates {
 public:
  /// Null: nothing is known.
  [[nodiscard]] std::shared_ptr<const State> find(const LeaseKey& key) const {
    if (!mark_.isHere()) return nullptr;
    const std::lock_guard lock{mutex_};
    const auto found = states_.find(key);
    return found != states_.end() ? found->second : nullptr;
  }
  void keep(const LeaseKey& key, std::shared_ptr<const State> state) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    states_[key] = std::move(state);
  }
  void forget(const LeaseKey& key) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    states_.erase(key);
  }

 private:
  const ProcessMark mark_{};
  mutable std::mutex mutex_;
  std::map<LeaseKey, std::shared_ptr<const State>> states_{};  ///< guarded by mutex_
};

}  // namespace tenure::stored
