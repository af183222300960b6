// What a client remembers of keys whose locks it does not hold.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/lease/lease_machine.hpp"

namespace tenure {

/// Bounded: the oldest entry is dropped first. The only cost of forgetting a key is that the wait for it begins again.
/// Not thread-safe.
class LockMemories {
 public:
  using Memory = std::shared_ptr<const LeaseMemory>;

  explicit LockMemories(std::size_t most) : most_{most} {}

  /// Null if there is none. The entry is removed.
  [[nodiscard]] Memory take(const LeaseKey& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    Memory memory = std::move(found->second.memory);
    erase(found);
    return memory;
  }

  void put(const LeaseKey& key, Memory memory) {
    if (const auto old = entries_.find(key); old != entries_.end()) erase(old);
    if (most_ == 0 || !memory) return;
    if (entries_.size() >= most_) erase(entries_.find(order_.front()));
    order_.push_back(key);
    entries_.emplace(key, Entry{std::move(memory), std::prev(order_.end())});
  }

 private:
  struct Entry {
    Memory memory;
    std::list<LeaseKey>::iterator place;
  };
  using Entries = std::unordered_map<LeaseKey, Entry>;

  void erase(Entries::iterator entry) {
    order_.erase(entry->second.place);
    entries_.erase(entry);
  }

  const std::size_t most_;
  Entries entries_{};
  std::list<LeaseKey> order_{};
};

}  // namespace tenure
