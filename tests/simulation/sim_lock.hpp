// A candidacy of one term in a simulated process: what its caller has asked for, and what it was answered.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "lockcore/lease/lease_machine.hpp"
#include "simulation/sim_clock.hpp"

namespace tenure::test {

struct SimLock {
  enum class Answer {
    none,
    won,
    gaveUp,
    withdrawn,  ///< its caller has been told that it is over, by the end of its session's wait or by a cancellation
  };

  std::optional<std::chrono::nanoseconds> patience{};  ///< unset: for ever; zero: one look
  bool mustExist{false};
  bool removes{false};                 ///< its release removes the record
  std::chrono::nanoseconds waited{0};  ///< before Start
  std::optional<Instant> startedAt{};
  Answer answer{Answer::none};
  bool shownFree{false};  ///< the last record that it was shown is marked as released

  /// As the machine counts it: the parts add up.
  [[nodiscard]] std::chrono::nanoseconds waitedAt(const Instant& now) const {
    return waited + (startedAt ? elapsedForHolder(*startedAt, now) : std::chrono::nanoseconds{0});
  }
};

/// A client of a process: its candidacies have one name, and what one has seen goes to the next.
struct SimLockClient {
  std::string name;
  std::shared_ptr<const LeaseMemory> memory{};
  // What the checker knows of that memory.
  FencingToken highestShown{}, toldOf{}, mayBelieve{};
  FencingToken lastToken{};
};

}  // namespace tenure::test
