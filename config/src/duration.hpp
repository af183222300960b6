// Durations as people write them in YAML and on the command line: `10s`, `1500ms`, `1m30s`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// What is wrong with the text of one value, as a sentence without its end.
struct ValueFault {
  std::string message;
  bool isOfContent{false};  ///< of a file that could be read

  friend bool operator==(const ValueFault&, const ValueFault&) = default;
};

/// Makes `value()` throw std::invalid_argument with the message.
[[noreturn]] TENURE_API void throw_exception_from_error(const ValueFault& fault, const boost::source_location& where);

/// Nobody means more than that.
inline constexpr std::chrono::milliseconds longestDuration = std::chrono::hours{10'000};

/// Reads a duration: numbers with the units h, m, s and ms, from large to small, each unit at most once, no spaces
/// (`1h30m`, `250ms`). A number may have a decimal fraction if it makes whole milliseconds (`1.5s`). Refused are a
/// number without a unit (also 0), signs, and anything finer than a millisecond. At most longestDuration.
[[nodiscard]] TENURE_API boost::system::result<std::chrono::milliseconds, ValueFault> parseDuration(
    std::string_view text);

/// The shortest exact spelling that parseDuration reads back: 90 s is `1m30s`, 1500 ms is `1500ms`. Not negative.
[[nodiscard]] TENURE_API std::string durationText(std::chrono::milliseconds value);

}  // namespace tenure
