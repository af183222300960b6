// What a holder writes as spec.renewTime.
#pragma once

#include <cstdint>
#include <optional>

#include <tenure/lockcore/clock.hpp>

namespace tenure::kubernetes_store {

/// The wall clock when the term began, and when that was by the clock that counts elapsed time.
struct RenewClock {
  std::int64_t micros{0};
  Instant at{};
};

/// client-go takes a record for renewed only if renewTime has changed in whole seconds, and counts by its own clock
/// from when it saw that. So renewTime runs as elapsed time does, from the wall clock at the acquisition on: a wall
/// clock that is set back must not let a holder that beats look dead. `before`: what the record says now. Without a
/// clock (another process acquired, or the answer was lost) the wall clock counts, and at least a second is added.
[[nodiscard]] std::int64_t nextRenewMicros(std::optional<std::int64_t> before, const std::optional<RenewClock>& clock,
                                           const Instant& now, std::int64_t wallMillis);

}  // namespace tenure::kubernetes_store
