// The first process of a container.
#pragma once

#include <chrono>
#include <optional>

namespace tenure::cli {

/// The kernel makes process 1 the parent of every orphan of its container, so it has to wait for the dead ones. They
/// cannot be told from children that other code waits for. So process 1 starts a child for its own work, hands on the
/// signals that it gets, and waits for whatever ends.
///
/// In process 1: the exit code of the work, once that has ended and nobody holds firstProcessWaitsFor(), for which it
/// waits at most as long as boundFirstProcess() says. The kernel then kills what is left. In the child, and where this
/// is not process 1: empty. To be called before there are threads. Throws std::system_error.
[[nodiscard]] std::optional<int> waitAsFirstProcess();

/// In the child: a descriptor, close-on-exec, for what must be able to end its own work after a crash of this process.
/// Whoever holds it must give it up in bounded time. -1: there is no first process that waits.
[[nodiscard]] int firstProcessWaitsFor() noexcept;

/// In the child, once: for how long process 1 may wait after the child's end. A holder may be stopped, for ever.
void boundFirstProcess(std::chrono::milliseconds most) noexcept;

}  // namespace tenure::cli
