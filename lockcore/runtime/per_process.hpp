// Internal: a global that a forked child does not share with its parent.
#pragma once

#include <atomic>
#include <memory>

#include "process_mark.hpp"

namespace tenure::detail {

/// A child inherits the memory of a global, but not the threads behind it. It may also inherit a mutex that a thread of
/// the parent holds for ever. So each process gets a value of its own; the inherited one is left as it is.
template <class T>
class PerProcess {
 public:
  [[nodiscard]] T& get() {
    for (;;) {
      Entry* known = current_.load(std::memory_order_acquire);
      if (known != nullptr && known->mark.isHere()) return known->value;
      auto fresh = std::make_unique<Entry>();
      if (current_.compare_exchange_strong(known, fresh.get())) return fresh.release()->value;
    }
  }

 private:
  struct Entry {
    ProcessMark mark{};
    T value{};
  };
  std::atomic<Entry*> current_{nullptr};
};

}  // namespace tenure::detail
