// What this process last wrote of the leases that it holds, so that a heartbeat is one request, and what it last read
// of those that it waits for, so that its acquisition is one, too.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure::stored {

/// A state may be out of date. A swap that is made from it requires what is in it, so it is refused then, and the store
/// looks at the present state. Thread-safe. A forked child has none, and does not touch the lock, which a thread of the
/// parent may hold for ever.
template <class State>
class HeldStates {
 public:
  /// Empty: nothing is known.
  [[nodiscard]] std::optional<State> find(const LeaseKey& key) const {
    if (!mark_.isHere()) return std::nullopt;
    const std::lock_guard lock{mutex_};
    const auto found = states_.find(key);
    return found != states_.end() ? std::optional{found->second} : std::nullopt;
  }
  void keep(const LeaseKey& key, State state) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    states_.insert_or_assign(key, std::move(state));
  }
  void forget(const LeaseKey& key) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    states_.erase(key);
  }

 private:
  const ProcessMark mark_{};
  mutable std::mutex mutex_;
  std::map<LeaseKey, State> states_{};  ///< guarded by mutex_
};

}  // namespace tenure::stored
