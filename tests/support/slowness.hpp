// Bounds on time that tell a cost of another order from a usual one.
#pragma once

namespace tenure::test {

/// How many times longer such a bound is because of the sanitizer that this program was built with.
#if defined(__SANITIZE_THREAD__)
inline constexpr int slowness = 10;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int slowness = 3;
#else
inline constexpr int slowness = 1;
#endif

}  // namespace tenure::test
