// A sharded group on a manual clock: candidates that crash, are cut off and come back, and a judge.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/election/sharded_elector.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "election/src/shard_keys.hpp"
#include "election/stage.hpp"
#include "support/polled_store.hpp"

namespace tenure::test {

/// One candidate's connection to the store: it counts the calls, and can be cut.
class Link final : public PolledStore {
 public:
  Link(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler, bool together)
      : PolledStore{std::move(behind)}, scheduler_{std::move(scheduler)}, together_{together} {}

  std::atomic<bool> cut{false};           ///< calls and answers are lost: "no connection"
  std::atomic<bool> refusesTakes{false};  ///< acquisitions of shards fail; everything else works
  std::atomic<int> reads{0}, writes{0}, lists{0};
  std::atomic<bool> holdsNextList{false};      ///< it is made at once; `late` delivers the answer
  std::atomic<bool> holdsSlotReleases{false};  ///< they are made; `late` delivers the answers
  std::function<void()> late{};

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override;
  void list(std::string prefix, CallOptions options, ListHandler handler) override;
  void listName(std::string name, CallOptions options, ListHandler handler) override;
  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return together_; }

 private:
  void listBy(const std::function<void(ListHandler)>& listing, ListHandler handler);

  const std::shared_ptr<Scheduler> scheduler_;
  const bool together_;
};

/// Lease 3 s, heartbeat 1 s, so a listing every 500 ms. At every step of time it checks that no shard has two owners.
class ShardedGroup : public testing::Test {
 protected:
  struct Candidate {
    std::string name;
    std::shared_ptr<Link> link;
    std::unique_ptr<ShardedElector> elector;
    bool crashed{false};
  };
  using Adjust = std::function<void(GroupOptions&)>;

  explicit ShardedGroup(std::size_t shards = 12, bool together = false);
  ~ShardedGroup() override;

  /// The new candidate is started. `told` records its terms.
  Candidate& join(const std::string& name, const Adjust& adjust = {});
  [[nodiscard]] Group group(const std::string& name, std::shared_ptr<LeaseStore> store, const Adjust& adjust = {});
  [[nodiscard]] Runtime runtime();
  /// It stops acting at once, and nothing it sent reaches the store any more.
  void crash(Candidate& candidate);
  /// It stops properly, while time passes; afterwards it is gone.
  void leave(Candidate& candidate);
  void destroy(std::unique_ptr<ShardedElector> elector);

  void settle();
  void advance(std::chrono::nanoseconds by);
  [[nodiscard]] bool advanceUntil(const std::function<bool()>& done,
                                  std::chrono::nanoseconds limit = std::chrono::seconds{60});

  /// One number for each living candidate, in the order of joining.
  [[nodiscard]] std::vector<std::size_t> spread() const;
  [[nodiscard]] std::size_t unowned() const;
  [[nodiscard]] bool isEven() const;
  [[nodiscard]] int count(const std::string& prefix) const;
  [[nodiscard]] std::vector<std::string> lines() const;
  void tell(std::string line);
  [[nodiscard]] ShardKeys keys() const { return {"g", together_}; }

  const std::shared_ptr<ManualScheduler> clock_{std::make_shared<ManualScheduler>()};
  const std::shared_ptr<LeaseStore> memory_;
  const std::shared_ptr<ManualExecutor> executor_{std::make_shared<ManualExecutor>()};
  std::vector<std::unique_ptr<Candidate>> candidates_{};
  std::size_t shards_;
  const bool together_;  ///< how the store keeps the leases of a group
  std::uint64_t seed_{0};

 private:
  void judge() const;

  mutable std::mutex mutex_;
  std::vector<std::string> lines_{};
};

}  // namespace tenure::test
