// What `tenure watch` shows: the state of a copy in lines of at most 80 columns. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ops/src/client.hpp"

namespace tenure::cli {

/// One answer of a copy, and how old it is.
struct Watched {
  std::string address{};
  std::vector<ops::ElectorSummary> electors{};
  std::vector<ops::GroupEvents> history{};
  /// Since the request was sent that was answered last; empty: none was answered yet.
  std::optional<std::chrono::milliseconds> age{};
  std::string fault{};  ///< of the last request, if it was not answered
};

/// After this time without an answer nothing is known.
inline constexpr std::chrono::milliseconds watchPatience{2'000};

/// Each line ends with a line break and has at most 80 columns, without the colours. A remaining time counts from the
/// sending of the request, so it is never too long.
[[nodiscard]] std::string watchText(const Watched& watched, bool colours);

/// `elected`, `revoked (expired)`.
[[nodiscard]] std::string wordsFor(const TermEvent& event);

}  // namespace tenure::cli
