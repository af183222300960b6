// The shards that a sharded elector shows: written by it, read by its views.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenure/election/elector_view.hpp>

namespace tenure {

/// The lock is held for a few instructions, and readers only try to take it.
class ShardsView::Board {
 public:
  explicit Board(std::string group) : group_{std::move(group)} {}

  /// The last view of this shard, whose counts go on; of no elector: it had none yet.
  [[nodiscard]] ElectorView last(std::size_t shard) const {
    const std::lock_guard lock{mutex_};
    const auto found = all_.find(shard);
    return found == all_.end() ? ElectorView{} : found->second.view;
  }
  void competes(std::size_t shard, ElectorView view) {
    const std::lock_guard lock{mutex_};
    all_.insert_or_assign(shard, Entry{std::move(view), true});
  }
  void left(std::size_t shard) {
    const std::lock_guard lock{mutex_};
    const auto found = all_.find(shard);
    if (found != all_.end()) found->second.present = false;
  }
  /// The elector is gone.
  void clear() {
    competes_ = false;
    const std::lock_guard lock{mutex_};
    all_.clear();
  }
  void competes(bool now) noexcept { competes_ = now; }

  [[nodiscard]] const std::string& group() const noexcept { return group_; }
  [[nodiscard]] bool competes() const noexcept { return competes_; }
  [[nodiscard]] std::optional<std::vector<ElectorView>> tryElectors() const {
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (!lock) return std::nullopt;
    std::vector<ElectorView> out;
    for (const auto& [shard, entry] : all_) {
      if (entry.present) out.push_back(entry.view);
    }
    return out;
  }

 private:
  struct Entry {
    ElectorView view;
    bool present{false};
  };
  const std::string group_;
  std::atomic<bool> competes_{false};
  mutable std::mutex mutex_;
  std::map<std::size_t, Entry> all_{};
};

}  // namespace tenure
