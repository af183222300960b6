// What a process has when it forks, for tests of what a child may call.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <boost/asio/io_context.hpp>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/election/async_elector.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/leader_follower.hpp>
#include <tenure/election/sharded_elector.hpp>
#include <tenure/jobs/job_ledger.hpp>
#include <tenure/jobs/singleton_scheduler.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/ops/http_listener.hpp>

namespace tenure::test {

struct ForkWorld {
  std::unique_ptr<LeaderElector> elector;
  ElectorView view;
  std::optional<Leadership> term;
  std::unique_ptr<AsyncElector> async;
  std::optional<AwaitedTerm> awaited;
  std::unique_ptr<ShardedElector> sharded;
  ShardsView shards;
  std::unique_ptr<LeaderFollower> follower;
  std::unique_ptr<SingletonScheduler> jobs;
  std::optional<JobLedger> ledger;
  std::unique_ptr<LockClient> client;
  std::optional<Lock> lock;
  std::optional<LeaseObserver> observer;
  std::unique_ptr<LockTokens> tokens;
  std::optional<LockToken> token;
  std::unique_ptr<HttpFence> fence;
  std::optional<FencePass> pass;
  std::optional<ops::HttpListener> listener;
  std::stop_source cancel;
};

/// Makes every call that a child may make of what it inherited, then destroys it all. Each answers at once, and
/// believes nothing. Returns the line of the first answer that is wrong; 0: none is.
[[nodiscard]] int callEverything(ForkWorld& world);

}  // namespace tenure::test
