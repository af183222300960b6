#include "lockcore/simulation/sim_plan.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

double sometimes(SeededRandom& random, double most) {
  if (random.chance(0.6)) return 0;
  return most * static_cast<double>(1 + random.below(1000)) / 1000.0;
}

}  // namespace

// The order of the draws is what a seed means, so it is written down here and not left to the order of the members.
// NOLINTBEGIN(cppcoreguidelines-prefer-member-initializer)
SimPlan::SimPlan(SeededRandom& random) {
  constexpr std::chrono::milliseconds leases[] = {100ms, 300ms, 1000ms, 10'000ms};
  lease = leases[random.below(4)];
  candidates = 2 + random.below(4);
  slewedClocks = random.chance(0.3);
  constexpr std::int64_t slowness[] = {100'000, 5'000, 500, 25};  // the slowest message takes this part of a lease
  mostDelay = TrueTime{lease} / slowness[random.below(4)];
  leastDelay = mostDelay / 20;

  loseRequest = sometimes(random, 0.5);
  loseReply = sometimes(random, 0.7);
  twiceRequest = sometimes(random, 0.3);
  twiceReply = sometimes(random, 0.3);
  lateRequest = sometimes(random, 0.3);
  lateReply = sometimes(random, 0.3);
  reject = sometimes(random, 0.5);
  reportUnknown = sometimes(random, 0.5);
  hideCurrent = sometimes(random, 1.0);
  corrupt = sometimes(random, 0.05);
  clientAnswersAtTimeout = random.chance(0.5);

  pause = sometimes(random, 0.1);
  suspend = sometimes(random, 0.05);
  crash = sometimes(random, 0.05);
  politeStop = sometimes(random, 0.05);
  stepDown = sometimes(random, 0.05);
  workFails = sometimes(random, 0.05);
  erase = sometimes(random, 0.05);
  operatorStepDown = sometimes(random, 0.05);
  outage = sometimes(random, 0.05);
  tokenTold = sometimes(random, 0.05);

  hint = random.chance(0.5) ? static_cast<double>(random.below(1001)) / 1000.0 : 0;
  deathNotices = random.chance(0.5);
  slowWork = sometimes(random, 0.5);
  lateTimer = sometimes(random, 0.3);
}
// NOLINTEND(cppcoreguidelines-prefer-member-initializer)

}  // namespace tenure::test
