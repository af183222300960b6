// Puts lists and suggestions into messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure::config {

/// "a", "a and b", "a, b and c" (with another last word if given).
[[nodiscard]] TENURE_API std::string listed(const std::vector<std::string>& words, std::string_view last = "and");

/// A key in the form that a path shows: unchanged if it is short and plain, else in quotes.
[[nodiscard]] std::string shownKey(std::string_view key);

/// The allowed word that `word` was probably meant to be. Case, `_` and `-` are ignored.
[[nodiscard]] TENURE_API std::optional<std::string> closest(std::string_view word,
                                                            const std::vector<std::string>& allowed);

/// `; did you mean "x"?`, or nothing.
[[nodiscard]] TENURE_API std::string didYouMean(const std::optional<std::string>& meant);

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal
/// string alignment). Bytes, not characters: keys are ASCII.
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

}  // namespace tenure::config
