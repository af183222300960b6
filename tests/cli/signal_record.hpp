// Which signals the code under test sends by pidfd, in order, except for those to reapers. The linker redirects each of
// its system calls to this code (LINKER:--wrap=syscall), including those of processes that were forked without exec.
#pragma once

#include <sys/types.h>
#include <vector>

namespace tenure::test {

/// All signals that `sender` has sent since the last `forgetSignals`.
[[nodiscard]] std::vector<int> signalsSentBy(pid_t sender);
void forgetSignals();

}  // namespace tenure::test
