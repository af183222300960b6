// Arithmetic on times that come from outside. A sum, a difference or a finer unit that would not fit is the longest (or
// shortest) time that fits: the year 9999 in nanoseconds would else be a time in the past.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ratio>
#include <string_view>
#include <system_error>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::saturating {

/// `time` in a unit that is as fine or finer.
template <class Finer, class Rep, class Period>
[[nodiscard]] constexpr Finer in(std::chrono::duration<Rep, Period> time) noexcept {
  static_assert(std::ratio_less_equal_v<typename Finer::period, Period>);
  using Given = std::chrono::duration<Rep, Period>;
  if (time > std::chrono::duration_cast<Given>(Finer::max())) return Finer::max();
  if (time < std::chrono::duration_cast<Given>(Finer::min())) return Finer::min();
  return Finer{time};
}

template <class Rep, class Period>
[[nodiscard]] constexpr auto sum(std::chrono::duration<Rep, Period> a, std::chrono::duration<Rep, Period> b) noexcept {
  using Time = std::chrono::duration<Rep, Period>;
  Rep count{};
  if (!__builtin_add_overflow(a.count(), b.count(), &count)) return Time{count};
  return b.count() > 0 ? Time::max() : Time::min();
}

template <class Rep, class Period>
[[nodiscard]] constexpr auto difference(std::chrono::duration<Rep, Period> a,
                                        std::chrono::duration<Rep, Period> b) noexcept {
  using Time = std::chrono::duration<Rep, Period>;
  Rep count{};
  if (!__builtin_sub_overflow(a.count(), b.count(), &count)) return Time{count};
  return b.count() < 0 ? Time::max() : Time::min();
}

/// The lease of a row that is read although it may be broken: what no record may say counts as the nearest that may.
[[nodiscard]] constexpr std::chrono::milliseconds leaseOf(std::int64_t statedMillis) noexcept {
  return std::chrono::milliseconds{std::clamp<std::int64_t>(statedMillis, 0, maxRecordLease.count())};
}

/// The same for a number in decimal, however long it is. Another text counts as zero.
[[nodiscard]] inline std::chrono::milliseconds leaseOf(std::string_view digits) noexcept {
  std::int64_t millis = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), millis);
  if (end != digits.data() + digits.size()) return std::chrono::milliseconds{0};
  if (fault == std::errc::result_out_of_range) return digits.front() == '-' ? leaseOf(0) : maxRecordLease;
  return leaseOf(fault == std::errc{} ? millis : 0);
}

}  // namespace tenure::saturating
