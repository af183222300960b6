// A bounded list of small values with one writer and any number of readers, none of which waits for another.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tenure {

/// Keeps the last `Capacity` values. Each slot is a sequence lock without fences, as in TermSlots: words are stored
/// with release and loaded with acquire, so a reader that sees a new word also sees at its second look that the slot
/// was written.
template <class Value, std::size_t Capacity>
class EventRing {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);

 public:
  /// One thread at a time. Never waits.
  void push(const Value& value) noexcept {
    const std::uint64_t number = pushed_.load(std::memory_order_relaxed) + 1;
    Slot& slot = slots_[number % Capacity];
    slot.number.store(0, std::memory_order_relaxed);
    const Words words = std::bit_cast<Words>(value);
    for (std::size_t i = 0; i < words.size(); ++i) slot.words[i].store(words[i], std::memory_order_release);
    slot.number.store(number, std::memory_order_release);
    pushed_.store(number, std::memory_order_release);
  }

  /// Oldest first. A value that is replaced during the call is left out. Any thread.
  [[nodiscard]] std::vector<Value> all() const {
    std::vector<Value> out;
    const std::uint64_t last = pushed_.load(std::memory_order_acquire);
    const std::uint64_t first = last - std::min<std::uint64_t>(last, Capacity) + 1;
    out.reserve(last - first + 1);
    for (std::uint64_t number = first; number <= last; ++number) {
      const Slot& slot = slots_[number % Capacity];
      if (slot.number.load(std::memory_order_acquire) != number) continue;
      Words words;
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
      if (slot.number.load(std::memory_order_relaxed) == number) out.push_back(std::bit_cast<Value>(words));
    }
    return out;
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(Value) / sizeof(std::uint64_t)>;
  struct Slot {
    std::atomic<std::uint64_t> number{0};  ///< of the value in it; 0: none, or it is being written
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words{};
  };
  std::array<Slot, Capacity> slots_{};
  std::atomic<std::uint64_t> pushed_{0};
};

}  // namespace tenure
