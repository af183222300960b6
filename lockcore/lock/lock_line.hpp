// The clients of one process that wait for one key of one store stand in line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/lease/lease_action.hpp"

namespace tenure {

/// Only the first in the line asks the store, whether it waits or holds; the next is told when that one is done. So a
/// hand-over within a process costs the same few requests however many wait, and it is first come, first served. It is
/// a courtesy and no part of the protocol: nobody is kept from competing who does not stand in line, and who has stood
/// there for long competes from his place.
///
/// Whoever leaves from its head hands what it knows of the record to the next, which then needs no read.
class PlaceInLine {
 public:
  using Memory = std::shared_ptr<const LeaseMemory>;
  /// `left`: of the one before; null if there was none, or if it knew nothing.
  using Begin = std::function<void(const Memory& left)>;

  /// Calls `begin`: inside of this call for who is first, else when the one before leaves, on the thread of that one.
  /// It must return at once.
  PlaceInLine(std::shared_ptr<LeaseStore> store, LeaseKey key, const Begin& begin);
  /// May call the `begin` of the next.
  ~PlaceInLine();
  PlaceInLine(const PlaceInLine&) = delete;
  PlaceInLine& operator=(const PlaceInLine&) = delete;

  /// What the next is to know. Not thread-safe.
  void leave(Memory memory) noexcept { memory_ = std::move(memory); }

 private:
  class Lines;
  [[nodiscard]] static Lines& lines();

  Lines* const lines_;  ///< of the process that made it
  const std::shared_ptr<LeaseStore> store_;
  const LeaseKey key_;
  std::uint64_t id_{0};  ///< constant after construction
  Memory memory_{};
};

}  // namespace tenure
