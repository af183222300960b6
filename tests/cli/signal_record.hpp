// Which signals the code under test sends by pidfd, in their order. The linker leads each of its system calls through
// here (LINKER:--wrap=syscall), in processes that were forked without exec, too.
#pragma once

#include <sys/types.h>
#include <vector>

namespace tenure::test {

/// All that `sender` has sent since the last `forgetSignals`.
[[nodiscard]] std::vector<int> signalsSentBy(pid_t sender);
void forgetSignals();

}  // namespace tenure::test
