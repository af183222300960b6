// An executor that callbacks can rely on.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "thread_pool.hpp"

namespace tenure {

/// Callbacks must run whatever the user's executor does: where it throws, or is empty, threads of `pool` take over. It
/// may outlive the object that made it. `name`: the owner that the log line names.
[[nodiscard]] Executor containedExecutor(Executor executor, std::shared_ptr<ThreadPool> pool, Logger logger,
                                         std::string name);

}  // namespace tenure
