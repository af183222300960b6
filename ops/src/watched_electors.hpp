// The electors that a listener shows, and whether their renewal threads work. Used on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/election/elector_view.hpp>
#include <tenure/ops/metrics.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

class WatchedElectors {
 public:
  /// How often look() is to be called.
  static constexpr std::chrono::seconds lookPeriod{1};

  explicit WatchedElectors(std::chrono::nanoseconds stallPatience) : stallPatience_{stallPatience} {}

  /// Instead of an earlier elector of the same group.
  void watch(ElectorView elector);
  void watch(ShardsView shards);
  void watch(MetricSource source) { sources_.push_back(std::move(source)); }
  /// Takes what shards there are now; where they cannot be read just now, those of the last time stay. To be called
  /// before the others.
  void refresh();
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// There is something to show, and every sharded elector knows its shards.
  [[nodiscard]] bool knowsAll() const noexcept;

  /// `group` empty: the only one. Null: there is none, or it is not clear which.
  [[nodiscard]] const ElectorView* find(std::string_view group) const noexcept;

  [[nodiscard]] Snapshot snapshotOf(const ElectorView& elector);
  [[nodiscard]] std::vector<Snapshot> snapshots();
  [[nodiscard]] std::vector<GroupEvents> history() const;
  /// Of all sources.
  [[nodiscard]] std::vector<MetricFamily> families() const;

  /// Looks whether renewal threads are late. The looks are counted, not the time between them: while the process stands
  /// still there are none, and a process that was just woken is not stalled.
  void look();
  /// A renewal thread was late at each look for `stallPatience`.
  [[nodiscard]] bool stalled() const noexcept;

 private:
  struct Watched {
    ElectorView elector;
    std::optional<Snapshot> last{};
    std::int64_t lateLooks{0};
    std::string shardsOf{};  ///< the group of which it is a shard; empty: none
  };
  const std::chrono::nanoseconds stallPatience_;
  std::vector<Watched> all_{};
  std::vector<ShardsView> sharded_{};
  std::vector<MetricSource> sources_{};
};

}  // namespace tenure::ops
