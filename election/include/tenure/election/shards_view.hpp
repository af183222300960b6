// What monitoring reads of a sharded elector, without waiting for anybody.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenure/election/elector_view.hpp>
#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Made by ShardedElector::view. Cheap to copy. It may be used from any thread and after the elector is gone; then no
/// shard is left. A default-constructed view is of no elector: only `operator bool` may be called.
class TENURE_API ShardsView {
 public:
  class Board;  // internal

  ShardsView() = default;
  explicit ShardsView(std::shared_ptr<const Board> board) noexcept : board_{std::move(board)} {}
  [[nodiscard]] explicit operator bool() const noexcept { return board_ != nullptr; }

  [[nodiscard]] const std::string& group() const noexcept;

  /// The shards that this process leads or competes for, in order. The group of each is that of its lease, such as
  /// `billing/7`. Counts of a shard go on when it comes back. Empty if another thread changes the list at this moment.
  [[nodiscard]] std::optional<std::vector<ElectorView>> tryElectors() const;

  /// Whether the elector has started, has not been stopped, and knows from its store who holds which shard.
  [[nodiscard]] bool competes() const noexcept;

 private:
  std::shared_ptr<const Board> board_{};
};

}  // namespace tenure
