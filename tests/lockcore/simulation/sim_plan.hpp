// What goes wrong in one simulated run, and how often.
#pragma once

#include <chrono>

#include "lockcore/simulation/sim_clock.hpp"

namespace tenure::test {

/// Swarm testing: each run switches a random subset of the fault kinds on, so that combinations are met that a mixture
/// of everything at once would drown.
struct SimPlan {
  explicit SimPlan(SeededRandom& random);

  std::chrono::milliseconds lease{1000};
  std::size_t candidates{3};
  bool slewedClocks{false};
  TrueTime leastDelay{0}, mostDelay{0};  // of a message, one way

  // Probabilities for each request.
  double loseRequest{0}, loseReply{0}, twiceRequest{0}, twiceReply{0}, lateRequest{0}, lateReply{0};
  double reject{0}, reportUnknown{0}, hideCurrent{0}, corrupt{0};
  bool clientAnswersAtTimeout{true};  // else it leaves the machine to give up

  // Probabilities for each tick of a third of a lease, for each candidate.
  double pause{0}, suspend{0}, crash{0}, politeStop{0}, stepDown{0}, workFails{0};
  // For each tick.
  double erase{0}, operatorStepDown{0}, outage{0}, tokenTold{0};

  double hint{0};  // that a change is told to a candidate
  bool deathNotices{false};
  double slowWork{0};   // that work takes up to two leases to end
  double lateTimer{0};  // that a timer fires late by up to a fifth of a lease
};

}  // namespace tenure::test
