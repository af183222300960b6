#include "connection/memory_use.hpp"

#include <fstream>
#include <malloc.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define TENURE_FUZZ_WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENURE_FUZZ_WITH_ASAN
#endif
#endif

#ifdef TENURE_FUZZ_WITH_ASAN
// The sanitizers of both compilers have this function; only clang has the header that declares it.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT: the sanitizer's name
#endif

namespace tenure::fuzz {

std::size_t heapBytes() {
#ifdef TENURE_FUZZ_WITH_ASAN
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

std::size_t residentBytes() {
#if defined(TENURE_FUZZ_WITH_ASAN) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  std::ifstream statm{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t pages = 0;
  statm >> all >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
}

}  // namespace tenure::fuzz
