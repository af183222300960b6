// Times as the API of Kubernetes writes them: RFC 3339 in UTC with six digits after the second; and
// what a holder writes as spec.renewTime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/clock.hpp>

namespace tenure::kubernetes_store {

/// Microseconds since 1970, from 1970 to 9999. The server has no text for others.
inline constexpr std::int64_t earliestMicros = 0;
inline constexpr std::int64_t latestMicros = 253'402'300'799'999'999;

/// `2026-11-22T10:04:05.123456Z`. What is out of range becomes the nearest time that is not.
[[nodiscard]] std::string microTime(std::int64_t micros);

/// With any number of digits after the second (more than six are cut), and with `Z` or an offset. Empty: it is no time,
/// or one out of range.
[[nodiscard]] std::optional<std::int64_t> microsFrom(std::string_view text);

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
