// Texts of the kernel with a name and a value on each line.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "lockcore/port/number_text.hpp"

namespace tenure::cli::doctor {

/// The first word after `name`, which begins a line; empty: there is none.
[[nodiscard]] inline std::string valueOf(const std::string& text, std::string_view name) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words{line.substr(name.size())};
    std::string word;
    words >> word;
    return word;
  }
  return {};
}

[[nodiscard]] inline std::uint64_t countOf(const std::string& text, std::string_view name) {
  return numberFrom<std::uint64_t>(valueOf(text, name)).value_or(0);
}

}  // namespace tenure::cli::doctor
