#include "attributes_json.hpp"

#include <cstdint>

#include <tenure/lockcore/lease_key.hpp>

#include "ascii_text.hpp"

namespace tenure {
namespace {

using Attributes = std::map<std::string, std::string>;

void appendQuoted(std::string& out, std::string_view text) {
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
    appendQuoted(out, key);
    out += ':';
    appendQuoted(out, value);
  }
  return out + '}';
}

std::optional<Attributes> attributesFromJson(std::string_view text) {
  Attributes out;
  if (!Reader{text}.object(out)) return std::nullopt;
  return out;
}

}  // namespace tenure
