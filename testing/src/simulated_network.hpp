// What lies between simulated processes and a store: a queue of events in virtual time, and requests that get lost in
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/testing/simulation.hpp>

namespace tenure::test {

/// Nobody but the caller may write to the register. After an answer that leaves open what was done it judges nothing
/// until it has seen a record again.
class RegisterModel {
 public:
  /// Each says what is wrong with the answer; empty: nothing.
  [[nodiscard]] std::string judge(const ReadOutcome& answer);
  [[nodiscard]] std::string judge(const WriteRequest& request, const WriteOutcome& answer);

 private:
  struct State {
    std::optional<LeaseRecord> record{};
    [[nodiscard]] std::string version() const { return record ? record->version.text() : std::string{}; }
    [[nodiscard]] std::string holder() const { return record ? record->holder : std::string{}; }
  };
  [[nodiscard]] bool admits(const WriteRequest& request) const;
  [[nodiscard]] std::string judge(const WriteRequest& request, const Applied& applied);
  [[nodiscard]] std::string judge(const WriteRequest& request, const Conflict& conflict);
  [[nodiscard]] std::string see(const std::optional<LeaseRecord>& shown);

  std::optional<State> stored_{};  ///< empty: not known
  FencingToken highest_{};
};

using Nanos = std::chrono::nanoseconds;

/// How a simulated process meets the network. The simulation owns it, and the network reads it.
struct Link {
  std::string name{};
  bool frozen{false};
  bool gone{false};                            ///< its process has died; nothing reaches it any more
  bool cut{false};                             ///< what it sends and what is sent to it is lost
  std::vector<std::function<void()>> inbox{};  ///< what came while it was frozen
  std::vector<std::weak_ptr<std::function<void()>>> hints{};
};

/// Belongs to the thread of the simulation.
class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(const SimulationOptions& options) : options_{options}, random_{options.seed} {}

  [[nodiscard]] Nanos now() const noexcept { return now_; }
  [[nodiscard]] std::optional<Nanos> nextEvent() const;
  /// Moves time, and runs the events that are due then.
  void advance(Nanos by);
  void at(Nanos when, std::function<void()> task) { events_.emplace(when, std::move(task)); }

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  [[nodiscard]] Nanos upTo(Nanos most) {
    return Nanos{static_cast<Nanos::rep>(below(static_cast<std::uint64_t>(most.count()) + 1))};
  }

  void tell(const std::string& event);
  /// The first one counts.
  void violated(const std::string& what);
  [[nodiscard]] bool isViolated() const noexcept { return !report.violation.empty(); }

  void ensureSchema(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store, Nanos timeout,
                    StatusHandler handler);
  void read(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store, const LeaseKey& key,
            Nanos timeout, ReadHandler handler);
  void write(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store, const WriteRequest& request,
             Nanos timeout, WriteHandler handler);
  void join(std::shared_ptr<Link> link);

  SimulationReport report{};
  FencingToken highest{};  ///< of all terms that began
  bool faults{true};
  bool storeIsDown{false};

 private:
  /// Runs in the process, or never if it has died.
  void deliver(const std::shared_ptr<Link>& to, std::function<void()> task);
  [[nodiscard]] bool loses(const Link& link);
  [[nodiscard]] Nanos way();
  /// A store that gives up at the end of this time has said so before `patience` is over.
  [[nodiscard]] std::chrono::milliseconds mayTake() const { return options_.patience - options_.patience / 10; }
  /// Calls the store and waits; empty: it did not answer, and that is a violation.
  template <class Outcome>
  [[nodiscard]] std::optional<Outcome> ask(const std::function<void(std::function<void(Outcome)>)>& call);
  /// A request and its answer, each of which may be slow or lost.
  template <class Outcome>
  void roundTrip(const std::shared_ptr<Link>& from, Nanos timeout, std::function<void(Outcome)> handler,
                 const std::function<std::optional<Outcome>()>& carriedOut);
  [[nodiscard]] std::optional<WriteOutcome> carryOut(LeaseStore& store, const Link& from, const WriteRequest& request);
  void hint(const Link& writer);

  const SimulationOptions options_;
  std::mt19937_64 random_;
  Nanos now_{0};
  std::multimap<Nanos, std::function<void()>> events_{};
  std::vector<std::shared_ptr<Link>> links_{};
  RegisterModel model_{};
  enum class Misuse { none, answersTwice, answersInside };
  /// Told by answers, which may come when nobody waits for them any more.
  std::shared_ptr<std::atomic<Misuse>> misuse_ = std::make_shared<std::atomic<Misuse>>(Misuse::none);
};

/// The store as one process sees it.
[[nodiscard]] std::shared_ptr<LeaseStore> throughNetwork(std::shared_ptr<LeaseStore> store, std::shared_ptr<Link> link,
                                                         SimulatedNetwork& network);

}  // namespace tenure::test
