// Where callbacks of users run.
#pragma once

#include <functional>

namespace tenure {

/// Runs a task later on some thread, in no particular order: a thread pool, an io_context. It must not run the task
/// inside the call, must not block (it is called on the renewal thread) and must run every task in the end. If it
/// throws, the error is logged and the task runs on a thread of the library's own.
using Executor = std::function<void(std::function<void()>)>;

}  // namespace tenure
