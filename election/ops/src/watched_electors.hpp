// The electors that a listener shows, whether their renewal threads work, and who led. Used on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/election/elector_view.hpp>
#include <tenure/ops/metrics.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

/// Which group is led by whom, as this process saw it change: the events of /events.
class LeaderEvents {
 public:
  /// Events that stay for clients that come back.
  static constexpr std::size_t kept = 256;

  /// `run` makes the ids differ from those of another process.
  explicit LeaderEvents(std::string run) : run_{std::move(run)} {}

  /// An event, if `data` is another than the last of this group.
  void note(const std::string& group, const std::string& data);
  /// The last event of a group that this process no longer knows.
  void noteGone(const std::string& group, const std::string& data);
  /// The number of the event that an id names; empty: it is of another process, or of none that was ever sent.
  [[nodiscard]] std::optional<std::uint64_t> numberOf(std::string_view id) const;
  /// All after that one, as text/event-stream, and moves `after` to the last. Where it is empty or too old: the last
  /// event of each group. `group`: only this one's; empty: all.
  [[nodiscard]] std::string since(std::optional<std::uint64_t>& after, std::string_view group = {}) const;

 private:
  struct Event {
    std::uint64_t number;
    std::string group;
    std::string data;
  };
  [[nodiscard]] std::string textOf(const Event& event) const;

  const std::string run_;
  std::uint64_t last_{0};
  std::deque<Event> recent_{};
  std::map<std::string, Event, std::less<>> lastOf_{};
};

class WatchedElectors {
 public:
  /// How often look() is to be called.
  static constexpr std::chrono::seconds lookPeriod{1};

  explicit WatchedElectors(std::chrono::nanoseconds stallPatience);

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
  /// Notes who leads now. To be called after refresh().
  void noteLeaders();
  [[nodiscard]] const LeaderEvents& events() const noexcept { return events_; }
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
  std::vector<Watched> gone_{};  ///< of which no event has told that yet
  std::vector<ShardsView> sharded_{};
  std::vector<MetricSource> sources_{};
  LeaderEvents events_;
};

}  // namespace tenure::ops
