#include "value_codec.hpp"

#include <algorithm>
#include <array>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/name_text.hpp"

namespace tenure::config {
namespace {

/// Other spellings of a boolean, from YAML 1.1 and from habit: refused, but recognised.
std::string meantBool(std::string_view text) {
  static constexpr std::array<std::string_view, 5> yes{"true", "yes", "on", "y", "1"};
  static constexpr std::array<std::string_view, 5> no{"false", "no", "off", "n", "0"};
  const std::string word = lowered(text);
  if (std::find(yes.begin(), yes.end(), word) != yes.end()) return "; did you mean \"true\"?";
  if (std::find(no.begin(), no.end(), word) != no.end()) return "; did you mean \"false\"?";
  return didYouMean(closest(text, {"true", "false"}));
}

bool isPlainSafe(std::string_view text) {
  const auto safe = [](char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '/' || c == '-'; };
  static constexpr std::array<std::string_view, 8> words{"null", "true", "false", "yes", "no", "on", "off", "nan"};
  if (text.empty() || !(isLetter(text[0]) || text[0] == '/' || text.starts_with("./"))) return false;
  const std::string word = lowered(text);
  return std::all_of(text.begin(), text.end(), safe) && std::find(words.begin(), words.end(), word) == words.end();
}

}  // namespace

Codec<std::string> textCodec(std::string allowed) {
  const auto parse = [allowed](std::string_view text) -> boost::system::result<std::string, ValueFault> {
    if (text.empty()) return ValueFault{"is empty; allowed is " + allowed};
    return {boost::system::in_place_value, text};
  };
  return {"text", std::move(allowed), parse, [](const std::string& value) { return yamlScalar(value); }};
}

Codec<std::vector<std::string>> listCodec(std::string allowed) {
  using Items = std::vector<std::string>;
  const auto parse = [allowed](std::string_view text) -> boost::system::result<Items, ValueFault> {
    Items items;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view item = trimmed(text.substr(begin, end - begin), " ");
      if (item.empty()) return ValueFault{"has an empty item; allowed is " + allowed};
      items.emplace_back(item);
      begin = end + 1;
    }
    return items;
  };
  const auto write = [](const Items& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "[" : ", ") + yamlScalar(item);
    return text + "]";
  };
  return {"list", std::move(allowed), parse, write};
}

Codec<bool> boolCodec() {
  const auto parse = [](std::string_view text) -> boost::system::result<bool, ValueFault> {
    if (text == "true") return true;
    if (text == "false") return false;
    return ValueFault{inQuotes(text) + " is not allowed; allowed is true or false" + meantBool(text)};
  };
  return {"true or false", "true or false", parse, [](const bool& value) { return value ? "true" : "false"; }};
}

ValueFault outOfRange(std::string_view text, const std::string& allowed) {
  return {inQuotes(text) + " is out of range; allowed is " + allowed};
}

Codec<unsigned> wholeNumberCodec(const OptionRange<unsigned>& range) {
  const std::string allowed = std::to_string(range.least) + " to " + std::to_string(range.most);
  const auto parse = [allowed](std::string_view text) -> boost::system::result<unsigned, ValueFault> {
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    if (!isAllDigits(digits)) return ValueFault{inQuotes(text) + " is not a whole number; allowed is " + allowed};
    const auto value = numberFrom<unsigned>(text);
    if (!value) return outOfRange(text, allowed);
    return *value;
  };
  return {"whole number", allowed, parse, [](const unsigned& value) { return std::to_string(value); }};
}

Codec<std::chrono::milliseconds> durationCodec(const OptionRange<std::chrono::milliseconds>& range) {
  using Result = boost::system::result<std::chrono::milliseconds, ValueFault>;
  const std::string allowed = durationText(range.least) + " to " + durationText(std::min(range.most, longestDuration));
  const auto parse = [allowed](std::string_view text) -> Result {
    auto value = parseDuration(text);
    if (!value) return ValueFault{value.error().message + "; allowed is " + allowed};
    return value;
  };
  return {"duration", allowed, parse, [](const std::chrono::milliseconds& value) { return durationText(value); }};
}

/// A file may hold odd characters only as their escapes (SourceText).
std::string yamlKey(std::string_view text) {
  if (isPlainSafe(text)) return std::string{text};
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  const auto goesOn = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  for (std::size_t at = 0; const auto odd = firstOddCharacter(std::string_view{out}.substr(at));) {
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(at += odd->offset);
    const std::string escape = escapeOf(*odd);
    out.replace(first, std::find_if_not(first + 1, out.end(), goesOn), escape);
    at += escape.size();
  }
  return '"' + out + '"';
}

std::string yamlScalar(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '$' ? 2 : 1, c);
  return yamlKey(doubled);
}

ValueFault notOneOf(std::string_view text, const std::vector<std::string>& allowed) {
  return {inQuotes(text) + " is not allowed; allowed is " + listed(allowed, "or") + didYouMean(closest(text, allowed))};
}

}  // namespace tenure::config
