// Everything that a forked child may call. fork_calls_test.py fails for a public function that is not called here.
#include <chrono>
#include <string>
#include <utility>

#include <tenure/election/elector_asio.hpp>
#include <tenure/lockcore/lock_asio.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_future.hpp>
#include <tenure/ops/snapshot.hpp>

#include "fork_world.hpp"

#define EXPECT_HERE(condition) \
  if (!(condition)) return __LINE__

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

template <class Result>
bool forked(const Result& result) {
  return result.has_error() && result.error().code == LockErrc::forked;
}

int callElectors(ForkWorld& world) {
  LeaderElector& elector = *world.elector;
  EXPECT_HERE(!elector.isLeader() && !elector.fencingToken() && elector.remaining() == 0ns);
  EXPECT_HERE(elector.status().group == "g" && !elector.status().fencingToken && !elector.candidate().empty());
  EXPECT_HERE(!elector.view().standing().leads);
  elector.stepDown();
  elector.setReady(false);
  elector.start();
  elector.addListener({});
  elector.requestStop();
  EXPECT_HERE(elector.stop() == ReleaseResult::notHeld);
  const ElectorView& view = world.view;
  EXPECT_HERE(view && !view.standing().leads && !view.tryStatus());
  EXPECT_HERE(view.group() == "g" && !view.candidate().empty() && view.leaseDuration() == 3s && !view.observes());
  EXPECT_HERE(!ops::snapshotOf(view).standing.leads && !view.store().empty());
  static_cast<void>(view.counts());
  static_cast<void>(view.events());
  static_cast<void>(view.electedAtMillis());
  static_cast<void>(view.overdue());
  LeaderFollower& follower = *world.follower;
  follower.start();
  EXPECT_HERE(!follower.current() && !follower.status().leader);
  follower.stop();
  ShardedElector& sharded = *world.sharded;
  EXPECT_HERE(!sharded.owns(0) && sharded.owned().empty() && sharded.status().owned.empty());
  EXPECT_HERE(!sharded.candidate().empty() && sharded.view());
  sharded.start();
  sharded.requestStop();
  EXPECT_HERE(sharded.stop() == ReleaseResult::notHeld);
  EXPECT_HERE(world.shards && world.shards.group() == "s");
  static_cast<void>(world.shards.tryElectors());
  static_cast<void>(world.shards.competes());
  return 0;
}

int callTerms(ForkWorld& world) {
  const Leadership& term = *world.term;
  EXPECT_HERE(!term.leads() && !term.isValid() && term.remaining() == 0ns && term.state().token.isNone());
  EXPECT_HERE(term.stopToken().stop_requested() && !term.fencingToken().isNone());
  EXPECT_HERE(term.leaseName() == "g" && !term.holder().empty());
  term.reportProgress();
  term.reportEffective();
  term.reportStaleToken(FencingToken{9});
  AwaitedTerm& awaited = *world.awaited;
  bool revoked = false;
  whenRevoked(
      awaited.leadership(), [&](bool over) { revoked = over; }, world.cancel.get_token());
  EXPECT_HERE(revoked && !awaited.leads() && !awaited.leadership().leads() && !awaited.fencingToken().isNone());
  AsyncElector& async = *world.async;
  bool told = false;
  async.whenElected([&](const std::optional<AwaitedTerm>& none) { told = !none; }, world.cancel.get_token());
  EXPECT_HERE(told && !async.elector().isLeader());
  async.start();
  async.requestStop();
  EXPECT_HERE(async.stop() == ReleaseResult::notHeld);
  SingletonScheduler& jobs = *world.jobs;
  EXPECT_HERE(!jobs.status().elector.fencingToken);
  jobs.start();
  jobs.stepDown();
  jobs.requestStop();
  EXPECT_HERE(jobs.stop() == ReleaseResult::notHeld);
  JobLedger& ledger = *world.ledger;
  EXPECT_HERE(!*ledger.next() && !*ledger.tryNext() && ledger.end(RunOutcome::succeeded).has_error());
  EXPECT_HERE(ledger.history().past.empty());
  return 0;
}

int callLock(Lock& lock) {
  EXPECT_HERE(!lock.isHeld() && !lock.isValid() && lock.remaining() == 0ns && lock.stopToken().stop_requested());
  EXPECT_HERE(forked(lock.renew()) && forked(lock.extend(1s)) && forked(lock.ensure(1ms)) && forked(lock.share()));
  EXPECT_HERE(forked(lock.setData("x")) && forked(lock.clearData()) && forked(lock.onExpiring(1ms, {})));
  EXPECT_HERE(!lock.loss() && lock.data().empty() && lock.attributes().empty() && lock.lease() == 10s);
  EXPECT_HERE(lock.key().name == "held" && lock.leaseName() == "held" && !lock.holder().empty());
  EXPECT_HERE(!lock.fencingToken().isNone());
  lock.onLost([](const TermEnd&) {});
  bool told = false;
  lock.renewAsync({}, [&](const LockResult<void>& result) { told = forked(result); });
  EXPECT_HERE(told);
  lock.reportStaleToken(FencingToken{9});
  told = false;
  lock.releaseAsync({}, [&](ReleaseResult result) { told = result == ReleaseResult::notHeld; });
  EXPECT_HERE(told && lock.release() == ReleaseResult::notHeld);
  return 0;
}

int callClient(ForkWorld& world) {
  LockClient& client = *world.client;
  EXPECT_HERE(forked(client.acquire({"k"})) && forked(client.tryAcquire({"k"})) && forked(client.peek({"k"})));
  EXPECT_HERE(forked(client.acquireAll({LeaseKey{"a"}, LeaseKey{"b"}})) && forked(client.list("")));
  EXPECT_HERE(forked(client.withLock({"k"}, [](const Lock&) {})) && forked(client.observe({"k"})));
  EXPECT_HERE(forked(client.scan("", [](const LeaseView&) { return true; })));
  bool told = false;
  client.acquireAsync(
      {"k"}, {}, [&](const LockResult<Lock>& result) { told = forked(result); }, world.cancel.get_token());
  EXPECT_HERE(told && forked(acquireFuture(client, {"k"}).get()));
  EXPECT_HERE(!client.holds({"held"}) && client.held().empty() && !world.observer->holder());
  EXPECT_HERE(!client.candidate().empty() && client.store() && client.close().locks.empty());
  LockTokens& tokens = *world.tokens;
  EXPECT_HERE(forked(tokens.acquire({"k"})) && forked(tokens.renew(*world.token)) &&
              forked(tokens.check(*world.token)));
  EXPECT_HERE(forked(tokens.release(*world.token)) && forked(tokens.isActive(*world.token)));
  return forked(tokens.resume({"k"}, "somebody#1")) ? 0 : __LINE__;
}

int callServers(ForkWorld& world) {
  HttpFence& fence = *world.fence;
  const FencedRequest request{.method = "PUT"};
  const auto verdict = fence.admit(request, [](HttpVerdict) {});
  EXPECT_HERE(verdict && std::holds_alternative<HttpProblem>(*verdict) && fence.problemByHead(request));
  EXPECT_HERE(!fence.highestSeen("g") && world.pass->fenced());
  world.pass->onOvertaken([] {});
  fence.close();
  ops::HttpListener& listener = *world.listener;
  listener.watch(world.view);
  listener.watch(world.shards);
  listener.watch(ops::MetricSource{[] { return std::vector<ops::MetricFamily>{}; }});
  EXPECT_HERE(!listener.address().empty());
  return 0;
}

/// Away and back, over one that holds nothing.
template <class Handle>
void moveAround(Handle& handle) {
  Handle moved{std::move(handle)};
  handle = std::move(moved);
}

/// Each answer is posted to a loop of the child's own.
int callOnLoop(ForkWorld& world) {
  boost::asio::io_context io;
  int told = 0;
  asyncAcquire(*world.client, io.get_executor(), {"k"}, {}, [&](const LockResult<Lock>& got) { told += forked(got); });
  asyncRenew(*world.lock, io.get_executor(), {}, [&](const LockResult<void>& got) { told += forked(got); });
  asyncRelease(*world.lock, io.get_executor(), {}, [&](ReleaseResult got) { told += got == ReleaseResult::notHeld; });
  asyncWaitElected(*world.async, io.get_executor(), [&](const std::optional<AwaitedTerm>& none) { told += !none; });
  asyncWaitRevoked(*world.awaited, io.get_executor(), [&](bool over) { told += over; });
  io.run();
  return told == 5 ? 0 : __LINE__;
}

}  // namespace

int callEverything(ForkWorld& world) {
  for (const auto call : {callElectors, callTerms, callClient, callServers, callOnLoop}) {
    if (const int wrong = call(world); wrong != 0) return wrong;
  }
  if (const int wrong = callLock(*world.lock); wrong != 0) return wrong;
  moveAround(*world.elector);
  moveAround(*world.async);
  moveAround(*world.sharded);
  moveAround(*world.jobs);
  moveAround(*world.ledger);
  moveAround(*world.client);
  moveAround(*world.lock);
  moveAround(*world.pass);
  moveAround(*world.listener);
  const ForkWorld gone{std::move(world)};
  return 0;
}

}  // namespace tenure::test
