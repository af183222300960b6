// The memory of an HttpFence, and so of `tenure fence proxy`.
#pragma once

#include <memory>
#include <string>

#include "adapters/fence/src/fence_memory.hpp"

namespace tenure {

/// Locks the file as the fence does. Trouble while a fence has it open (a fence keeps what it knows in memory), and if
/// there is no such file.
[[nodiscard]] FenceResult<std::unique_ptr<FenceMemory>> openHttpFenceMemory(const std::string& path);

}  // namespace tenure
