// What SqliteFence and the triggers of sqliteFenceSql remember, in a database's file.
#pragma once

#include <memory>
#include <string>

#include "adapters/fence/src/fence_memory.hpp"

namespace tenure {

/// `misconfigured` trouble if there is no such file, or if it has no table tenure_fence_guard. Waits up to five seconds
/// for other writers.
[[nodiscard]] FenceResult<std::unique_ptr<FenceMemory>> openSqliteFenceMemory(const std::string& file);

}  // namespace tenure
