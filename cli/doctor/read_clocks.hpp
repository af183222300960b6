// The clocks of this machine.
#pragma once

#include <cstdint>

#include <tenure/lockcore/clock.hpp>

#include "facts.hpp"
#include "machine_tree.hpp"

namespace tenure::cli::doctor {

/// One moment by all clocks.
struct ClockMark {
  Instant at{};
  std::int64_t wallMillis{0};
};
[[nodiscard]] ClockMark markClocks() noexcept;

/// The rate, the step and the suspend of what lies between.
void compareClocks(const ClockMark& from, const ClockMark& to, ClockFacts& facts);

/// From /proc and /sys: the clock source and the kind of machine.
void readMachine(const MachineTree& tree, ClockFacts& facts);

/// As the kernel disciplines this machine's clock; empty if it does not tell (a sandbox).
[[nodiscard]] std::optional<KernelClock> readKernelClock();

}  // namespace tenure::cli::doctor
