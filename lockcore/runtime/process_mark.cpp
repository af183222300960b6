#include "process_mark.hpp"

#include <atomic>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tenure {
namespace {

using Generation = std::atomic<std::uint64_t>;

/// In plain memory, so a child starts at its parent's number and never uses the parent's numbers again.
Generation lastGeneration{0};

/// The number of this process, on a page that the kernel zeroes in forked children (MADV_WIPEONFORK, Linux 4.14). A
/// check costs one load and also works for raw clone(). Where the kernel refuses, pthread_atfork does it for fork().
class Page {
 public:
  Page() noexcept {
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
      number_ = new (page) Generation{0};
      return;
    }
    number_ = &fallback_;
    pthread_atfork(nullptr, nullptr, [] { fallback_.store(0, std::memory_order_relaxed); });
  }
  [[nodiscard]] Generation& number() const noexcept { return *number_; }

 private:
  static inline Generation fallback_{0};
  Generation* number_{nullptr};
};

Generation& number() noexcept {
  static const Page page;  // never unmapped, because it may be read until the very end of the process
  return page.number();
}

std::uint64_t numberOfThisProcess() noexcept {
  std::uint64_t known = number().load(std::memory_order_relaxed);
  if (known != 0) return known;
  const std::uint64_t fresh = lastGeneration.fetch_add(1) + 1;
  // Another thread may be numbering the process now: the first number stays.
  return number().compare_exchange_strong(known, fresh) ? fresh : known;
}

}  // namespace

ProcessMark::ProcessMark() noexcept : generation_{numberOfThisProcess()} {}

bool ProcessMark::isHere() const noexcept { return number().load(std::memory_order_relaxed) == generation_; }

}  // namespace tenure
