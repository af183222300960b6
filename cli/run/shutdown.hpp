// How the program comes to its end: what signals ask for, with which code it ends, and when it waits no longer. Pure:
// time is an argument.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "cli/text/exit_codes.hpp"
#include "supervisor_waits.hpp"

namespace tenure::cli {

class Shutdown {
 public:
  explicit Shutdown(bool once) noexcept : once_{once} {}

  struct Request {
    bool stop{false};   ///< politely
    bool hurry{false};  ///< and at once
  };
  /// What SIGTERM, SIGINT, SIGHUP or SIGQUIT asks for at this moment.
  [[nodiscard]] Request take(int signal, const Instant& now) noexcept;
  /// `lastRun`: the code of a periodic job's run whose end is being written.
  [[nodiscard]] int codeOfStop(int signal, const std::optional<int>& lastRun) const noexcept;
  [[nodiscard]] bool isAsked() const noexcept { return askedAt_.has_value(); }

  /// The program ends with this code. The code of the first call counts.
  void leave(int code) noexcept;
  [[nodiscard]] bool isLeaving() const noexcept { return code_.has_value(); }
  /// Nothing new may begin.
  [[nodiscard]] bool isNear() const noexcept { return isLeaving() || isAsked(); }
  [[nodiscard]] int code() const noexcept { return code_.value_or(exitOk); }

  /// The wait for leadership is over. `mayHaveAcquired`: an acquisition is under way.
  void giveUpWaiting(const Instant& now, bool mayHaveAcquired) noexcept;
  /// The elector has stopped: an attempt of a wait that is over may still arrive.
  void electorStopped(ReleaseResult result) noexcept;
  /// When a wait that is over ends the program, whatever the store does; empty: no wait is over.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilQuit(const Instant& now) const noexcept;
  /// It is not known whether this copy has the lease.
  [[nodiscard]] bool mayHaveAcquired() const noexcept { return mayHaveAcquired_; }

 private:
  const bool once_;
  std::optional<Instant> askedAt_;
  std::optional<int> code_;
  std::optional<Instant> gaveUpAt_;
  bool mayHaveAcquired_{false};
};

}  // namespace tenure::cli
