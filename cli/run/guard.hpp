// The guard: a small separate process that ends a job if the job's supervisor cannot.
#pragma once

namespace tenure::cli {

/// The descriptors that a guard is started with.
struct GuardDescriptors {
  int control{-1};       ///< socket to the supervisor (guard_protocol.hpp)
  int memory{-1};        ///< the term that the supervisor publishes (guard_channel.hpp)
  int supervisor{-1};    ///< pidfd of the supervisor, which that has opened itself
  int firstProcess{-1};  ///< held while the first process of a container must wait (first_process.hpp); -1: none
};

/// Watches until the supervisor is gone and there is no job, then returns the exit code.
///
/// - The supervisor died: SIGTERM to the job at once, SIGKILL when the drain timeout or the validity of the lease is
///   over, whichever is first.
/// - The supervisor lives but does not act (SIGSTOP, a starved machine): SIGTERM when leadership ends, SIGKILL when
///   validity does, both judged by the clock rule for holders and by the last published term.
/// - The supervisor died, and it is proven that nothing of its term is left (crash_notice.hpp): it releases the term.
///
/// It has a process group of its own and blocks every signal that can be blocked, so a terminal's ^C and hang-up do not
/// reach it. It ends by itself.
[[nodiscard]] int runGuard(const GuardDescriptors& descriptors);

}  // namespace tenure::cli
