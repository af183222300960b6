#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/ops/metrics.hpp>

#include "lockcore/port/extended_store.hpp"
#include "metric_table.hpp"

namespace tenure::ops {
namespace {

using std::chrono::nanoseconds;

enum class Operation {
  ensureSchema,
  read,
  acquire,
  renew,
  release,
  list,
  requestStepDown,
  remove,
  readTokens,
  setTokens
};
constexpr std::array<const char*, 10> operationNames{"ensure_schema", "read",      "acquire",           "renew",
                                                     "release",       "list",      "request_step_down", "remove",
                                                     "read_tokens",   "set_tokens"};

/// Of a write: applied, conflict, rejected or unknown. Of any other request: answered or failed.
enum class Outcome { applied, conflict, rejected, unknown, answered, failed };
constexpr std::array<const char*, 6> outcomeNames{"applied", "conflict", "rejected", "unknown", "answered", "failed"};

Outcome outcomeOf(const WriteOutcome& outcome) noexcept { return static_cast<Outcome>(outcome.index()); }
template <typename Value>
Outcome outcomeOf(const StoreResult<Value>& result) noexcept {
  return result ? Outcome::answered : Outcome::failed;
}
static_assert(std::is_same_v<WriteOutcome, std::variant<Applied, Conflict, Rejected, Unknown>>);

/// Counted by any thread.
class Meter {
 public:
  explicit Meter(std::string store) : store_{std::move(store)} {}

  void count(Operation operation, Outcome outcome, nanoseconds time) noexcept {
    Row& row = rows_[static_cast<std::size_t>(operation)];
    add(row.answers);
    add(row.outcomes[static_cast<std::size_t>(outcome)]);
    std::size_t bucket = 0;
    while (bucket < renewalTimeBounds.size() && time > std::chrono::milliseconds{renewalTimeBounds[bucket]}) ++bucket;
    add(row.times[bucket]);
    add(row.timeSum, static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
  }

  [[nodiscard]] std::vector<MetricFamily> families() const {
    MetricFamily requests = familyOf("tenure_store_requests");
    MetricFamily times = familyOf("tenure_store_request_duration_seconds");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Labels labels{{"store", store_}, {"operation", operationNames[i]}};
      addRequests(requests, labels, rows_[i]);
      if (!requests.samples.empty() && requests.samples.back().labels[1] == labels[1])
        addTimes(times, labels, rows_[i]);
    }
    return {std::move(requests), std::move(times)};
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  struct Row {
    std::array<Counter, outcomeNames.size()> outcomes{};
    std::array<Counter, renewalTimeBounds.size() + 1> times{};
    Counter answers{0};
    Counter timeSum{0};
  };

  static void add(Counter& counter, std::uint64_t more = 1) noexcept {
    counter.fetch_add(more, std::memory_order_relaxed);
  }
  static double valueOf(const Counter& counter) noexcept {
    return static_cast<double>(counter.load(std::memory_order_relaxed));
  }

  static void addRequests(MetricFamily& family, const Labels& labels, const Row& row) {
    for (std::size_t i = 0; i < outcomeNames.size(); ++i) {
      if (valueOf(row.outcomes[i]) == 0) continue;
      Labels own = labels;
      own.emplace_back("outcome", outcomeNames[i]);
      family.samples.push_back({"_total", std::move(own), valueOf(row.outcomes[i])});
    }
  }
  static void addTimes(MetricFamily& family, const Labels& labels, const Row& row) {
    double sum = 0;
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      sum += valueOf(row.times[i]);
      Labels own = labels;
      own.emplace_back("le", boundText(i));
      family.samples.push_back({"_bucket", std::move(own), sum});
    }
    family.samples.push_back({"_count", labels, sum});
    family.samples.push_back({"_sum", labels, valueOf(row.timeSum) / 1e9});
  }

  const std::string store_;
  std::array<Row, operationNames.size()> rows_{};
};

class CountingStore final : public ForwardingStore {
 public:
  CountingStore(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Meter> meter)
      : ForwardingStore{std::move(behind)}, meter_{std::move(meter)} {}

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    behind_->ensureSchema(options, counted(Operation::ensureSchema, std::move(handler)));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, counted(Operation::read, std::move(handler)));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    constexpr std::array purposes{Operation::acquire, Operation::renew, Operation::release};
    const Operation operation = purposes[static_cast<std::size_t>(request.purpose)];
    behind_->write(std::move(request), options, counted(operation, std::move(handler)));
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    behind_->list(std::move(prefix), options, counted(Operation::list, std::move(handler)));
  }
  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    behind_->listPage(std::move(prefix), std::move(from), options, counted(Operation::list, std::move(handler)));
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    behind_->listName(std::move(name), options, counted(Operation::list, std::move(handler)));
  }
  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    behind_->requestStepDownFor(key, std::move(request), options,
                                counted(Operation::requestStepDown, std::move(handler)));
  }
  void remove(const LeaseKey& key, RecordVersion seen, CallOptions options, WriteHandler handler) override {
    behind_->remove(key, std::move(seen), options, counted(Operation::remove, std::move(handler)));
  }
  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    behind_->readTokens(key, options, counted(Operation::readTokens, std::move(handler)));
  }
  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    behind_->setTokens(key, std::move(expected), token, options, counted(Operation::setTokens, std::move(handler)));
  }

 private:
  template <typename Result>
  [[nodiscard]] std::function<void(Result)> counted(Operation operation, std::function<void(Result)> handler) const {
    return [meter = meter_, operation, sent = readClock(), handler = std::move(handler)](Result result) {
      meter->count(operation, outcomeOf(result), elapsedForChallenger(sent, readClock()));
      handler(std::move(result));
    };
  }

  const std::shared_ptr<Meter> meter_;
};

}  // namespace

MeteredStore metered(std::shared_ptr<LeaseStore> behind, std::string name) {
  auto meter = std::make_shared<Meter>(std::move(name));
  return {std::make_shared<CountingStore>(std::move(behind), meter), [meter] { return meter->families(); }};
}

}  // namespace tenure::ops
