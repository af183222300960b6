// Who wants to know of changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lockcore/runtime/call_permit.hpp"

namespace tenure::postgresql_store {

/// Any thread may add and remove; one thread calls.
class Watchers {
 public:
  class Entry {
   public:
    Entry(std::string payload, std::function<void()> hint) : payload_{std::move(payload)}, hint_{std::move(hint)} {}
    void call() { permit_.call(hint_); }
    /// After this, the function is not running and will not run.
    void end() { permit_.revoke(); }
    [[nodiscard]] const std::string& payload() const noexcept { return payload_; }

   private:
    const std::string payload_;
    const std::function<void()> hint_;
    CallPermit permit_{};
  };

  void add(const std::shared_ptr<Entry>& entry) {
    const std::lock_guard lock{mutex_};
    entries_.emplace(entry->payload(), entry);
  }

  void remove(const Entry& entry) {
    const std::lock_guard lock{mutex_};
    const auto [first, last] = entries_.equal_range(entry.payload());
    for (auto at = first; at != last; ++at) {
      if (at->second.get() != &entry) continue;
      entries_.erase(at);
      return;
    }
  }

  [[nodiscard]] bool empty() const {
    const std::lock_guard lock{mutex_};
    return entries_.empty();
  }

  void hint(const std::string& payload) const {
    std::vector<std::shared_ptr<Entry>> called;
    {
      const std::lock_guard lock{mutex_};
      const auto [first, last] = entries_.equal_range(payload);
      for (auto at = first; at != last; ++at) called.push_back(at->second);
    }
    for (const auto& entry : called) entry->call();
  }

  void hintAll() const {
    std::vector<std::shared_ptr<Entry>> called;
    {
      const std::lock_guard lock{mutex_};
      for (const auto& [payload, entry] : entries_) called.push_back(entry);
    }
    for (const auto& entry : called) entry->call();
  }

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, std::shared_ptr<Entry>> entries_{};  // guarded by mutex_
};

}  // namespace tenure::postgresql_store
