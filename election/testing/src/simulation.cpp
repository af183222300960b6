#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tenure/election/leader_elector.hpp>
#include <tenure/testing/manual_runtime.hpp>
#include <tenure/testing/simulation.hpp>

#include "seeded.hpp"
#include "simulated_network.hpp"

namespace tenure::test {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// A process with an elector, from its start to its death.
class Process {
 public:
  Process(std::string name, std::shared_ptr<LeaseStore> store, const SimulationOptions& options,
          SimulatedNetwork& network)
      : link{std::make_shared<Link>()},
        network_{network},
        perRound_{options.lease / 4},
        rate_{static_cast<Nanos::rep>(network.below(401)) - 200} {
    link->name = std::move(name);
    network.join(link);
    GroupOptions group{.group = options.leaseName, .candidate = {.id = link->name}};
    group.lease.duration = options.lease;
    Runtime runtime = world_.runtime();
    runtime.random = std::make_unique<Seeded>(network.below(~std::uint64_t{0}));
    Listener listener;
    listener.onElected = [this](const Leadership& term) { elected(term); };
    elector = std::make_unique<LeaderElector>(
        Group::make(std::move(group), throughNetwork(std::move(store), link, network)).value(), std::move(listener),
        std::move(runtime));
    elector->start();
    world_.settle();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// As SIGKILL: nothing that it sent is taken back, and what it would still do reaches nobody.
  ~Process() {
    link->gone = true;
    link->inbox.clear();  // its tasks own what owns the link
    world_.drive<bool>([this] { return elector.reset(), true; }, perRound_);
  }

  [[nodiscard]] std::optional<Nanos> nextTimer() const {
    return link->frozen ? std::nullopt : world_.clock->untilNextTimer();
  }

  void advance(Nanos by) {
    constexpr Nanos::rep million = 1'000'000;
    const Nanos mine = by + Nanos{by.count() / million * rate_};
    if (link->frozen) {
      world_.pause(mine);
    } else {
      world_.advance(mine);
    }
  }
  void settle() {
    if (!link->frozen) world_.settle();
  }

  void freeze() { link->frozen = true; }
  void thaw() {
    link->frozen = false;
    for (const auto& task : std::exchange(link->inbox, {})) task();
    world_.settle();
  }

  [[nodiscard]] bool leads() const { return term_ && term_->leads(); }
  [[nodiscard]] bool isValid() const { return term_ && term_->isValid(); }
  [[nodiscard]] FencingToken token() const { return term_->fencingToken(); }

  const std::shared_ptr<Link> link;
  std::unique_ptr<LeaderElector> elector{};
  Nanos thawsAt{0}, mendsAt{0};
  std::optional<Nanos> endsAt{};  ///< it was asked to stop

 private:
  void elected(const Leadership& term) {
    ++network_.report.terms;
    network_.tell(link->name + " is elected, token " + std::to_string(term.fencingToken().value()));
    if (!term.leads()) return;  // a late callback of a term that is over
    if (term.fencingToken() <= network_.highest) network_.violated(link->name + " leads with an old fencing token");
    network_.highest = term.fencingToken();
    term_ = term;
  }

  SimulatedNetwork& network_;
  const Nanos perRound_;
  const Nanos::rep rate_;  // parts per million by which its clocks are fast
  ManualRuntime world_{};
  std::optional<Leadership> term_{};
};

class Simulation {
 public:
  Simulation(const std::function<std::shared_ptr<LeaseStore>()>& open, const SimulationOptions& options)
      : open_{open}, options_{options}, network_{options}, processes_(options.candidates) {}

  SimulationReport run() {
    const Nanos lease = options_.lease;
    for (auto& process : processes_) begin(process);
    disturb(lease * options_.leases);
    heal();
    // What is late may still take the lease.
    const auto somebodyLeads = [this] { return leader() != nullptr; };
    const Nanos since = network_.now();
    if (!runUntil(somebodyLeads, 8 * lease)) network_.violated("there is no leader 8 leases after the last fault");
    network_.report.healedIn = duration_cast<milliseconds>(network_.now() - since);
    runUntil([] { return false; }, since + 8 * lease - network_.now());
    const Process* const stays = leader();
    const auto changed = [&] { return leader() != stays; };
    if (runUntil(changed, 4 * lease) || stays == nullptr) network_.violated("the leader changed without a fault");
    return std::move(network_.report);
  }

 private:
  void begin(std::unique_ptr<Process>& slot) {
    std::shared_ptr<LeaseStore> store = open_();
    if (!store) throw std::invalid_argument{"simulate: open() gave no store"};
    slot = std::make_unique<Process>("p" + std::to_string(++lives_), std::move(store), options_, network_);
  }

  void disturb(Nanos length) {
    const Nanos end = network_.now() + length;
    while (network_.now() < end && !network_.isViolated()) {
      const Nanos until = network_.now() + network_.upTo(options_.lease);
      runUntil([] { return false; }, until - network_.now());
      strike(processes_[network_.below(processes_.size())]);
    }
  }

  void strike(std::unique_ptr<Process>& slot) {
    const Nanos lasts = network_.upTo(3 * options_.lease);
    if (network_.chance(10)) {
      network_.storeIsDown = !network_.storeIsDown;
      network_.tell(network_.storeIsDown ? "the store cannot be reached" : "the store can be reached again");
      return;
    }
    if (!slot) return begin(slot);
    const std::string& name = slot->link->name;
    switch (network_.below(5)) {
      case 0:
        ++network_.report.freezes;
        network_.tell(name + " is frozen");
        slot->freeze();
        slot->thawsAt = network_.now() + lasts;
        break;
      case 1:
        ++network_.report.crashes;
        network_.tell(name + " is killed");
        slot.reset();
        break;
      case 2:
        ++network_.report.cuts;
        network_.tell(name + " is cut off from the store");
        slot->link->cut = true;
        slot->mendsAt = network_.now() + lasts;
        break;
      case 3:
        network_.tell(name + " steps down");
        slot->elector->stepDown("simulation");
        break;
      default:
        network_.tell(name + " stops");
        slot->elector->requestStop();
        slot->endsAt = network_.now() + 3 * options_.lease;
        break;
    }
  }

  void heal() {
    network_.tell("the faults end");
    network_.faults = false;
    network_.storeIsDown = false;
    for (auto& process : processes_) {
      if (process && process->endsAt) process.reset();
      if (!process) begin(process);
      process->link->cut = false;
      process->thaw();
    }
  }

  /// False after `limit`, and where something was violated.
  bool runUntil(const std::function<bool()>& done, Nanos limit) {
    const Nanos end = network_.now() + limit;
    while (!network_.isViolated()) {
      if (done()) return true;
      if (network_.now() >= end) return false;
      step(end - network_.now());
    }
    return false;
  }

  void step(Nanos most) {
    Nanos by = std::min(most, Nanos{options_.lease});
    if (const auto next = network_.nextEvent()) by = std::min(by, *next - network_.now());
    for (const auto& process : processes_) {
      if (const auto next = process ? process->nextTimer() : std::nullopt) by = std::min(by, *next);
    }
    by = std::max<Nanos>(by, std::chrono::microseconds{1});  // what is due at nearly the same time is done together
    for (const auto& process : processes_) {
      if (process) process->advance(by);
    }
    network_.advance(by);
    for (auto& process : processes_) {
      if (process) tend(process);
    }
    judge();
  }

  void tend(std::unique_ptr<Process>& process) {
    const Nanos now = network_.now();
    if (process->link->frozen && now >= process->thawsAt) process->thaw();
    if (process->link->cut && now >= process->mendsAt) process->link->cut = false;
    process->settle();
    if (process->endsAt && now >= *process->endsAt) process.reset();
  }

  void judge() {
    const Process* leads = nullptr;
    const Process* valid = nullptr;
    for (const auto& process : processes_) {
      if (!process) continue;
      if (process->leads() && std::exchange(leads, process.get()) != nullptr)
        network_.violated("two terms lead" + tokens());
      if (process->isValid() && std::exchange(valid, process.get()) != nullptr)
        network_.violated("two terms are valid" + tokens());
    }
  }

  [[nodiscard]] std::string tokens() const {
    std::string out;
    for (const auto& process : processes_) {
      if (process && process->isValid())
        out += "; " + process->link->name + ", token " + std::to_string(process->token().value());
    }
    return out;
  }

  [[nodiscard]] const Process* leader() const {
    const auto found =
        std::find_if(processes_.begin(), processes_.end(), [](const auto& p) { return p && p->leads(); });
    return found == processes_.end() ? nullptr : found->get();
  }

  const std::function<std::shared_ptr<LeaseStore>()>& open_;
  const SimulationOptions options_;
  SimulatedNetwork network_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::uint64_t lives_{0};
};

void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument{std::string{"SimulationOptions: "} + rule};
}

}  // namespace

SimulationReport simulate(const std::function<std::shared_ptr<LeaseStore>()>& open, const SimulationOptions& options) {
  require(options.candidates >= 1 && options.candidates <= 50, "candidates must be 1 to 50");
  require(options.leases >= 1 && options.leases <= 1'000'000, "leases must be 1 to 1,000,000");
  require(options.lease <= milliseconds{std::chrono::years{10}} / options.leases,  // a product might overflow
          "lease * leases must be 10 years at most");
  require(options.patience >= milliseconds{1} && options.patience <= std::chrono::hours{1},
          "patience must be 1 ms to 1 h");
  GroupOptions group{.group = options.leaseName, .candidate = {.id = "p1"}};
  group.lease.duration = options.lease;
  const OptionFaults faults = faultsOf(group);
  if (!faults.empty()) throw_exception_from_error(faults, BOOST_CURRENT_LOCATION);
  return Simulation{open, options}.run();
}

}  // namespace tenure::test
