// How the program writes to people and to other programs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockcore/port/json_text.hpp"

namespace tenure::cli {

/// `tenure: <message>` on stderr, in one write.
void complain(const std::string& message);

/// Writes to stdout. False if that failed (a full disk, a closed pipe), which was then reported on stderr.
[[nodiscard]] bool say(const std::string& text);

enum class Colour { none, good, warning, bad, dim };

/// Colours only where stdout is a terminal that can show them, and NO_COLOR (no-color.org) is not set.
[[nodiscard]] bool stdoutHasColours();

/// `text` in a colour if `wanted`, else as it is.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, bool wanted);

/// Two columns, the first padded; lines end with a line break. Values may hold colours.
[[nodiscard]] std::string table(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace tenure::cli
