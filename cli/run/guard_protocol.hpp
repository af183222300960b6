// The few messages between a supervisor and its guard, on a socket pair that keeps message boundaries.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The hidden subcommand that makes the program a guard.
inline constexpr const char* guardSubcommand = "__guard";

/// Both ends are the same binary, so the layout needs no version.
struct GuardMessage {
  enum class Kind : std::uint32_t {
    watch,    ///< to the guard, with the job's descriptors: the guard must end this job when its time is over
    watched,  ///< the guard's answer: it does so from now on
    forget,   ///< to the guard: the job is gone
  };
  Kind kind{Kind::forget};
  std::uint32_t number{0};  ///< of the job, so that a late answer is not taken for that of another job
  pid_t group{0};
  std::uint32_t hasLivenessFile{0};  ///< for watch: the descriptor of the liveness file comes with the message,
  std::uint32_t hasCgroup{0};        ///< and that of the job's cgroup
  char identity[33]{};
};

/// The descriptors that go with `watch`; -1: the store keeps no liveness file, or the job has no cgroup.
struct JobDescriptors {
  int leader{-1};        ///< pidfd of the job's first process
  int reaper{-1};        ///< pidfd of its reaper
  int news{-1};          ///< the reaper's eventfd; for the supervisor as long as that lives, then for the guard
  int livenessFile{-1};  ///< the liveness file; as long as any process holds it, the lease's holder counts as alive
  int cgroup{-1};        ///< job_cgroup.hpp
};

struct ReceivedMessage {
  GuardMessage message;
  UniqueFd leader;
  UniqueFd reaper;
  UniqueFd news;
  UniqueFd livenessFile;
  UniqueFd cgroup;
};

/// Never blocks. False: the other side is gone or does not read.
bool sendMessage(int socket, const GuardMessage& message, const JobDescriptors& descriptors = {}) noexcept;

/// Never blocks. Empty: nothing has come, or (`closed`) nothing will come.
[[nodiscard]] std::optional<ReceivedMessage> receiveMessage(int socket, bool& closed) noexcept;

}  // namespace tenure::cli
