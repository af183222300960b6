#include "words.hpp"

#include <algorithm>
#include <optional>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::config {
namespace {

constexpr std::size_t longestCompared = 64;  // bounds the work that a hostile key can cause

/// Case and the usual word separators are ignored: stopMargin, stop-margin and STOP_MARGIN are the same word.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_' && c != '-' && c != ' ') out += lower(c);
  }
  return out;
}

}  // namespace

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && i + 1 == words.size()) {
      out.append(" ").append(last).append(" ");
    } else if (i > 0) {
      out += ", ";
    }
    out += words[i];
  }
  return out;
}

std::string shownKey(std::string_view key) {
  std::string escaped = inQuotes(key);
  const bool plain = escaped.size() == key.size() + 2 && key.find_first_of(" .:\"*") == std::string_view::npos;
  return plain && !key.empty() ? std::string{key} : escaped;
}

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& allowed) {
  if (word.size() > longestCompared) return std::nullopt;
  const std::string wanted = folded(word);
  std::optional<std::string> best;
  std::size_t bestDistance = 0;
  for (const std::string& candidate : allowed) {
    const std::string other = folded(candidate);
    const std::size_t distance = editDistance(wanted, other);
    // A third of the longer word is the limit: with more changes nearly any short word becomes any other.
    if (distance > std::max<std::size_t>(1, std::max(wanted.size(), other.size()) / 3)) continue;
    if (distance >= std::max(wanted.size(), other.size())) continue;  // nothing in common
    if (!best || distance < bestDistance) best = candidate, bestDistance = distance;
  }
  return best;
}

std::string didYouMean(const std::optional<std::string>& meant) {
  return meant ? "; did you mean \"" + *meant + "\"?" : std::string{};
}

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    beforeLast.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace tenure::config
