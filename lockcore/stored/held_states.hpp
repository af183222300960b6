// What this process last wrote of the leases that it holds, so that a heartbeat is one request, and what it last read
// of those that it waits for, so that its acquisition is one, too.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure::stored {

/// A state may be out of date. A swap that is made from it requires what is in it, so it is refused then, and the store
/// looks at the present state. So it does no harm either that the state that was kept longest ago is forgotten when
/// there are more than `most`: a lease that was released elsewhere would have one for ever. Thread-safe. A forked child
/// has none, and does not touch the lock, which a thread of the parent may hold for ever.
template <class State>
class HeldStates {
 public:
  static constexpr std::size_t most = 65'536;

  /// Empty: nothing is known.
  [[nodiscard]] std::optional<State> find(const LeaseKey& key) const {
    if (!mark_.isHere()) return std::nullopt;
    const std::lock_guard lock{mutex_};
    const auto found = states_.find(key);
    return found != states_.end() ? std::optional{found->second.state} : std::nullopt;
  }
  void keep(const LeaseKey& key, State state) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    if (const auto known = states_.find(key); known != states_.end()) {
      known->second.state = std::move(state);
      return order_.splice(order_.end(), order_, known->second.place);
    }
    const auto fresh = states_.emplace(key, Entry{std::move(state), {}}).first;
    fresh->second.place = order_.insert(order_.end(), &fresh->first);
    if (states_.size() > most) erase(states_.find(*order_.front()));
  }
  void forget(const LeaseKey& key) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    if (const auto known = states_.find(key); known != states_.end()) erase(known);
  }

 private:
  using Keys = std::list<const LeaseKey*>;
  struct Entry {
    State state;
    Keys::iterator place;
  };
  using Entries = std::map<LeaseKey, Entry>;

  void erase(typename Entries::iterator entry) {
    order_.erase(entry->second.place);
    states_.erase(entry);
  }

  const ProcessMark mark_{};
  mutable std::mutex mutex_;
  Entries states_{};  ///< guarded by mutex_, as the next one
  Keys order_{};      ///< what was kept longest ago comes first
};

}  // namespace tenure::stored
