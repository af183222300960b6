// The supervisor's side of the guard: starts it, tells it about the job, replaces it when it dies.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <sys/types.h>

#include <tenure/lockcore/clock.hpp>

#include "guard_channel.hpp"
#include "guard_protocol.hpp"
#include "job.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

class GuardKeeper {
 public:
  /// Starts a guard: `program` run with the hidden subcommand. `channel` must outlive the keeper. Main thread only.
  /// Throws std::system_error.
  explicit GuardKeeper(const GuardChannel& channel, std::string program = "/proc/self/exe");
  GuardKeeper(const GuardKeeper&) = delete;
  GuardKeeper& operator=(const GuardKeeper&) = delete;
  /// Ends the guard. The job must be gone before.
  ~GuardKeeper();

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Readable when the guard has answered.
  [[nodiscard]] int control() const noexcept { return control_.get(); }
  /// Readable when the guard has ended; -1 when it ended for good.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }

  /// Hands a job over; `isWatching` turns true when the guard has answered. The job must live until `forget`.
  /// `livenessFile` (-1: none) is the descriptor of the liveness file; the kernel's lock on it shows that the holder
  /// lives. The guard holds it until nothing of the job is left, because a job may close descriptors that it inherits.
  void watch(const Job& job, const std::string& identity, int livenessFile = -1);
  void forget() noexcept;
  void takeAnswers() noexcept;
  [[nodiscard]] bool isWatching() const noexcept { return watching_; }

  /// To be called when the guard has ended: starts another guard and hands it the present job. False: guards keep dying
  /// or cannot be started, so the job must not go on; `why` says what happened. There is no guard from then on.
  [[nodiscard]] bool replace(std::string& why) noexcept;

 private:
  void start();
  void reap() noexcept;

  const GuardChannel& channel_;
  std::string program_;
  UniqueFd self_;  ///< pidfd of this process, for the guard to inherit
  pid_t id_{-1};
  UniqueFd pidfd_;
  UniqueFd control_;
  std::uint32_t number_{0};
  std::optional<GuardMessage> job_;
  JobDescriptors descriptors_{};
  bool watching_{false};
  std::deque<Instant> replacements_;
};

}  // namespace tenure::cli
