// The clients of one process that wait for one key of one store stand in a line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "lockcore/lease/lease_action.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure {

/// Only the first client in the line asks the store, whether it waits for the lock or holds it. The next one starts
/// when the first is done. So a hand-over within a process costs the same few requests however many wait, and it is
/// first come, first served. The line is a courtesy and no part of the protocol: a client that is not in the line may
/// still compete, and a client that has waited long in the line competes from its place.
///
/// A client that leaves from the head of the line hands what it knows of the record to the next, which then needs no
/// read.
class PlaceInLine {
 public:
  using Memory = std::shared_ptr<const LeaseMemory>;
  /// `left`: what the one before knew; null if there was none, or if it knew nothing.
  using Begin = std::function<void(const Memory& left)>;

  /// Calls `begin`: for the first in the line inside this call, else when the one before leaves, on the thread of that
  /// one. It must return at once.
  PlaceInLine(std::shared_ptr<LeaseStore> store, LeaseKey key, const Begin& begin);
  /// May call the `begin` of the next one.
  ~PlaceInLine();
  PlaceInLine(const PlaceInLine&) = delete;
  PlaceInLine& operator=(const PlaceInLine&) = delete;

  /// What the next one gets to know. Not thread-safe.
  void leave(Memory memory) noexcept { memory_ = std::move(memory); }

 private:
  class Lines;
  [[nodiscard]] static Lines& lines();

  Lines* const lines_;  ///< of the process that made this place
  const std::shared_ptr<LeaseStore> store_;
  const LeaseKey key_;
  std::uint64_t id_{0};  ///< constant after construction
  Memory memory_{};
};

}  // namespace tenure
