// Texts of the kernel with a name and a value on each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli::doctor {

/// The first word after `name`, which begins a line; empty: there is none.
[[nodiscard]] inline std::string valueOf(const std::string& text, std::string_view name) {
  for (const std::string_view line : linesOf(text)) {
    if (!line.starts_with(name)) continue;
    const auto words = wordsOf(line.substr(name.size()));
    return words.empty() ? std::string{} : std::string{words.front()};
  }
  return {};
}

[[nodiscard]] inline std::uint64_t countOf(const std::string& text, std::string_view name) {
  return numberFrom<std::uint64_t>(valueOf(text, name)).value_or(0);
}

}  // namespace tenure::cli::doctor
