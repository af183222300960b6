// The memory of a FencedFile, PATH.fence.
#pragma once

#include <memory>
#include <string>

#include "adapters/fence/src/fence_memory.hpp"

namespace tenure {

/// `path` is that of the file, without `.fence`. Trouble if the file is no fenced file, or if its fence cannot be read.
/// The content stays as it is.
[[nodiscard]] FenceResult<std::unique_ptr<FenceMemory>> openFencedFileMemory(const std::string& path);

}  // namespace tenure
