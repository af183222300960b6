#include "fence_state.hpp"

#include <array>
#include <charconv>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/fnv1a.hpp"

namespace tenure::file_fence {
namespace {

constexpr std::string_view firstLine = "tenure-fence 1\n";

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

bool isPlain(char c) { return isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '.'; }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (isPlain(c)) {
      out += c;
    } else {
      out += '%' + hexOf(c);
    }
  }
  return out;
}

bool readLine(std::string_view line, FenceState& state) {
  const auto words = split(line, ' ');
  if (words[0] == "content" && words.size() == 4) {
    const auto sequence = numberFrom<std::uint64_t>(words[1]);
    const auto length = numberFrom<std::uint64_t>(words[2]);
    if (!sequence || !length) return false;
    state.sequence = *sequence;
    state.length = *length;
    state.replaced = words[3] == "replaced";
    return true;
  }
  if (words[0] != "lease" || words.size() != 4) return false;
  const auto lease = percentDecoded(words[1]);
  const auto token = numberFrom<std::uint64_t>(words[2]);
  const auto holder = percentDecoded(words[3]);
  return lease && token && holder &&
         state.leases.emplace(*lease, FenceState::Seen{FencingToken{*token}, *holder}).second;
}

}  // namespace

std::string toText(const FenceState& state) {
  std::string text{firstLine};
  text += "content " + std::to_string(state.sequence) + ' ' + std::to_string(state.length) +
          (state.replaced ? " replaced\n" : " appended\n");
  for (const auto& [lease, seen] : state.leases) {
    text += "lease " + escaped(lease) + ' ' + toString(seen.token) + ' ' + escaped(seen.holder) + '\n';
  }
  return text + "sum " + hex(fnv1a(text)) + '\n';
}

std::optional<FenceState> parseFenceState(std::string_view text) {
  const std::size_t sumAt = text.rfind("sum ");
  if (!text.starts_with(firstLine) || sumAt == std::string_view::npos || text.back() != '\n') return std::nullopt;
  const std::string_view body = text.substr(0, sumAt);
  if (text.substr(sumAt) != "sum " + hex(fnv1a(body)) + '\n') return std::nullopt;
  FenceState state;
  for (const std::string_view line : split(body.substr(firstLine.size(), body.size() - firstLine.size() - 1), '\n')) {
    if (!readLine(line, state)) return std::nullopt;
  }
  return state;
}

}  // namespace tenure::file_fence
