// The guard: a small process of its own that ends a job whose supervisor cannot.
#pragma once

namespace tenure::cli {

/// The descriptors that a guard is started with.
struct GuardDescriptors {
  int control{-1};     ///< socket to the supervisor (guard_protocol.hpp)
  int memory{-1};      ///< the term that the supervisor publishes (guard_channel.hpp)
  int supervisor{-1};  ///< pidfd of the supervisor
};

/// Watches until the supervisor is gone and there is no job, then returns the exit code.
///
/// - The supervisor died: SIGTERM to the job at once, SIGKILL when the drain timeout or the validity of the lease is
///   over, whichever comes first.
/// - The supervisor lives but does not act (SIGSTOP, a starved machine): SIGTERM when leadership ends, SIGKILL when
///   validity does, both by the clock rule for holders and by what was last published.
///
/// It has a process group of its own and heeds no signal that can be blocked, so a terminal's ^C and hang-up do not
/// reach it: it ends by itself.
[[nodiscard]] int runGuard(const GuardDescriptors& descriptors);

}  // namespace tenure::cli
