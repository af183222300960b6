// The test plays a supervisor for a real guard. There are two processes: one is forked from the test; the death of the
// other one counts as the supervisor's.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>

#include "cli/run/guard_channel.hpp"
#include "cli/run/job.hpp"
#include "cli/subprocess.hpp"

namespace tenure::test {

class PlayedSupervisor {
 public:
  PlayedSupervisor();
  PlayedSupervisor(const PlayedSupervisor&) = delete;
  PlayedSupervisor& operator=(const PlayedSupervisor&) = delete;
  /// Ends the guard.
  ~PlayedSupervisor();

  cli::GuardChannel channel{cli::GuardChannel::create()};

  /// A term that begins now.
  void publish(milliseconds leads, milliseconds valid);
  void startGuard();
  [[nodiscard]] pid_t guard() const noexcept { return guard_; }
  void freezeGuard() const;
  void wakeGuard() const;
  /// -1: it has not ended.
  [[nodiscard]] int guardsExitCode();

  void sendWatch(const cli::Job& job, const std::string& identity) const;
  [[nodiscard]] bool isWatched() const;
  /// What it sent before can still be read.
  void die();

 private:
  Subprocess life_;
  UniqueFd pidfd_;
  UniqueFd ours_, theirs_;
  pid_t guard_{-1};
};

}  // namespace tenure::test
