// A command that is run again and again to find something out: `candidate.ready`, `lease.probe`.
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
/// killed at its own time limit, and the answer stays what it was until then. Then it is "no", also where SIGKILL does
/// not end the run, because the kernel waits for a disk; such a run keeps the next from beginning. It reads no clock:
/// `descriptor` and `untilWake` say when to call `act`. One thread.
class RepeatedCheck {
 public:
  struct Options {
    std::chrono::nanoseconds every;
    /// Starts a run. Throws std::system_error if no process can be started, which counts as a run that failed.
    std::function<std::unique_ptr<HookProcess>(const Instant& now)> run;
    /// The answer has changed; before the first it is "no". `why`: for people.
    std::function<void(bool good, const std::string& why)> changed;
    /// A run has succeeded: what it showed was true when it began, and may no longer be (I2).
    std::function<void(const Instant& began, const Instant& now)> succeeded{};
  };
  explicit RepeatedCheck(Options options) : options_{std::move(options)} {}

  /// `wanted`: false for as long as no one needs the answer; no run begins then.
  void act(const Instant& now, bool wanted = true);
  /// No further run begins; the present one is killed and not waited for.
  void stop() noexcept;

  [[nodiscard]] bool isGood() const noexcept { return good_; }
  [[nodiscard]] std::optional<pollfd> descriptor() const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWake(const Instant& now, bool wanted = true) const;

 private:
  void begin(const Instant& now);
  void answered(bool good, const std::string& why);

  Options options_;
  std::unique_ptr<HookProcess> present_{};
  Instant beganAt_{};                 ///< the present or the last run
  std::optional<Instant> endedAt_{};  ///< of the last run; empty before the first
  bool good_{false};
  bool told_{false};
  bool stopped_{false};
};

}  // namespace tenure::cli
