#include "simulation/sim_plan.hpp"

#include <cmath>

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

/// The highest rate of each kind: for each message or answer, for each third of a lease, or for the run.
constexpr std::array<double, faultKinds> highest = [] {
  std::array<double, faultKinds> most{};
  const auto set = [&](FaultKind kind, double rate) { most[static_cast<std::size_t>(kind)] = rate; };
  most.fill(0.05);
  set(FaultKind::loseRequest, 0.5), set(FaultKind::loseReply, 0.7);
  set(FaultKind::twiceRequest, 0.3), set(FaultKind::twiceReply, 0.3);
  set(FaultKind::lateRequest, 0.3), set(FaultKind::lateReply, 0.3);
  set(FaultKind::reject, 0.5), set(FaultKind::throttle, 0.3), set(FaultKind::unknown, 0.5);
  set(FaultKind::credentials, 0.05), set(FaultKind::misconfigured, 0.05), set(FaultKind::corrupt, 0.05);
  set(FaultKind::hideImage, 1.0), set(FaultKind::staleRead, 0.3);
  set(FaultKind::erase, 0.15), set(FaultKind::overwrite, 0.05), set(FaultKind::loseCounter, 0.02);
  set(FaultKind::ttl, 0.5);
  set(FaultKind::foreign, 0.1), set(FaultKind::pause, 0.1), set(FaultKind::freeze, 0.01);
  set(FaultKind::slowWork, 0.5), set(FaultKind::lateTimer, 0.3), set(FaultKind::hints, 1.0);
  set(FaultKind::stuckWork, 0.2), set(FaultKind::cutOff, 0.5);
  set(FaultKind::pauseInStep, 0.01), set(FaultKind::crashInStep, 0.01);
  set(FaultKind::deferred, 0.7), set(FaultKind::stopInStep, 0.01);
  set(FaultKind::changedLease, 0.5), set(FaultKind::manualHeartbeat, 0.5), set(FaultKind::sighting, 0.7);
  set(FaultKind::newcomer, 1.0), set(FaultKind::nonsenseToken, 0.2);
  set(FaultKind::lie, 0.3), set(FaultKind::locks, 1.0);
  set(FaultKind::refusedData, 0.5);
  set(FaultKind::failover, 0.1), set(FaultKind::fork, 0.5), set(FaultKind::cancelledWait, 0.3);
  set(FaultKind::staleWriters, 1.0);
  set(FaultKind::streamLies, 0.7), set(FaultKind::namedSuccessor, 1.0);
  return most;
}();

/// Kinds that silence most of the oracles, and so are drawn less often.
bool isDrastic(FaultKind kind) {
  return kind == FaultKind::freeze || kind == FaultKind::wildRate || kind == FaultKind::overwrite ||
         kind == FaultKind::staleRead || kind == FaultKind::loseCounter || kind == FaultKind::fork;
}

bool hasFraction(FaultKind kind) { return kind != FaultKind::wildRate && kind != FaultKind::slew; }

std::size_t candidatesOf(SeededRandom& plan, bool crowd) {
  const std::size_t few = 2 + plan.below(4);
  const std::size_t many = 6 + plan.below(45);
  return crowd ? many : few;
}

StoreKind storeOf(SeededRandom& plan) {
  const std::uint64_t draw = plan.below(20);
  if (draw < 2) return StoreKind::memory;
  if (draw == 3) return StoreKind::postgresql;
  if (draw == 4 && hasEtcd()) return StoreKind::etcd;
  if (draw == 5 && hasKubernetes()) return StoreKind::kubernetes;
  return draw == 2 && hasDynamoDb() ? StoreKind::dynamodb : StoreKind::model;
}

template <std::size_t... I>
std::array<SeededRandom, faultKinds> faultStreams(const SeededRandom& root, std::index_sequence<I...> /*all*/) {
  return {root.split(100 + I)...};
}

}  // namespace

SimStreams::SimStreams(std::uint64_t seed)
    : plan{SeededRandom{seed}.split(1)},
      network{SeededRandom{seed}.split(2)},
      clock{SeededRandom{seed}.split(3)},
      load{SeededRandom{seed}.split(4)},
      process{SeededRandom{seed}.split(5)},
      faults{faultStreams(SeededRandom{seed}, std::make_index_sequence<faultKinds>{})} {}

// The order of the draws defines what a seed means. So it is written here and does not depend on the order of the
// members.
// NOLINTBEGIN(cppcoreguidelines-prefer-member-initializer)
SimPlan::SimPlan(const SimOptions& options, SimStreams& streams) {
  for (std::size_t i = 0; i < faultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    SeededRandom& own = streams.faults[i];
    const bool on = own.chance(isDrastic(kind) ? 0.12 : 0.4);
    const double fraction = static_cast<double>(1 + own.below(1000)) / 1000.0;
    if (on && options.allowed.test(i)) rates[i] = highest[i] * (hasFraction(kind) ? fraction : 1.0);
  }
  SeededRandom& plan = streams.plan;
  constexpr std::chrono::milliseconds leases[] = {100ms, 300ms, 1'000ms, 3'000ms, 10'000ms, 10'000ms, 30'000ms};
  lease = leases[plan.below(7)];
  // One run in thirty has a crowd, where crowds are allowed.
  const bool crowd = plan.below(12) == 0 && has(FaultKind::crowd);
  candidates = candidatesOf(plan, crowd);
  if (options.candidates != 0) candidates = std::min(candidates, options.candidates);
  constexpr std::int64_t slowness[] = {100'000, 5'000, 500, 25};  // the slowest message takes a lease divided by this
  mostDelay = TrueTime{lease} / slowness[plan.below(4)];
  leastDelay = mostDelay / 20;
  constexpr double bounds[] = {500e-6, 500e-6, 0.01, 0.05};
  rateBound = bounds[plan.below(4)];
  const SimMode drawn = plan.chance(0.5) ? SimMode::liveness : SimMode::safety;
  mode = options.mode == SimMode::drawn ? drawn : options.mode;
  const StoreKind kind = storeOf(plan);
  store = options.store == StoreKind::drawn ? kind : options.store;
  // Promotions are what is special about PostgreSQL.
  constexpr auto failover = static_cast<std::size_t>(FaultKind::failover);
  const bool more = store == StoreKind::postgresql && streams.faults[failover].chance(0.8);
  if (more && options.allowed.test(failover)) rates[failover] = std::max(rates[failover], highest[failover] / 4);
  // The stream is what is special about etcd and Kubernetes.
  constexpr auto streamLies = static_cast<std::size_t>(FaultKind::streamLies);
  const bool hasStream = store == StoreKind::etcd || store == StoreKind::kubernetes;
  const bool lies = hasStream && streams.faults[streamLies].chance(0.5);
  if (lies && options.allowed.test(streamLies))
    rates[streamLies] = std::max(rates[streamLies], highest[streamLies] / 4);
  // With DynamoDB a renewal that lengthens a lease takes three round trips. With a register, one that finds the record
  // changed takes up to three. All of it fits an eighth of the shortest lease, which is half of this one.
  const bool severalTrips = store == StoreKind::dynamodb || store == StoreKind::postgresql || hasStream;
  if (severalTrips) mostDelay = std::min(mostDelay, TrueTime{lease} / 100);
  leastDelay = mostDelay / 20;
}
// NOLINTEND(cppcoreguidelines-prefer-member-initializer)

LeaseTiming SimPlan::timingFor(SeededRandom& random, bool tellsProgress) const {
  constexpr int halves[] = {2, 2, 2, 4, 1};  // some candidates are configured differently from the rest
  const int half = halves[random.below(5)];
  LeaseOptions options = optionsFor(lease * (has(FaultKind::mixedLeases) ? half : 2) / 2, tellsProgress);
  if (random.chance(0.3)) options.heartbeat = std::max(options.duration / 5, std::chrono::milliseconds{10});
  const bool noMargin = random.chance(0.2);
  if (noMargin) options.stopMargin = 0ms;
  if (random.chance(0.3)) options.drainTimeout = options.duration / 4;
  return LeaseTiming::from(options).value();
}

LeaseTiming SimPlan::changedTiming(SeededRandom& random, bool tellsProgress) const {
  constexpr int halves[] = {1, 2, 4};
  return LeaseTiming::from(optionsFor(lease * halves[random.below(3)] / 2, tellsProgress)).value();
}

LeaseOptions SimPlan::optionsFor(std::chrono::milliseconds duration, bool tellsProgress) const {
  LeaseOptions options;
  options.duration = std::max(duration, minLeaseDuration);
  // The guard has to cover L (1 + e) / (1 - e); for the usual e the default does.
  if (rateBound > 500e-6) {
    const double part = 2.1 * rateBound * static_cast<double>(options.duration.count());
    options.clockMargin = std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(part)) + 1};
  }
  if (tellsProgress && has(FaultKind::stuckWork))
    options.progressTimeout = has(FaultKind::changedLease) ? lease * 4 : options.duration * 2;
  return options;
}

std::string SimPlan::text() const {
  FaultSet on;
  for (std::size_t i = 0; i < faultKinds; ++i) on.set(i, rates[i] > 0);
  return std::string{toString(mode)} + ", store " + std::string{toString(store)} + ", " + std::to_string(candidates) +
         " candidates, lease " + std::to_string(lease.count()) + " ms, messages up to " +
         std::to_string(mostDelay / std::chrono::microseconds{1}) + " us, clock rates within " +
         std::to_string(std::lround(rateBound * 1e6)) + " ppm, faults " + toString(on);
}

}  // namespace tenure::test
