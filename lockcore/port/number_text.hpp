// Numbers in texts that somebody else wrote.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tenure {

/// The number, if the whole text is one in decimal that fits.
template <class Number>
[[nodiscard]] std::optional<Number> numberFrom(std::string_view text) noexcept {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tenure
