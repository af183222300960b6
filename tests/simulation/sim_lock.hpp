// A candidacy of one term in a simulated process: what its caller asked for, and the answer.
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
    withdrawn,  ///< its caller was told that it is over: its session's wait ended, or it was cancelled
  };

  std::optional<std::chrono::nanoseconds> patience{};  ///< unset: for ever; zero: one look
  bool mustExist{false};
  bool removes{false};                 ///< its release removes the record
  std::chrono::nanoseconds waited{0};  ///< before Start
  std::optional<Instant> startedAt{};
  Answer answer{Answer::none};
  bool shownFree{false};  ///< the last record that it was shown is marked as released

  /// As the machine counts it: the time before Start and the time after it add up.
  [[nodiscard]] std::chrono::nanoseconds waitedAt(const Instant& now) const {
    return waited + (startedAt ? elapsedForHolder(*startedAt, now) : std::chrono::nanoseconds{0});
  }
};

/// A client of a process: all its candidacies have one name, and what one has seen is passed to the next.
struct SimLockClient {
  std::string name;
  std::shared_ptr<const LeaseMemory> memory{};
  // What the checker knows about that memory.
  FencingToken highestShown{}, topShown{}, heldShown{}, toldOf{}, mayBelieve{};
  std::optional<std::string> heldIn{};
  std::chrono::nanoseconds shownLease{0};
  FencingToken lastToken{};
};

}  // namespace tenure::test
