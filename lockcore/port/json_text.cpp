#include "json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <tenure/lockcore/lease_record.hpp>

#include "ascii_text.hpp"
#include "name_text.hpp"
#include "quoted_text.hpp"

namespace tenure {
namespace {

constexpr std::string_view base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool needsEscape(char c) noexcept { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

void appendEscaped(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\', out += c;
    return;
  }
  out += "\\u00" + hexOf(c);
}

std::string jsonEscape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  std::string out;
  if (needsEscape(c)) {
    appendEscaped(out, c);
  } else {
    out = c;
  }
  return out;
}

/// The same for a character beyond ASCII; one beyond four digits is two surrogates.
std::string jsonEscape(const OddCharacter& odd) {
  if (odd.code <= 0xFFFF) return escapeOf(odd);
  const char32_t above = odd.code - 0x10000;
  return escapeOf({.code = 0xD800 + (above >> 10U)}) + escapeOf({.code = 0xDC00 + (above & 0x3FFU)});
}

constexpr std::array<std::int8_t, 256> digitValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < base64Digits.size(); ++i) {
    values[static_cast<unsigned char>(base64Digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

}  // namespace

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!needsEscape(text[i])) continue;
    out.append(text.substr(copied, i - copied));
    appendEscaped(out, text[i]);
    copied = i + 1;
  }
  out.append(text.substr(copied));
  out += '"';
}

std::string jsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (length == 1) {
      out += text[0] == '\x7F' ? "\\u007f" : jsonEscape(text[0]);
    } else if (const auto odd = oddCharacter(text); odd && odd->kind == OddCharacter::Kind::unseen) {
      out += jsonEscape(*odd);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

std::string jsonStringOrNull(std::string_view text) { return text.empty() ? "null" : jsonString(text); }

void appendInteger(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void appendUtf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { put(0x80U | ((point >> shift) & 0x3FU)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U)), tail(0);
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U)), tail(6), tail(0);
  } else {
    put(0xF0U | (point >> 18U)), tail(12), tail(6), tail(0);
  }
}

void appendBase64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4 + 16);
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    out += base64Digits[group >> 18U];
    out += base64Digits[(group >> 12U) & 0x3FU];
    out += i + 1 < bytes.size() ? base64Digits[(group >> 6U) & 0x3FU] : '=';
    out += i + 2 < bytes.size() ? base64Digits[group & 0x3FU] : '=';
  }
}

std::string base64(std::string_view bytes) {
  std::string out;
  appendBase64(out, bytes);
  return out;
}

std::optional<std::string> bytesFromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size() - padding; ++i) {
    const std::int8_t value = digitValues[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    group = group << 6U | static_cast<std::uint32_t>(value);
    if (i % 4 == 3) {
      out += static_cast<char>(group >> 16U), out += static_cast<char>(group >> 8U), out += static_cast<char>(group);
      group = 0;
    }
  }
  // One text for the same bytes: what padding cuts off is zero.
  if ((group & ((1U << 2U * padding) - 1U)) != 0) return std::nullopt;
  if (padding == 1) out += static_cast<char>(group >> 10U), out += static_cast<char>(group >> 2U);
  if (padding == 2) out += static_cast<char>(group >> 4U);
  return out;
}

namespace {

using Attributes = std::map<std::string, std::string>;

void appendAttribute(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (byte < 0x20) {
      out += "\\u00" + hexOf(c);
    } else {
      out += c;
    }
  }
  out += '"';
}

/// Reads the text from front to back. Every function returns false at the first thing that is not as it must be.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_{text} {}

  bool object(Attributes& out) {
    if (!take('{')) return false;
    if (take('}')) return atEnd();
    do {
      std::string key;
      std::string value;
      if (!string(key) || !take(':') || !string(value)) return false;
      out.insert_or_assign(std::move(key), std::move(value));
    } while (take(','));
    return take('}') && atEnd();
  }

 private:
  void skipBlanks() {
    while (!text_.empty() && std::string_view{" \t\r\n"}.find(text_.front()) != std::string_view::npos) {
      text_.remove_prefix(1);
    }
  }
  bool atEnd() {
    skipBlanks();
    return text_.empty();
  }
  bool take(char wanted) {
    skipBlanks();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool next(char& out) {
    if (text_.empty()) return false;
    out = text_.front();
    text_.remove_prefix(1);
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    for (char c = 0; next(c);) {
      if (c == '"') return isUtf8(out);
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool escape(std::string& out) {
    static constexpr std::string_view names = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    char c = 0;
    if (!next(c)) return false;
    if (c == 'u') return codePoint(out);
    const std::size_t at = names.find(c);
    if (at == std::string_view::npos) return false;
    out += meanings[at];
    return true;
  }

  bool fourDigits(std::uint32_t& out) {
    out = 0;
    for (int i = 0; i < 4; ++i) {
      char c = 0;
      if (!next(c)) return false;
      const std::size_t digit = hexDigits.find(lower(c));
      if (digit == std::string_view::npos) return false;
      out = out * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  bool codePoint(std::string& out) {
    std::uint32_t point = 0;
    if (!fourDigits(point) || (point >= 0xDC00 && point <= 0xDFFF)) return false;
    if (point >= 0xD800 && point <= 0xDBFF) {  // the first half of a surrogate pair
      std::uint32_t low = 0;
      char backslash = 0;
      char u = 0;
      if (!next(backslash) || backslash != '\\' || !next(u) || u != 'u' || !fourDigits(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return false;
      point = 0x10000 + ((point - 0xD800) << 10U) + (low - 0xDC00);
    }
    appendUtf8(out, point);
    return true;
  }

  std::string_view text_;
};

}  // namespace

std::optional<std::string> attributesToJson(const Attributes& attributes) {
  std::string out{"{"};
  for (const auto& [key, value] : attributes) {
    if (!isUtf8(key) || !isUtf8(value)) return std::nullopt;
    if (out.size() > 1) out += ',';
    appendAttribute(out, key);
    out += ':';
    appendAttribute(out, value);
  }
  return out + '}';
}

std::optional<Attributes> attributesFromJson(std::string_view text) {
  Attributes out;
  if (!Reader{text}.object(out)) return std::nullopt;
  return out;
}

}  // namespace tenure
