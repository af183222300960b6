// The number of a term. A resource that remembers the highest token it has seen can refuse a paused former leader.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace tenure {

/// Rises strictly with every acquisition of a lease by this library, for the life of the table (invariant I7).
/// Zero means "none": it is never handed out. The value fits a signed 64-bit column.
class FencingToken {
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

[[nodiscard]] std::string toString(FencingToken token);
std::ostream& operator<<(std::ostream& out, FencingToken token);

}  // namespace tenure
