// Measures what heartbeats over HTTP cost this process, compared with bare POSTs of the same bytes. Also checks that
// ten thousand of them are on time.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <tenure/election/leader_elector.hpp>

#include "bare_post.hpp"
#include "benches.hpp"
#include "cpu_time.hpp"
#include "fleet.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "stats.hpp"
#include "stub_server.hpp"

namespace tenure::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Leads `count` leases, whose starts are spread evenly over one heartbeat.
class Leaders {
 public:
  Leaders(int count, milliseconds lease, milliseconds heartbeat, const std::shared_ptr<LeaseStore>& store) {
    for (int i = 0; i < count; ++i) {
      GroupOptions options;
      options.group = fmt::format("lease-{}", i);
      options.candidate.id = "bench";
      options.lease.duration = lease;
      options.lease.heartbeat = heartbeat;
      Listener listener;
      listener.onElected = [](const Leadership&) {};
      listener.onRevoked = [](const TermEnd&) {};
      electors_.push_back(
          std::make_unique<LeaderElector>(Group::make(std::move(options), store).value(), std::move(listener)));
      electors_.back()->start();
      std::this_thread::sleep_for(std::chrono::nanoseconds{heartbeat} / count);
    }
    await([&] { return std::all_of(electors_.begin(), electors_.end(), [](const auto& e) { return e->isLeader(); }); },
          "all leases to be won");
  }
  ~Leaders() {
    for (const auto& elector : electors_) elector->requestStop();
  }
  Leaders(const Leaders&) = delete;
  Leaders& operator=(const Leaders&) = delete;

 private:
  std::vector<std::unique_ptr<LeaderElector>> electors_;
};

/// The same without the parts that an elector adds for its callbacks: leases as the lock library keeps them.
class Holders {
 public:
  Holders(int count, milliseconds lease, milliseconds heartbeat, const std::shared_ptr<LeaseStore>& store) {
    LeaseOptions options;
    options.duration = lease;
    options.heartbeat = heartbeat;
    const LeaseTiming timing = LeaseTiming::from(options).value();
    SystemRandom random;
    for (int i = 0; i < count; ++i) {
      MachineOptions machine{{fmt::format("lease-{}", i)}, newCandidate("bench", random), timing};
      const auto onNotice = [this](const LeaseNotice& notice) {
        if (std::holds_alternative<action::Elected>(notice)) ++elected_;
        if (std::holds_alternative<action::Revoked>(notice)) ++revoked_;
      };
      drivers_.push_back(std::make_unique<LeaseDriver>(LeaseDriver::Options{std::move(machine), {}, onNotice}, store,
                                                       sharedScheduler(), std::make_unique<SystemRandom>()));
      drivers_.back()->submit(event::Start{});
      std::this_thread::sleep_for(std::chrono::nanoseconds{heartbeat} / count);
    }
    await([&] { return elected_ >= count; }, "all leases to be won");
  }
  ~Holders() {
    for (const auto& driver : drivers_) driver->close();
    drain();
  }
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  [[nodiscard]] int revoked() const { return revoked_; }

 private:
  /// Waits for the scheduler's tasks, because a running task may still change the counters.
  static void drain() {
    std::promise<void> through;
    sharedScheduler()->post([&] { through.set_value(); });
    through.get_future().wait();
  }

  std::atomic<int> elected_{0};
  std::atomic<int> revoked_{0};
  std::vector<std::unique_ptr<LeaseDriver>> drivers_;
};

struct Cost {
  double micros{0};  ///< CPU, user and system, for each
  double perSecond{0};
};

Cost costOf(double cpuSeconds, std::int64_t count, seconds span) {
  return {cpuSeconds * 1e6 / static_cast<double>(count),
          static_cast<double>(count) / static_cast<double>(span.count())};
}

Cost measureTenure(const StubServer& server, int leases, const Options& options, seconds span) {
  const Leaders leaders{leases, options.lease, options.heartbeat, server.store()};
  std::this_thread::sleep_for(options.heartbeat);
  const std::int64_t before = server.updates();
  const double cpuBefore = cpuSeconds();
  std::this_thread::sleep_for(span);
  const double cpu = cpuSeconds() - cpuBefore;
  return costOf(cpu, server.updates() - before, span);
}

bool compare(int leases, const Options& options, seconds span) {
  const StubServer server{milliseconds{0}};
  const Cost ours = measureTenure(server, leases, options, span);
  const std::string request = server.firstUpdate();
  const double cpuBefore = cpuSeconds();
  const std::int64_t replies = postBarely(request, server.port(), leases, options.heartbeat, span);
  const Cost bare = costOf(cpuSeconds() - cpuBefore, replies, span);
  fmt::print("  {:6} leases: {:7.0f} heartbeats/s, {:6.1f} us of CPU each;  bare Beast: {:7.0f}/s, {:6.1f} us\n",
             leases, ours.perSecond, ours.micros, bare.perSecond, bare.micros);
  return verdict(fmt::format("CPU of a heartbeat, {} leases", leases), ours.micros / bare.micros, 1.5, "x bare");
}

/// A store that notes when each lease's renewals were acknowledged.
class WatchedStore final : public ForwardingStore {
 public:
  struct Beats {
    std::atomic<std::int64_t> last{0};
    std::atomic<std::int64_t> longestGap{0};
  };

  WatchedStore(std::shared_ptr<LeaseStore> behind, std::size_t leases)
      : ForwardingStore{std::move(behind)}, beats_{std::make_shared<std::vector<Beats>>(leases)} {}

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (request.purpose == WriteRequest::Purpose::release) {
      return ForwardingStore::write(std::move(request), options, std::move(handler));
    }
    const std::size_t lease = std::stoul(request.key.name.substr(request.key.name.find('-') + 1));
    ForwardingStore::write(std::move(request), options,
                           [all = beats_, lease, handler = std::move(handler)](WriteOutcome outcome) {
                             if (std::holds_alternative<Applied>(outcome)) note(all->at(lease));
                             handler(std::move(outcome));
                           });
  }

  /// Forgets the gaps so far. New gaps count from the last renewal of each lease.
  void begin() {
    for (Beats& beats : *beats_) beats.longestGap = 0;
  }
  [[nodiscard]] Sample gaps() const {
    Sample sample;
    const std::int64_t now = readClock().boottime.count();
    for (const Beats& beats : *beats_) {
      sample.add(static_cast<double>(std::max(beats.longestGap.load(), now - beats.last.load())) / 1e6);
    }
    return sample;
  }

 private:
  static void note(Beats& beats) {
    const std::int64_t now = readClock().boottime.count();
    const std::int64_t last = beats.last.exchange(now);
    if (last != 0) beats.longestGap = std::max(beats.longestGap.load(), now - last);
  }

  const std::shared_ptr<std::vector<Beats>> beats_;  // answers may still come while the store is being destroyed
};

}  // namespace

bool benchHeartbeat(const Options& options) {
  const seconds span{options.rounds};
  fmt::print("heartbeat: lease {} ms, heartbeat {} ms, {} s each; a server on loopback\n", options.lease.count(),
             options.heartbeat.count(), span.count());
  bool holds = true;
  for (const int leases : {100, 1'000, 10'000}) {
    if (leases <= options.leases) holds &= compare(leases, options, span);
  }
  return holds;
}

bool benchCrowd(const Options& options) {
  const int leaseCount = options.leases;
  constexpr milliseconds delay{5};
  fmt::print("crowd: {} leases in one process, lease {} ms, heartbeat {} ms, server {} ms away, {} s\n", leaseCount,
             options.lease.count(), options.heartbeat.count(), delay.count(), options.rounds);
  const StubServer server{delay};
  const auto store = std::make_shared<WatchedStore>(server.store(), static_cast<std::size_t>(leaseCount));
  { const Leaders warmUp{64, options.lease, options.heartbeat, store}; }
  const double before = residentKiB();
  const Holders holders{leaseCount, options.lease, options.heartbeat, store};
  store->begin();
  const std::int64_t updatesBefore = server.updates();
  const double cpuBefore = cpuSeconds();
  for (int second = 0; second < options.rounds; ++second) {
    std::this_thread::sleep_for(seconds{1});
    progress(second + 1, options.rounds, "seconds");
  }
  const Cost cost = costOf(cpuSeconds() - cpuBefore, server.updates() - updatesBefore, seconds{options.rounds});
  const Sample gaps = store->gaps();
  gaps.print("longest time between two heartbeats of a lease");
  fmt::print("  {:.0f} heartbeats/s, {:.1f} us of CPU each\n", cost.perSecond, cost.micros);
  // Missed: an acknowledged renewal came more than half a heartbeat after it was due.
  bool holds =
      verdict("longest time, in heartbeats", gaps.max() / static_cast<double>(options.heartbeat.count()), 1.5, "");
  holds &= verdict("leases lost", holders.revoked(), 0, "");
  const double after = residentKiB();
  holds &= verdict("memory of a lease", (after - before) / leaseCount, 3, "KiB");
  const StubServer unused{delay};  // the leases of the first are held
  const Leaders electors{leaseCount, options.lease, options.heartbeat, unused.store()};
  fmt::print("  memory of a LeaderElector, its lease included: {:.1f} KiB\n", (residentKiB() - after) / leaseCount);
  return holds;
}

}  // namespace tenure::bench
