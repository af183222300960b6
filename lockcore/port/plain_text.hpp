// What names, holders and attributes may be, wherever they come from.
#pragma once

#include <string_view>

#include <tenure/lockcore/lease_key.hpp>

namespace tenure {

/// UTF-8 without NUL, which C interfaces would take for the end.
[[nodiscard]] inline bool isPlainText(std::string_view text) {
  return isUtf8(text) && text.find('\0') == std::string_view::npos;
}

}  // namespace tenure
