// Candidates of several processes want one lock: what a hand-over costs in requests, and which process gets the lock.
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "benches.hpp"
#include "fleet.hpp"
#include "lockcore/port/extended_store.hpp"
#include "stats.hpp"
#ifdef TENURE_WITH_DYNAMODB
#include <tenure/lockcore/stores/dynamodb_store.hpp>
#endif

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

constexpr int candidatesOfAProcess = 10;
constexpr std::size_t mostProcesses = 16;
constexpr auto sectionLength = 10ms;

struct Counts {
  std::atomic<std::int64_t> sections{0};
  std::atomic<std::int64_t> reads{0};
  std::atomic<std::int64_t> acquisitions{0};
  std::atomic<std::int64_t> refused{0};  ///< refused acquisitions
  std::atomic<std::int64_t> others{0};   ///< renewals and releases
  std::atomic<std::int64_t> longestWait{0};
};

/// The processes share it.
struct Tally {
  std::atomic<bool> counts{false};
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> earlier{0};  ///< sections before the first that counts
  std::array<Counts, mostProcesses> of{};
};

class SharedTally {
 public:
  SharedTally() {
    void* const page = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("no shared memory");
    tally_ = new (page) Tally{};  // lint-allow(raw-new): into memory that is mapped
  }
  ~SharedTally() { munmap(tally_, sizeof(Tally)); }
  SharedTally(const SharedTally&) = delete;
  SharedTally& operator=(const SharedTally&) = delete;
  Tally& operator*() noexcept { return *tally_; }
  Tally* operator->() noexcept { return tally_; }

 private:
  Tally* tally_{nullptr};
};

/// Counts the calls while `Tally::counts` is true.
class TallyingStore final : public ForwardingStore {
 public:
  TallyingStore(std::shared_ptr<LeaseStore> inner, Tally& tally, Counts& counts)
      : ForwardingStore{std::move(inner)}, tally_{&tally}, counts_{&counts} {}

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    count(counts_->reads);
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    count(acquires ? counts_->acquisitions : counts_->others);
    behind_->write(std::move(request), options, [this, acquires, handler = std::move(handler)](WriteOutcome outcome) {
      if (acquires && std::holds_alternative<Conflict>(outcome)) count(counts_->refused);
      handler(std::move(outcome));
    });
  }

 private:
  void count(std::atomic<std::int64_t>& of) const {
    if (tally_->counts) ++of;
  }

  Tally* const tally_;
  Counts* const counts_;
};

void workOn(LockClient& client, const AcquireOptions& options, Tally& tally, Counts& counts) {
  while (!tally.over) {
    const bool counted = tally.counts;
    const Instant from = readClock();
    LockResult<Lock> lock = client.acquire({"bench"}, options);
    if (lock.has_error()) throw std::runtime_error(lock.error().message);
    const std::int64_t waited = elapsedForHolder(from, readClock()).count();
    std::this_thread::sleep_for(sectionLength);
    lock->release();
    if (!counted) ++tally.earlier;
    if (!counted || tally.over) continue;
    ++counts.sections;
    std::int64_t longest = counts.longestWait;
    while (waited > longest && !counts.longestWait.compare_exchange_weak(longest, waited)) {
    }
  }
}

/// Makes a store of its own in each process.
using StoreMaker = std::function<std::shared_ptr<LeaseStore>()>;

StoreMaker storesOf(const Options& options, const Scratch& scratch) {
  if (options.store != "dynamodb") return [path = scratch.path("queue.db")] { return makeSqliteStore({path}); };
#ifdef TENURE_WITH_DYNAMODB
  const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe)
  if (endpoint == nullptr) throw std::runtime_error("no DynamoDB; run: scripts/bench queue --store dynamodb");
  DynamoDbStoreOptions store;
  store.table = fmt::format("bench-{:x}", std::random_device{}());
  store.region = "us-east-1";
  store.endpoint = endpoint;
  return [store] { return makeDynamoDbStore(store); };
#else
  throw std::runtime_error("this program was built without DynamoDB");
#endif
}

/// Runs in a child process. Its parent has made no object of the library before the fork.
int runProcess(const StoreMaker& stores, const AcquireOptions& options, Tally& tally, Counts& counts) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the parent gives up
  const auto store = std::make_shared<TallyingStore>(stores(), tally, counts);
  std::vector<std::thread> threads;
  for (int i = 0; i < candidatesOfAProcess; ++i) {
    threads.emplace_back([&] {
      LockClient client{store};
      workOn(client, options, tally, counts);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

void runCrowd(int processes, const StoreMaker& stores, const AcquireOptions& options, std::chrono::seconds length,
              SharedTally& tally) {
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) _exit(runProcess(stores, options, *tally, tally->of.at(static_cast<std::size_t>(i))));
    children.push_back(child);
  }
  const std::int64_t firstRound = processes * candidatesOfAProcess;
  await([&] { return tally->earlier >= firstRound; }, "as many sections as there are candidates");
  tally->counts = true;
  std::this_thread::sleep_for(length);
  tally->counts = false;
  tally->over = true;
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("a process failed");
  }
}

void reportHandOvers(int processes, bool yields, std::chrono::seconds length, Tally& tally) {
  const auto first = tally.of.begin();
  const auto last = first + processes;
  const auto sum = [&](std::atomic<std::int64_t> Counts::*what) {
    std::int64_t all = 0;
    for (auto one = first; one != last; ++one) all += (*one.*what).load();
    return static_cast<double>(all);
  };
  const double sections = sum(&Counts::sections);
  const auto fewest =
      std::min_element(first, last, [](const auto& a, const auto& b) { return a.sections < b.sections; });
  const auto most = std::max_element(first, last, [](const auto& a, const auto& b) { return a.sections < b.sections; });
  std::int64_t longest = 0;
  for (auto one = first; one != last; ++one) longest = std::max(longest, one->longestWait.load());
  fmt::print(
      "  {:>2} processes: a hand-over: {:5.2f} reads, {:4.2f} acquisitions ({:4.2f} refused), "
      "{:4.2f} other writes; sections of a process {} to {}; longest wait {:.2f} s\n",
      processes, sum(&Counts::reads) / sections, sum(&Counts::acquisitions) / sections,
      sum(&Counts::refused) / sections, sum(&Counts::others) / sections, fewest->sections.load(), most->sections.load(),
      static_cast<double>(longest) / 1e9);
  figure(fmt::format("{} processes{}: sections", processes, yields ? ", yielding" : ""),
         sections / static_cast<double>(length.count()), "a second");
}

}  // namespace

bool benchQueue(const Options& options) {
  const std::chrono::seconds length{options.rounds};
  // A store that does not notify waiters of a release has to be polled.
  const bool polls = options.store == "dynamodb";
  const AcquireOptions plain = polls ? AcquireOptions{.poll = 200ms} : AcquireOptions{};
  const AcquireOptions yielding = polls ? AcquireOptions{.poll = 200ms, .maxConsecutiveHold = 2s}
                                        : AcquireOptions{.maxConsecutiveHold = 500ms, .yieldFor = 50ms};
  for (const bool yields : {false, true}) {
    fmt::print("queue: {} candidates in each process want one lock on {} for 10 ms, {} yielding, {} s each\n",
               candidatesOfAProcess, options.store, yields ? "with" : "without", options.rounds);
    for (const int processes : {1, 2, 5, 10}) {
      if (processes > options.processes) continue;
      const Scratch scratch;
      SharedTally tally;
      runCrowd(processes, storesOf(options, scratch), yields ? yielding : plain, length, tally);
      reportHandOvers(processes, yields, length, *tally);
    }
  }
  return true;
}

}  // namespace tenure::bench
