// The number of a term. A resource that remembers the highest token it has seen can refuse a paused former leader.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Rises strictly with every acquisition of a lease by this library, for the life of the table (invariant I7). Zero
/// means "none": it is never handed out. A token above maxFencingToken is malformed wherever it is met.
class TENURE_API FencingToken {
 public:
  constexpr FencingToken() noexcept = default;
  constexpr explicit FencingToken(std::uint64_t value) noexcept : value_{value} {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool isNone() const noexcept { return value_ == 0; }
  [[nodiscard]] constexpr FencingToken next() const noexcept { return FencingToken{value_ + 1}; }

  friend constexpr auto operator<=>(FencingToken, FencingToken) noexcept = default;

 private:
  std::uint64_t value_{0};
};

/// The greatest token. Every JSON reader and every double holds it exactly. At a thousand terms a second a lease needs
/// 285,000 years to get there.
inline constexpr FencingToken maxFencingToken{(std::uint64_t{1} << 53U) - 1};

/// How far a resource's report may lift the counter above the highest token that was known. Any client that may write
/// to the resource can forge a report. With this bound, no number of reports that is practicable brings the counter
/// near its end.
inline constexpr std::uint64_t maxReportedStep = std::uint64_t{1} << 32U;

[[nodiscard]] TENURE_API std::string toString(FencingToken token);
/// For a line about a holder: `with fencing token 7`, or `without a fencing token` for a lease that another client
/// holds that way.
[[nodiscard]] TENURE_API std::string withToken(FencingToken token);
TENURE_API std::ostream& operator<<(std::ostream& out, FencingToken token);

}  // namespace tenure
