// The process to which an object belongs: a forked child inherits the memory, but not the threads, the terms or the
// locks. And a global that a forked child does not share with its parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Remembers the process in which it was made. In a child that was forked from that process, also by a raw clone system
/// call, isHere() is false for it and for its copies; objects made in the child belong to the child. So a program may
/// fork into the background (daemon(3), a pre-forking server) and make its electors there. Fork before the parent has
/// made any, or exec. This library has no control over what other libraries do in threads at the moment of a fork
/// (SQLite holds mutexes of its own).
class TENURE_API ProcessMark {
 public:
  ProcessMark() noexcept;
  /// Costs one load. Any thread, async-signal-safe.
  [[nodiscard]] bool isHere() const noexcept;

 private:
  std::uint64_t generation_;
};

/// The rule for calls of a handle: null in a forked child, where a thread that does not exist may hold any lock of the
/// object, and for a handle that has none. What reads more than constants and lock-free state asks this first, and
/// answers at once if it gets nothing.
template <class Pointer>
[[nodiscard]] auto* inItsProcess(const Pointer& object) noexcept {
  return object && object->isHere() ? &*object : nullptr;
}

/// The end of a handle in a forked child. There none of the object's threads exists and every descriptor is shared with
/// the parent: nothing is touched, and nothing is freed.
template <class T>
void leaveToParent(std::shared_ptr<T> object) {
  [[maybe_unused]] const auto* leaked = new std::shared_ptr<T>{std::move(object)};  // lint-allow(raw-new): see above
}

template <class T>
void leaveToParent(std::unique_ptr<T> object) noexcept {
  static_cast<void>(object.release());
}

}  // namespace tenure

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
