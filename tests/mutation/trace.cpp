// Records what ran: g++ calls __sanitizer_cov_trace_pc at the beginning of each basic block
// (-fsanitize-coverage=trace-pc). Each shared library has a copy of this file and marks its blocks in its own file,
// which all processes of one test share. The file is memory that the kernel keeps, so it also contains the marks of a
// killed process.
//
// $TENURE_TRACE/<library>: one byte for each byte of the library; it is not 0 where a call returns to. Without
// TENURE_TRACE nothing is written.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

// Symbols of the linker: where this library begins and ends in memory.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start;  // NOLINT: the linker's name
extern "C" __attribute__((visibility("hidden"))) const char etext;         // NOLINT: the linker's name

namespace {

std::atomic<unsigned char*> marks{nullptr};

std::size_t size() { return static_cast<std::size_t>(&etext - &__ehdr_start); }

__attribute__((constructor)) void openTrace() {
  const char* const directory = std::getenv("TENURE_TRACE");
  Dl_info self{};
  if (directory == nullptr || dladdr(&__ehdr_start, &self) == 0) {
    return;
  }
  const char* const slash = std::strrchr(self.dli_fname, '/');
  const std::string path = std::string(directory) + "/" + (slash != nullptr ? slash + 1 : self.dli_fname);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    return;
  }
  if (ftruncate(file, static_cast<off_t>(size())) == 0) {
    void* const memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) {
      marks = static_cast<unsigned char*>(memory);
    }
  }
  close(file);
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc();  // NOLINT: the compiler's name

extern "C" void __sanitizer_cov_trace_pc() {  // NOLINT: the compiler's name
  unsigned char* const to = marks.load(std::memory_order_relaxed);
  if (to == nullptr) {
    return;
  }
  const auto at = static_cast<std::size_t>(static_cast<const char*>(__builtin_return_address(0)) - &__ehdr_start);
  if (at < size()) {
    to[at] = 1;
  }
}
