// Which texts names, holders and attributes may be, wherever they come from.
#pragma once

#include <string_view>

#include <tenure/lockcore/lease_key.hpp>

namespace tenure {

/// UTF-8 without NUL, because C interfaces would take a NUL for the end.
[[nodiscard]] inline bool isPlainText(std::string_view text) {
  return isUtf8(text) && text.find('\0') == std::string_view::npos;
}

}  // namespace tenure
