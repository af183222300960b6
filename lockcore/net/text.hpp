// Internal: text as HTTP sees it.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::net {

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// For messages: "250 ms".
[[nodiscard]] inline std::string millis(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

/// Decimal digits only, at most `most`.
[[nodiscard]] inline std::optional<unsigned> parseNumber(std::string_view text, unsigned most) noexcept {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

[[nodiscard]] inline std::optional<std::uint16_t> parsePort(std::string_view text) noexcept {
  const auto value = parseNumber(text, 65535);
  if (!value || *value == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

}  // namespace tenure::net
