// Internal: text as HTTP sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::net {

/// For messages: "250 ms".
[[nodiscard]] inline std::string millis(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

/// Decimal digits only, at most `most`.
[[nodiscard]] inline std::optional<unsigned> parseNumber(std::string_view text, unsigned most) noexcept {
  const auto value = numberFrom<unsigned>(text);
  return value && *value <= most ? value : std::nullopt;
}

[[nodiscard]] inline std::optional<std::uint16_t> parsePort(std::string_view text) noexcept {
  const auto value = parseNumber(text, 65535);
  if (!value || *value == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

}  // namespace tenure::net
