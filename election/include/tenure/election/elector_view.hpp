// Views of electors for monitoring, which wait for no lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

/// Whether an elector leads, by the clock at one moment.
struct LeaderStanding {
  bool leads{false};
  FencingToken token{};                   ///< of the term if it leads, otherwise none
  std::chrono::nanoseconds remaining{0};  ///< as LeaderElector::remaining()
};

/// Made by LeaderElector::view. Cheap to copy. It may be used from any thread and after the elector is gone; then it
/// does not lead, its state is `stopped`, and nothing is due. No call waits for a lock, so each answers even if the
/// renewal thread, a callback or a store hangs. In a forked child nothing leads.
///
/// A default-constructed view is of no elector: only `operator bool` may be called.
class TENURE_API ElectorView {
 public:
  ElectorView() = default;
  [[nodiscard]] explicit operator bool() const noexcept { return parts_ != nullptr; }
  /// Whether both are of the same elector.
  friend bool operator==(const ElectorView&, const ElectorView&) = default;

  [[nodiscard]] const std::string& group() const noexcept;
  [[nodiscard]] const std::string& candidate() const noexcept;  ///< unique text, as in the record
  [[nodiscard]] const std::string& store() const noexcept;      ///< LeaseStore::describe()
  [[nodiscard]] std::chrono::milliseconds leaseDuration() const noexcept;
  [[nodiscard]] bool observes() const noexcept;  ///< CandidateMode::observe

  /// Judged by the clock at this call, as LeaderElector::isLeader() (I4).
  [[nodiscard]] LeaderStanding standing() const noexcept;

  /// As LeaderElector::status().lease; empty if another thread reads or changes it at this moment.
  [[nodiscard]] std::optional<LeaseStatus> tryStatus() const;

  [[nodiscard]] LeaseCounts counts() const noexcept;
  /// The last maxTermEvents, oldest first.
  [[nodiscard]] std::vector<TermEvent> events() const;
  /// When the present or the last term of this process began, by the wall clock, for people; 0: there was none.
  [[nodiscard]] std::int64_t electedAtMillis() const noexcept;

  /// For how long the renewal thread should have worked for this elector and has not; zero if nothing is due. A few
  /// milliseconds are usual. It also counts time in which the whole process did not run.
  [[nodiscard]] std::chrono::nanoseconds overdue() const noexcept;

 private:
  friend class ElectorImpl;
  struct Parts;
  explicit ElectorView(std::shared_ptr<const Parts> parts) noexcept : parts_{std::move(parts)} {}

  std::shared_ptr<const Parts> parts_{};
};

/// Made by ShardedElector::view. Cheap to copy. It may be used from any thread and after the elector is gone; then no
/// shard is left. A default-constructed view is of no elector: only `operator bool` may be called.
class TENURE_API ShardsView {
 public:
  ShardsView() = default;
  [[nodiscard]] explicit operator bool() const noexcept { return board_ != nullptr; }

  [[nodiscard]] const std::string& group() const noexcept;

  /// The shards that this process leads or competes for, in order. The group of each is that of its lease, such as
  /// `billing/7`. A shard that comes back keeps its counts. Empty if another thread changes the list at this moment.
  [[nodiscard]] std::optional<std::vector<ElectorView>> tryElectors() const;

  /// Whether the elector has started, has not been stopped, and knows from its store who holds which shard.
  [[nodiscard]] bool competes() const noexcept;

 private:
  friend class ShardedElector;
  class Board;
  explicit ShardsView(std::shared_ptr<const Board> board) noexcept : board_{std::move(board)} {}

  std::shared_ptr<const Board> board_{};
};

}  // namespace tenure
