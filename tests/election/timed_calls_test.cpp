// Every call of locks, electors and jobs that has a time limit keeps to it, whatever the store does and whoever holds.
// timed_calls_test.py has the list of them all, and fails for a new one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/election/async_elector.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/leader_follower.hpp>
#include <tenure/election/sharded_elector.hpp>
#include <tenure/jobs/singleton_scheduler.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_future.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/port/extended_store.hpp"
#include "support/eventually.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds allowedExcess{100};
constexpr milliseconds slowness{70};
constexpr Eventually eventually{30s};

enum class Failure { none, hangs, releasesHang, slow, refuses, rival };
constexpr Failure failures[] = {Failure::none, Failure::hangs,   Failure::releasesHang,
                                Failure::slow, Failure::refuses, Failure::rival};

const char* nameOf(Failure failure) {
  constexpr const char* names[] = {"none", "hangs", "releases hang", "slow", "refuses", "a rival holds"};
  return names[static_cast<int>(failure)];
}

/// Never answers, answers late, or answers with an error.
class FailingStore final : public ForwardingStore, public std::enable_shared_from_this<FailingStore> {
 public:
  FailingStore() : ForwardingStore{makeMemoryStore()} {}
  std::atomic<Failure> failure{Failure::none};

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    call(handler, false, [=, this](const auto& answer) { ForwardingStore::ensureSchema(options, answer); });
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    call(handler, false, [=, this](const auto& answer) { ForwardingStore::read(key, options, answer); });
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    call(handler, false, [=, this](const auto& answer) { ForwardingStore::list(prefix, options, answer); });
  }
  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    call(handler, false, [=, this](const auto& answer) { ForwardingStore::listPage(prefix, from, options, answer); });
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    call(handler, false, [=, this](const auto& answer) { ForwardingStore::listName(name, options, answer); });
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const bool releases = request.purpose == WriteRequest::Purpose::release;
    call(handler, releases, [=, this](const auto& answer) { ForwardingStore::write(request, options, answer); });
  }

 private:
  static StatusHandler::result_type refuse(const StatusHandler& handler) { handler(error()); }
  static void refuse(const ReadHandler& handler) { handler(error()); }
  static void refuse(const ListHandler& handler) { handler(error()); }
  static void refuse(const PageHandler& handler) { handler(error()); }
  static void refuse(const WriteHandler& handler) { handler(Rejected{error()}); }
  static StoreError error() { return {ErrorClass::transient, "refused"}; }

  template <class Handler, class Forward>
  void call(Handler handler, bool releases, const Forward& forward) {
    switch (failure.load()) {
      case Failure::hangs:
        return;
      case Failure::releasesHang:
        return releases ? void() : forward(handler);
      case Failure::refuses:
        return static_cast<void>(sharedScheduler()->post([handler] { refuse(handler); }));
      case Failure::slow:
        return static_cast<void>(sharedScheduler()->post([self = shared_from_this(), forward, handler] {
          sharedScheduler()->schedule(slowness, [self, forward, handler] { forward(handler); });
        }));
      case Failure::none:
      case Failure::rival:
        return forward(handler);
    }
  }
};

/// What a call needs, made anew for each: a client with the warm lock `own`, a token, a rival.
struct World {
  explicit World(Failure what) : failure{what} {
    if (what != Failure::rival) return;
    for (const char* key : {"b", "g", "s/0", "own"}) theirs.push_back(rival.acquire({key}, {.waitFor = 10s}).value());
  }
  ~World() { store->failure = Failure::none; }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void begin() const { store->failure = failure; }
  [[nodiscard]] Group group(unsigned shards = 0) const {
    GroupOptions options{.group = shards > 0 ? "s" : "g", .candidate = {.id = "c"}, .lease = {.duration = lease}};
    options.lease.drainTimeout = drain;
    options.shards.count = shards;
    return Group::make(options, store).value();
  }
  template <class Elector>
  void lead(Elector& elector) {
    elector.start();
    const bool should = failure != Failure::rival;
    EXPECT_TRUE(!should || eventually([&] { return led(elector); }));
    begin();
  }
  static bool led(LeaderElector& elector) { return elector.isLeader(); }
  static bool led(AsyncElector& elector) { return elector.elector().isLeader(); }
  static bool led(ShardedElector& elector) { return !elector.owned().empty(); }
  static bool led(SingletonScheduler& jobs) { return jobs.status().elector.fencingToken.has_value(); }

  static constexpr milliseconds lease{1'000};
  static constexpr milliseconds drain{300};
  const Failure failure;
  std::shared_ptr<FailingStore> store{std::make_shared<FailingStore>()};
  LockClient rival{store, {.lease = {.duration = 60s}}};
  std::vector<Lock> theirs{};
};

/// The limit of a call, and the call, which gives the time that it took.
struct TimedCall {
  std::string name;
  nanoseconds limit;
  std::function<nanoseconds(World&)> measure;
};

/// The time that the call takes, without that of its result's destructor, which comes when the store answers again.
template <class Call>
nanoseconds timeOf(World& world, const Call& call) {
  const Instant from = readClock();
  const std::shared_ptr<void> result = call();
  const nanoseconds took = elapsedForHolder(from, readClock());
  world.store->failure = Failure::none;
  return took;
}

template <class Result>
std::shared_ptr<void> kept(Result result) {
  return std::make_shared<Result>(std::move(result));
}

template <class T>
std::shared_ptr<void> destroyed(std::unique_ptr<T>& one) {
  one.reset();
  return nullptr;
}

/// A client that has made its first acquisition, so that only the call itself meets the failure.
std::unique_ptr<LockClient> clientOf(const World& world) {
  LockClientOptions options;
  options.lease.duration = World::lease;
  options.lease.drainTimeout = World::drain;
  auto client = std::make_unique<LockClient>(world.store, options);
  static_cast<void>(client->acquire({"warm"}));
  return client;
}

TimedCall ofClient(std::string name, nanoseconds limit, std::function<std::shared_ptr<void>(LockClient&)> call) {
  return {std::move(name), limit, [call = std::move(call)](World& world) {
            const auto client = clientOf(world);
            world.begin();
            return timeOf(world, [&] { return call(*client); });
          }};
}

TimedCall ofLock(std::string name, nanoseconds limit, std::function<std::shared_ptr<void>(Lock&)> call) {
  return {std::move(name), limit, [call = std::move(call)](World& world) {
            const auto client = clientOf(world);
            Lock lock = client->acquire({"mine"}).value();
            world.begin();
            return timeOf(world, [&] { return call(lock); });
          }};
}

TimedCall ofToken(std::string name, nanoseconds limit,
                  std::function<std::shared_ptr<void>(LockTokens&, const LockToken&)> call) {
  return {std::move(name), limit, [call = std::move(call)](World& world) {
            LockTokens tokens{world.store};
            const LockToken token = tokens.acquire({"mine"}, {.lease = 60s}).value();
            world.begin();
            return timeOf(world, [&] { return call(tokens, token); });
          }};
}

template <class Elector, class... Arguments>
TimedCall ofElector(std::string name, nanoseconds limit,
                    std::function<std::shared_ptr<void>(std::unique_ptr<Elector>&)> call, unsigned shards,
                    Arguments... arguments) {
  return {std::move(name), limit, [=](World& world) {
            auto elector = std::make_unique<Elector>(world.group(shards), arguments...);
            world.lead(*elector);
            return timeOf(world, [&] { return call(elector); });
          }};
}

template <class Elector, class... Arguments>
void addElector(std::vector<TimedCall>& all, const std::string& name, unsigned shards, Arguments... arguments) {
  constexpr nanoseconds limit = World::drain + World::lease + 1s;
  const auto stop = [](std::unique_ptr<Elector>& one) { return kept(one->stop()); };
  all.push_back(ofElector<Elector>(name + "::stop", limit, stop, shards, arguments...));
  const auto destroy = [](std::unique_ptr<Elector>& one) { return destroyed(one); };
  all.push_back(ofElector<Elector>(name + "::~" + name, limit, destroy, shards, arguments...));
}

std::vector<TimedCall> callsOfLocks() {
  constexpr milliseconds wait{100};
  constexpr nanoseconds look{5s};
  constexpr nanoseconds lease{World::lease};
  constexpr nanoseconds close = World::drain + World::lease + 1s;
  std::vector<TimedCall> all;
  const auto client = [&](const char* name, nanoseconds limit, std::function<std::shared_ptr<void>(LockClient&)> call) {
    all.push_back(ofClient(name, limit, std::move(call)));
  };
  client("LockClient::acquire", wait, [=](auto& one) { return kept(one.acquire({"b"}, {.waitFor = wait})); });
  client("LockClient::tryAcquire", look, [](auto& one) { return kept(one.tryAcquire({"b"})); });
  client("LockClient::acquireAsync", wait,
         [=](auto& one) { return kept(acquireFuture(one, {"b"}, {.waitFor = wait}).get()); });
  client("LockClient::acquireAll", wait, [=](auto& one) {
    return kept(one.acquireAll({{"a"}, {"b"}}, {.waitFor = wait}));
  });
  client("LockClient::acquireAll, one look", look, [=](auto& one) {
    return kept(one.acquireAll({{"a"}, {"b"}}, {.waitFor = 0ms}));
  });
  client("LockClient::withLock", wait + lease + 1s,
         [=](auto& one) { return kept(one.withLock({"b"}, [](const Lock&) {}, {.waitFor = wait})); });
  client("LockClient::peek", lease, [](auto& one) { return kept(one.peek({"b"})); });
  client("LockClient::list", lease, [](auto& one) { return kept(one.list("")); });
  client("LockClient::scan", lease,
         [](auto& one) { return kept(one.scan("", [](const LeaseView&) { return true; })); });
  const auto lock = [&](const char* name, nanoseconds limit, std::function<std::shared_ptr<void>(Lock&)> call) {
    all.push_back(ofLock(name, limit, std::move(call)));
  };
  lock("Lock::renew", lease, [](Lock& one) { return kept(one.renew()); });
  lock("Lock::extend", lease, [](Lock& one) { return kept(one.extend(10ms)); });
  lock("Lock::ensure", lease, [](Lock& one) { return kept(one.ensure(700ms)); });
  lock("Lock::setData", lease, [](Lock& one) { return kept(one.setData("x")); });
  lock("Lock::release", wait, [=](Lock& one) { return kept(one.release({.waitFor = wait})); });
  lock("Lock::~Lock", lease + 1s, [](Lock& one) {
    one = Lock{};
    return kept(0);
  });
  all.push_back({"LockClient::close", close, [](World& world) {
                   const auto one = clientOf(world);
                   const Lock held = one->acquire({"mine"}).value();
                   world.begin();
                   return timeOf(world, [&] { return kept(one->close()); });
                 }});
  // A callback that blocks has no time of its own.
  all.push_back({"LockClient::~LockClient", close, [](World& world) {
                   auto one = clientOf(world);
                   const auto ends = std::make_shared<std::atomic<bool>>(false);  // the callback outlasts this function
                   Lock held = one->acquire({"mine"}).value();
                   held.onLost([ends](const TermEnd&) { EXPECT_TRUE(eventually([&] { return ends->load(); })); });
                   world.begin();
                   const nanoseconds took = timeOf(world, [&] { return destroyed(one); });
                   *ends = true;
                   return took;
                 }});
  return all;
}

std::vector<TimedCall> callsOfTokens() {
  constexpr milliseconds wait{100};
  std::vector<TimedCall> all;
  const auto token = [&](const char* name, nanoseconds limit,
                         std::function<std::shared_ptr<void>(LockTokens&, const LockToken&)> call) {
    all.push_back(ofToken(name, limit, std::move(call)));
  };
  token("LockTokens::acquire", wait, [=](LockTokens& tokens, const LockToken&) {
    return kept(tokens.acquire({"b"}, {.lease = 60s, .waitFor = wait}));
  });
  token("LockTokens::acquire, one look", 5s, [](LockTokens& tokens, const LockToken&) {
    return kept(tokens.acquire({"b"}, {.lease = 60s, .waitFor = 0ms}));
  });
  token("LockTokens::renew", wait,
        [=](LockTokens& tokens, const LockToken& one) { return kept(tokens.renew(one, {.budget = wait})); });
  token("LockTokens::release", wait,
        [=](LockTokens& tokens, const LockToken& one) { return kept(tokens.release(one, wait)); });
  token("LockTokens::resume", wait, [=](LockTokens& tokens, const LockToken& one) {
    return kept(tokens.resume(one.key(), one.owner(), {.budget = wait}));
  });
  token("LockTokens::check", 5s, [](LockTokens& tokens, const LockToken& one) { return kept(tokens.check(one)); });
  return all;
}

std::vector<TimedCall> callsOfElectors() {
  std::vector<TimedCall> all;
  const auto work = [](const Leadership& term) { EXPECT_TRUE(eventually([&] { return !term.leads(); })); };
  addElector<LeaderElector>(all, "LeaderElector", 0, Listener{.onElected = work});
  addElector<AsyncElector>(all, "AsyncElector", 0);
  addElector<ShardedElector>(all, "ShardedElector", 2);
  const ScheduledJob job{"job", Schedule::every(1h).value(), {}, {}, [](const JobRun&) {}};
  addElector<SingletonScheduler>(all, "SingletonScheduler", 0, std::vector<ScheduledJob>{job});
  all.push_back({"LeaderFollower::stop", World::lease, [](World& world) {
                   LeaderFollower follower{world.group(), [](const auto&) {}};
                   follower.start();
                   world.begin();
                   return timeOf(world, [&] {
                     follower.stop();
                     return kept(0);
                   });
                 }});
  return all;
}

class TimedCalls : public testing::TestWithParam<Failure> {
 protected:
  /// All at the same time: they wait for different things, and none may delay another.
  static void measure(const std::vector<TimedCall>& calls) {
    const LatenessProbe probe;
    std::vector<nanoseconds> took(calls.size());
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      all.emplace_back([&, i] {
        World world{GetParam()};
        took[i] = calls[i].measure(world);
      });
    }
    for (std::thread& one : all) one.join();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const nanoseconds limit = calls[i].limit;
      EXPECT_LE(took[i], limit + allowedExcess + 2 * probe.worst()) << calls[i].name;
      std::cout << std::left << std::setw(36) << calls[i].name << " limit " << std::setw(5) << limit / 1ms << " took "
                << std::setw(5) << took[i] / 1ms << " excess " << std::max(took[i] - limit, 0ns) / 1ms << " ms\n";
    }
  }
};

TEST_P(TimedCalls, ofLocksKeepToTheirLimits) { measure(callsOfLocks()); }

TEST_P(TimedCalls, ofTokensKeepToTheirLimits) { measure(callsOfTokens()); }

TEST_P(TimedCalls, ofElectorsKeepToTheirLimits) { measure(callsOfElectors()); }

INSTANTIATE_TEST_SUITE_P(Failures, TimedCalls, testing::ValuesIn(failures), [](const auto& one) {
  std::string name = nameOf(one.param);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace tenure::test
