// What this process last wrote of the leases that it holds, so that a heartbeat is one request, and what it last read
// of those that it waits for, so that its acquisition is one, too.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tenure/lockcore/lease_record.hpp>

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
    return found != states_.end() ? std::optional{found->second.state} : std::nullopt;
  }
  void keep(const LeaseKey& key, State state) { put(key, {std::move(state), false}); }
  /// Until `mostPassing` others were kept so: for an acquisition that may follow soon.
  void keepForAWhile(const LeaseKey& key, State state) { put(key, {std::move(state), true}); }
  void forget(const LeaseKey& key) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    states_.erase(key);
  }

 private:
  struct Entry {
    State state;
    bool passes{false};
  };
  static constexpr std::size_t mostPassing = 16'384;

  void put(const LeaseKey& key, Entry entry) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    if (entry.passes) passing_.push_back(key);
    states_.insert_or_assign(key, std::move(entry));
    if (passing_.size() <= mostPassing) return;
    const auto oldest = states_.find(passing_.front());
    if (oldest != states_.end() && oldest->second.passes) states_.erase(oldest);
    passing_.pop_front();
  }

  const ProcessMark mark_{};
  mutable std::mutex mutex_;
  std::map<LeaseKey, Entry> states_{};  ///< guarded by mutex_, as the next one
  std::deque<LeaseKey> passing_{};      ///< the oldest first; some may be gone, or held since
};

}  // namespace tenure::stored
