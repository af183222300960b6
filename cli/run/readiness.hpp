// Whether this copy may be elected: `candidate.ready`, a command that is run again and again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>

#include <tenure/lockcore/clock.hpp>

#include "term_work.hpp"

namespace tenure::cli {

/// One run at a time; the next begins `every` after the end of the last. Nothing waits for a run: one that hangs is
/// killed at its own time limit, and the answer stays what it was until then. It reads no clock: `descriptor` and
/// `untilWake` say when to call `act`. One thread.
class Readiness {
 public:
  struct Options {
    std::chrono::nanoseconds every;
    /// Starts a run. Throws std::system_error if no process can be started, which counts as a run that failed.
    std::function<std::unique_ptr<HookProcess>(const Instant& now)> run;
    /// The answer has changed; before the first it is "not ready". `why`: for people.
    std::function<void(bool ready, const std::string& why)> changed;
  };
  explicit Readiness(Options options) : options_{std::move(options)} {}

  void act(const Instant& now);
  /// No further run begins; the present one is killed.
  void stop() noexcept;

  [[nodiscard]] bool isReady() const noexcept { return ready_; }
  [[nodiscard]] std::optional<pollfd> descriptor() const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWake(const Instant& now) const;

 private:
  void begin(const Instant& now);
  void answered(bool ready, const std::string& why, const Instant& now);

  Options options_;
  std::unique_ptr<HookProcess> present_{};
  std::optional<Instant> endedAt_{};  ///< of the last run; empty before the first
  bool ready_{false};
  bool told_{false};
  bool stopped_{false};
};

}  // namespace tenure::cli
