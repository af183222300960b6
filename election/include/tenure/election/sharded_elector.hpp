// ShardedElector: spreads a number of leases evenly over the candidates that are present.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/elector_view.hpp>
#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/export.hpp>

namespace tenure {

/// One of the leases of a sharded group.
struct Shard {
  std::size_t index{0};  ///< 0 .. number of shards - 1, in the order of the options
  std::string name;      ///< its number, or the name that the options give it

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Any of them may be empty. The contract is that of Listener, for each shard separately. The calls about one shard
/// come in order and never at the same time. onShardElected and onShardRevoked alternate strictly, both may block, and
/// a shard is released only after its onShardRevoked has returned. Calls about different shards run in parallel, as far
/// as the executor allows it.
struct ShardListener {
  std::function<void(const Shard&, const Leadership&)> onShardElected{};
  std::function<void(const Shard&, const TermEnd&)> onShardRevoked{};
  std::function<void(const Shard&, const Doubt&)> onShardInDoubt{};
};

struct OwnedShard {
  Shard shard;
  FencingToken fencingToken;
};

/// The knowledge of a candidate about itself and about its group.
struct ShardedStatus {
  std::string group;
  std::string candidate;  ///< unique text, as in the records
  std::string store;      ///< LeaseStore::describe()
  std::vector<OwnedShard> owned{};
  std::size_t shards{0};
  std::size_t unowned{0};                  ///< shards without a holder at its last listing
  std::vector<std::string> members{};      ///< unique texts of the candidates that were present then, in order
  std::chrono::nanoseconds listedAgo{-1};  ///< age of that knowledge; negative: nothing seen yet
  std::optional<StoreError> lastError{};   ///< of the last listing that failed, even if later ones succeeded
};

/// Competes for the shards of its group until it is stopped. Give every candidate the same shards.
///
/// Each shard is a plain lease, `group/NAME`, with its own fencing token; at most one candidate is its valid
/// leader at a time, by the rules of LeaderElector (I1 to I12). Each candidate decides
/// alone how the shards are spread, from one listing in each period. The numbers of shards of the candidates that are
/// present then differ by at most one (unless maxLeases limits them). When a candidate comes or goes, only as many
/// shards move as necessary. A shard moves in an orderly way, by onShardRevoked, drain and release. A candidate is
/// present while it holds one of the leases `group/member/N`.
///
/// `candidate.priority` takes no shard from another candidate: among candidates with the same number of shards, the
/// preferred one is the first to get a free shard and the last to give one up. `OnLost::terminate` applies to each
/// shard.
///
/// Requests: in each heartbeat one write for each own shard and one for being present; in each list interval one
/// listing; and for each shard that is taken one write, or two reads and a write. docs/sharding.md has the figures.
///
/// Threads, fork(): as LeaderElector. All shards share one scheduler, one executor and the group's store.
///
/// A moved-from elector may only be destroyed or assigned to.
class TENURE_API ShardedElector {
 public:
  /// Does nothing yet; no request is made before start(). Throws std::invalid_argument for a group without shards,
  /// and std::system_error as LeaderElector does.
  explicit ShardedElector(Group group, ShardListener listener = {}, Runtime runtime = {});

  /// Calls stop(), then does what ~LeaderElector does, for all shards together; in total at most as long as stop() may
  /// take (+ 1 s if your scheduler does not run).
  ~ShardedElector();
  ShardedElector(ShardedElector&&) noexcept;
  ShardedElector& operator=(ShardedElector&&) noexcept;

  /// Starts competing and returns at once. A store that cannot be reached is retried until stop(), and status() shows
  /// it. A second call does nothing. An elector that was stopped cannot be started again (throws std::logic_error).
  void start();

  /// Ends the candidacy: others see that it leaves, then each shard is given up in an orderly way (stop token,
  /// onShardRevoked, drain, release), all at the same time. Returns when this is done, at most drain timeout + one
  /// lease (+ 1 s) after the call. The result is `released` if every shard that it led was released, `notHeld` if it
  /// led none, otherwise the worst result of a shard (`notDrained`, `unknown`). In one of its callbacks, or on a
  /// thread of a scheduler of yours, it acts as requestStop() and returns `unknown`.
  ReleaseResult stop();

  /// Begins what stop() does and returns at once. `done`: as that of LeaderElector.
  void requestStop(std::function<void(ReleaseResult)> done = {});

  /// Whether this process leads that shard now, judged by the clock at this call. It takes a short lock that is never
  /// held over I/O or user code; Leadership::leads() takes none. False for an index that does not exist.
  [[nodiscard]] bool owns(std::size_t shard) const;

  /// The shards that this process leads now, judged by the clock, in order.
  [[nodiscard]] std::vector<OwnedShard> owned() const;

  [[nodiscard]] ShardedStatus status() const;

  /// This candidate's unique text, `id#incarnation`.
  [[nodiscard]] const std::string& candidate() const noexcept;

  /// The view for monitoring. Call it before start(); otherwise only shards that are taken later are counted.
  [[nodiscard]] ShardsView view();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
