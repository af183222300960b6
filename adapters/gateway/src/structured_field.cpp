#include "structured_field.hpp"

#include <algorithm>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::http_fence {
namespace {

bool isPrintable(char c) { return c >= 0x20 && c < 0x7F; }
bool isKeyCharacter(char c) { return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*'; }

/// How many characters at the beginning are of this kind.
template <class Is>
std::size_t span(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

}  // namespace

bool isKey(std::string_view text) noexcept {
  return !text.empty() && text.size() <= maxKeyBytes && (isLower(text.front()) || text.front() == '*') &&
         span(text, isKeyCharacter) == text.size();
}

std::string quotedField(std::string_view text) {
  std::string out;
  if (std::all_of(text.begin(), text.end(), isPrintable)) {
    for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return '"' + out + '"';
  }
  for (const char c : text) {
    if (isPrintable(c) && c != '%' && c != '"') {
      out += c;
    } else {
      out += '%' + hexOf(c);
    }
  }
  return "%\"" + out + '"';
}

std::string bytesField(std::string_view bytes) { return ':' + base64(bytes) + ':'; }

bool FieldReader::take(char c) noexcept {
  if (rest_.empty() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

void FieldReader::skipSpaces() noexcept {
  rest_.remove_prefix(span(rest_, [](char c) { return c == ' '; }));
}

void FieldReader::skipBlanks() noexcept {
  rest_.remove_prefix(span(rest_, [](char c) { return c == ' ' || c == '\t'; }));
}

std::optional<std::string> FieldReader::key() {
  const std::string_view found = rest_.substr(0, span(rest_, isKeyCharacter));
  if (!isKey(found)) return std::nullopt;
  rest_.remove_prefix(found.size());
  return std::string{found};
}

std::optional<std::string> FieldReader::numberText(std::size_t most) {
  const std::size_t length = span(rest_, [](char c) { return isDigit(c) || c == '-' || c == '.'; });
  if (length == 0) return std::nullopt;
  std::string out{rest_.substr(0, std::min(length, most))};
  rest_.remove_prefix(length);
  return out;
}

std::optional<std::string> FieldReader::text() {
  const std::string_view before = rest_;
  auto out = take('%') ? displayText() : quotedText();
  if (!out) rest_ = before;
  return out;
}

std::optional<std::string> FieldReader::quotedText() {
  if (!take('"')) return std::nullopt;
  std::string out;
  while (!rest_.empty()) {
    if (take('"')) return out;
    const bool escaped = take('\\');
    if (rest_.empty() || !isPrintable(rest_.front())) return std::nullopt;
    if (escaped && rest_.front() != '"' && rest_.front() != '\\') return std::nullopt;
    out += rest_.front();
    rest_.remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<std::string> FieldReader::displayText() {
  if (!take('"')) return std::nullopt;
  std::string out;
  while (!rest_.empty()) {
    if (take('"')) return isUtf8(out) ? std::optional{out} : std::nullopt;
    if (!isPrintable(rest_.front())) return std::nullopt;
    if (!take('%')) {
      out += rest_.front();
      rest_.remove_prefix(1);
      continue;
    }
    if (rest_.size() < 2) return std::nullopt;
    const std::size_t high = hexDigits.find(rest_[0]);
    const std::size_t low = hexDigits.find(rest_[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high << 4U | low);
    rest_.remove_prefix(2);
  }
  return std::nullopt;
}

std::optional<std::string> FieldReader::bytes() {
  if (rest_.empty() || rest_.front() != ':') return std::nullopt;
  const std::size_t end = rest_.find(':', 1);
  if (end == std::string_view::npos) return std::nullopt;
  auto out = bytesFromBase64(rest_.substr(1, end - 1));
  if (out) rest_.remove_prefix(end + 1);
  return out;
}

}  // namespace tenure::http_fence
