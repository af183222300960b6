// ShardedElector: spreads a number of leases evenly over the candidates that are present.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/listener.hpp>

namespace tenure {

/// One of the leases of a sharded group.
struct Shard {
  std::size_t index{0};  ///< 0 .. number of shards - 1, in the order of the options
  std::string name;      ///< its number, or the name that the options give it

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Any of them may be empty. The contract is Listener's, for each shard by itself: the calls about one shard come in
/// order and never at the same time, onShardElected and onShardRevoked alternate strictly, both may block, and a shard
/// is released only after its onShardRevoked has returned. Calls about different shards run beside each other, as far
/// as the executor lets them.
struct ShardListener {
  std::function<void(const Shard&, const Leadership&)> onShardElected{};
  std::function<void(const Shard&, const TermEnd&)> onShardRevoked{};
  std::function<void(const Shard&, const Doubt&)> onShardInDoubt{};
};

struct OwnedShard {
  Shard shard;
  FencingToken fencingToken;
};

/// What a candidate knows of itself and of its group.
struct ShardedStatus {
  std::string group;
  std::string candidate;  ///< unique text, as in the records
  std::string store;      ///< LeaseStore::describe()
  std::vector<OwnedShard> owned{};
  std::size_t shards{0};
  std::size_t unowned{0};                  ///< shards that nobody held when it looked last
  std::vector<std::string> members{};      ///< unique texts of the candidates that were present then, in order
  std::chrono::nanoseconds listedAgo{-1};  ///< age of that knowledge; negative: nothing seen yet
  std::optional<StoreError> lastError{};   ///< of the last listing that failed, also if later ones did not
};

/// Competes for the shards of its group until it is stopped. Every candidate is to be given the same shards.
///
/// Each shard is a plain lease, `group/NAME`, with a fencing token of its own; at most one candidate is its valid
/// leader at a time, by the rules of LeaderElector (I1 to I12) and whatever is said below. How the shards are spread is
/// decided by each candidate alone, from one listing in a period: the candidates that are present end at most one shard
/// apart (but for maxLeases); when one comes or goes only as many shards move as must; and a shard moves politely, by
/// onShardRevoked, drain and release. A candidate is present while it holds one of the leases `group/member/N`.
///
/// `candidate.priority` takes nothing from anybody: of candidates that have the same number of shards, the preferred
/// one gets the next that is free and gives up the last. `OnLost::terminate` holds for each shard.
///
/// Requests: one write in a heartbeat for each own shard and one for being present; one listing in each list interval;
/// and for each shard that is taken one write, or two reads and a write. docs/sharding.md has the figures.
///
/// Threads, fork(): as LeaderElector. All shards share one scheduler, one executor and the group's store.
///
/// A moved-from elector may be destroyed or assigned to, nothing else.
class ShardedElector {
 public:
  /// Does nothing yet; no request is made before start(). Throws std::invalid_argument for a group without shards.
  explicit ShardedElector(Group group, ShardListener listener = {}, Runtime runtime = {});

  /// stop(), then as ~LeaderElector for every shard, together at most as long as stop() may take.
  ~ShardedElector();
  ShardedElector(ShardedElector&&) noexcept;
  ShardedElector& operator=(ShardedElector&&) noexcept;

  /// Starts competing and returns at once. A store that cannot be reached is retried for ever and shown in status().
  /// A second call does nothing; an elector that was stopped cannot be started again (throws std::logic_error).
  void start();

  /// Ends the candidacy: others see that it leaves, then each shard is given up politely (stop token, onShardRevoked,
  /// drain, release), all at the same time. Returns when done, at most drain timeout + one lease (+ 1 s) after the
  /// call: `released` if every shard that it led was, `notHeld` if it led none, else the worse of what the shards came
  /// to
  /// (`notDrained`, `unknown`). In one of its own callbacks, or on a thread of a scheduler of yours, it is
  /// requestStop() and returns `unknown`.
  ReleaseResult stop();

  /// Begins what stop() does and returns at once.
  void requestStop();

  /// Whether this process leads that shard now, by the clock, at this call. A short lock that is never held over I/O or
  /// user code; Leadership::leads() has none. False for an index that there is not.
  [[nodiscard]] bool owns(std::size_t shard) const;

  /// The shards that this process leads now, by the clock, in order.
  [[nodiscard]] std::vector<OwnedShard> owned() const;

  [[nodiscard]] ShardedStatus status() const;

  /// This candidate's unique text, `id#incarnation`.
  [[nodiscard]] const std::string& candidate() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
