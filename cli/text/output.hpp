// How the program writes to people and to other programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockcore/port/json_text.hpp"

namespace tenure::cli {

/// A command that only prints waits for whoever reads, as other programs do. From this call on nothing that it writes
/// waits, because it acts under a lease or a lock: see OutputWriter.
void neverWaitForReaders() noexcept;

/// From this call on what is said on stderr is kept for toJsonOfFailure().
void keepErrors();

/// Where a command with --json fails and has written nothing to stdout: `{"error":...,"exit_code":83}`. Empty: it has
/// written something, or complained of nothing.
[[nodiscard]] std::string toJsonOfFailure(int code);

/// `tenure: <message>` on stderr, in one write.
void complain(const std::string& message);

/// The same without `tenure: `, for whole lines and for a question at their end.
void tell(const std::string& text);

/// Writes to stdout. False if that failed (a full disk, a closed pipe), which was then reported on stderr. Where
/// nothing waits, text that nobody reads has failed after five seconds; with `givesUp`, as soon as that is true, and
/// without a word.
[[nodiscard]] bool say(const std::string& text, const std::function<bool()>& givesUp = {});

/// Waits a second at most for what was written and has not been read.
void flushAtExit() noexcept;

/// std::_Exit, but what was written before gets the second that it would get at an ordinary end.
[[noreturn]] void exitAtOnce(int code);

enum class Colour { none, good, warning, bad, dim };

/// Colours only where stdout is a terminal that can show them, and NO_COLOR (no-color.org) is not set.
[[nodiscard]] bool stdoutHasColours();

/// `text` in a colour if `wanted`, else as it is.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, bool wanted);

/// Two columns, the first padded; lines end with a line break. Values may hold colours.
[[nodiscard]] std::string table(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace tenure::cli
