// How much of directories this process reads.
#pragma once

#include <cstdint>

namespace tenure::sqlite_test {

/// The directory entries that all threads of this process have read so far.
[[nodiscard]] std::uint64_t namesRead() noexcept;

}  // namespace tenure::sqlite_test
