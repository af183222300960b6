// Renewals that wait at the same time share a transaction, and so a commit.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lockcore/port/lease_store.hpp"
#include "swaps.hpp"

namespace tenure::postgresql_store {

/// The outcome of each renewal of a batch, in their order. Each is judged by its own row: a lease that is lost, locked
/// or not understood affects no other. Empty: it was not renewed, and what is stored says why.
[[nodiscard]] std::vector<std::optional<stored::SwapOutcome>> outcomesOf(const StoreCore& core,
                                                                         const std::vector<SwapPtr>& batch,
                                                                         const JobReply& reply);

/// A renewal goes out at once if no batch is under way, else with those that wait when one is answered. No renewal
/// waits longer than `longestWait`, so an unanswered batch delays nobody by more. Thread-safe.
class RenewalBatcher : public std::enable_shared_from_this<RenewalBatcher> {
 public:
  explicit RenewalBatcher(CorePtr core) : core_{std::move(core)} {}

  /// Jobs::mayJoin(swap->change) holds.
  void add(SwapPtr swap);
  /// Answers those that still wait: they were not sent. None may be added later.
  void close();

  static constexpr std::size_t mostTogether = 256;
  /// At least this long between the starts of two batches, where one was under way: a fast disk would else see a commit
  /// for each renewal.
  static constexpr std::chrono::milliseconds pace{4};
  static constexpr std::chrono::milliseconds longestWait{20};

 private:
  using Batch = std::vector<SwapPtr>;

  [[nodiscard]] Batch next();
  void send(Batch batch);
  void sendAlone(const SwapPtr& swap);
  static void judgeByRows(const CorePtr& core, Batch refused, const Deadline& deadline);
  void answered();
  void sendIn(std::chrono::nanoseconds delay, bool& flag);
  void sendWaiting(bool& flag);

  const CorePtr core_;
  std::mutex mutex_;
  std::deque<SwapPtr> waiting_{};  // guarded by mutex_, as the next four
  int underWay_{0};
  bool alarm_{false};    ///< longestWait runs
  bool pausing_{false};  ///< the pace is waited for
  Instant lastStart_{};
};

}  // namespace tenure::postgresql_store
