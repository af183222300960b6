#include "fence_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::file_fence {
namespace {

constexpr std::string_view firstLine = "tenure-fence 1\n";

/// FNV-1a: it detects damage and edits, not attackers.
std::uint64_t sumOf(std::string_view text) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325ULL;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3ULL;
  return sum;
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (isPlain(c)) {
      out += c;
    } else {
      out += std::string{byte < 16 ? "%0" : "%"} + hex(byte);
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const auto byte = numberFrom<unsigned char>(text.substr(at + 1, 2), 16);
    if (!byte || at + 2 >= text.size()) return std::nullopt;
    out += static_cast<char>(*byte);
    at += 2;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(at, from), text.size());
    pieces.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return pieces;
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
  const auto lease = unescaped(words[1]);
  const auto token = numberFrom<std::uint64_t>(words[2]);
  const auto holder = unescaped(words[3]);
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
  return text + "sum " + hex(sumOf(text)) + '\n';
}

std::optional<FenceState> parseFenceState(std::string_view text) {
  const std::size_t sumAt = text.rfind("sum ");
  if (!text.starts_with(firstLine) || sumAt == std::string_view::npos || text.back() != '\n') return std::nullopt;
  const std::string_view body = text.substr(0, sumAt);
  if (text.substr(sumAt) != "sum " + hex(sumOf(body)) + '\n') return std::nullopt;
  FenceState state;
  for (const std::string_view line : split(body.substr(firstLine.size(), body.size() - firstLine.size() - 1), '\n')) {
    if (!readLine(line, state)) return std::nullopt;
  }
  return state;
}

}  // namespace tenure::file_fence
