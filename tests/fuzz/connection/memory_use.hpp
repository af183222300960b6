// How much memory this process has.
#pragma once

#include <cstddef>

namespace tenure::fuzz {

/// Of the heap, in use.
[[nodiscard]] std::size_t heapBytes();

/// In the machine's memory; 0 under a sanitizer, which keeps much of its own.
[[nodiscard]] std::size_t residentBytes();

}  // namespace tenure::fuzz
