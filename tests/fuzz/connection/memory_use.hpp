// How much memory this process uses.
#pragma once

#include <cstddef>

namespace tenure::fuzz {

/// On the heap, in use.
[[nodiscard]] std::size_t heapBytes();

/// In the machine's memory; 0 under a sanitizer, which needs much memory itself.
[[nodiscard]] std::size_t residentBytes();

}  // namespace tenure::fuzz
