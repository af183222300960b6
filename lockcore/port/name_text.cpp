#include "name_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "ascii_text.hpp"
#include "composition_tables.hpp"
#include "quoted_text.hpp"

namespace tenure {
namespace {

using Kind = OddCharacter::Kind;

struct Row {
  char32_t first, last;
  std::string_view name;
  Kind kind{Kind::unseen};
};

constexpr std::array<Row, 105> rows{{
    {0x00, 0x00, "NULL"},
    {0x01, 0x08, "CONTROL CHARACTER"},
    {0x09, 0x09, "CHARACTER TABULATION"},
    {0x0A, 0x0A, "LINE FEED"},
    {0x0B, 0x0C, "CONTROL CHARACTER"},
    {0x0D, 0x0D, "CARRIAGE RETURN"},
    {0x0E, 0x1A, "CONTROL CHARACTER"},
    {0x1B, 0x1B, "ESCAPE"},
    {0x1C, 0x1F, "CONTROL CHARACTER"},
    {0x7F, 0x7F, "DELETE"},
    {0x80, 0x84, "CONTROL CHARACTER"},
    {0x85, 0x85, "NEXT LINE"},
    {0x86, 0x9A, "CONTROL CHARACTER"},
    {0x9B, 0x9B, "CONTROL SEQUENCE INTRODUCER"},
    {0x9C, 0x9F, "CONTROL CHARACTER"},
    {0xA0, 0xA0, "NO-BREAK SPACE", Kind::space},
    {0xAB, 0xAB, "LEFT-POINTING DOUBLE ANGLE QUOTATION MARK", Kind::lookAlike},
    {0xAD, 0xAD, "SOFT HYPHEN"},
    {0xBB, 0xBB, "RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK", Kind::lookAlike},
    {0x34F, 0x34F, "COMBINING GRAPHEME JOINER"},
    {0x61C, 0x61C, "ARABIC LETTER MARK"},
    {0x115F, 0x115F, "HANGUL CHOSEONG FILLER"},
    {0x1160, 0x1160, "HANGUL JUNGSEONG FILLER"},
    {0x1680, 0x1680, "OGHAM SPACE MARK", Kind::space},
    {0x17B4, 0x17B5, "KHMER VOWEL INHERENT"},
    {0x180B, 0x180D, "MONGOLIAN FREE VARIATION SELECTOR"},
    {0x180E, 0x180E, "MONGOLIAN VOWEL SEPARATOR"},
    {0x180F, 0x180F, "MONGOLIAN FREE VARIATION SELECTOR"},
    {0x2000, 0x2000, "EN QUAD", Kind::space},
    {0x2001, 0x2001, "EM QUAD", Kind::space},
    {0x2002, 0x2002, "EN SPACE", Kind::space},
    {0x2003, 0x2003, "EM SPACE", Kind::space},
    {0x2004, 0x2004, "THREE-PER-EM SPACE", Kind::space},
    {0x2005, 0x2005, "FOUR-PER-EM SPACE", Kind::space},
    {0x2006, 0x2006, "SIX-PER-EM SPACE", Kind::space},
    {0x2007, 0x2007, "FIGURE SPACE", Kind::space},
    {0x2008, 0x2008, "PUNCTUATION SPACE", Kind::space},
    {0x2009, 0x2009, "THIN SPACE", Kind::space},
    {0x200A, 0x200A, "HAIR SPACE", Kind::space},
    {0x200B, 0x200B, "ZERO WIDTH SPACE"},
    {0x200C, 0x200C, "ZERO WIDTH NON-JOINER"},
    {0x200D, 0x200D, "ZERO WIDTH JOINER"},
    {0x200E, 0x200E, "LEFT-TO-RIGHT MARK"},
    {0x200F, 0x200F, "RIGHT-TO-LEFT MARK"},
    {0x2010, 0x2010, "HYPHEN", Kind::lookAlike},
    {0x2011, 0x2011, "NON-BREAKING HYPHEN", Kind::lookAlike},
    {0x2012, 0x2012, "FIGURE DASH", Kind::lookAlike},
    {0x2013, 0x2013, "EN DASH", Kind::lookAlike},
    {0x2018, 0x2018, "LEFT SINGLE QUOTATION MARK", Kind::lookAlike},
    {0x2019, 0x2019, "RIGHT SINGLE QUOTATION MARK", Kind::lookAlike},
    {0x201A, 0x201A, "SINGLE LOW-9 QUOTATION MARK", Kind::lookAlike},
    {0x201B, 0x201B, "SINGLE HIGH-REVERSED-9 QUOTATION MARK", Kind::lookAlike},
    {0x201C, 0x201C, "LEFT DOUBLE QUOTATION MARK", Kind::lookAlike},
    {0x201D, 0x201D, "RIGHT DOUBLE QUOTATION MARK", Kind::lookAlike},
    {0x201E, 0x201E, "DOUBLE LOW-9 QUOTATION MARK", Kind::lookAlike},
    {0x201F, 0x201F, "DOUBLE HIGH-REVERSED-9 QUOTATION MARK", Kind::lookAlike},
    {0x2028, 0x2028, "LINE SEPARATOR"},
    {0x2029, 0x2029, "PARAGRAPH SEPARATOR"},
    {0x202A, 0x202A, "LEFT-TO-RIGHT EMBEDDING"},
    {0x202B, 0x202B, "RIGHT-TO-LEFT EMBEDDING"},
    {0x202C, 0x202C, "POP DIRECTIONAL FORMATTING"},
    {0x202D, 0x202D, "LEFT-TO-RIGHT OVERRIDE"},
    {0x202E, 0x202E, "RIGHT-TO-LEFT OVERRIDE"},
    {0x202F, 0x202F, "NARROW NO-BREAK SPACE", Kind::space},
    {0x2039, 0x2039, "SINGLE LEFT-POINTING ANGLE QUOTATION MARK", Kind::lookAlike},
    {0x203A, 0x203A, "SINGLE RIGHT-POINTING ANGLE QUOTATION MARK", Kind::lookAlike},
    {0x205F, 0x205F, "MEDIUM MATHEMATICAL SPACE", Kind::space},
    {0x2060, 0x2060, "WORD JOINER"},
    {0x2061, 0x2061, "FUNCTION APPLICATION"},
    {0x2062, 0x2062, "INVISIBLE TIMES"},
    {0x2063, 0x2063, "INVISIBLE SEPARATOR"},
    {0x2064, 0x2064, "INVISIBLE PLUS"},
    {0x2065, 0x2065, "IGNORED CHARACTER"},
    {0x2066, 0x2066, "LEFT-TO-RIGHT ISOLATE"},
    {0x2067, 0x2067, "RIGHT-TO-LEFT ISOLATE"},
    {0x2068, 0x2068, "FIRST STRONG ISOLATE"},
    {0x2069, 0x2069, "POP DIRECTIONAL ISOLATE"},
    {0x206A, 0x206F, "DEPRECATED FORMAT CHARACTER"},
    {0x2212, 0x2212, "MINUS SIGN", Kind::lookAlike},
    {0x275B, 0x275E, "ORNAMENTAL QUOTATION MARK", Kind::lookAlike},
    {0x2800, 0x2800, "BRAILLE PATTERN BLANK", Kind::space},
    {0x2E42, 0x2E42, "DOUBLE LOW-REVERSED-9 QUOTATION MARK", Kind::lookAlike},
    {0x3000, 0x3000, "IDEOGRAPHIC SPACE", Kind::space},
    {0x301D, 0x301F, "DOUBLE PRIME QUOTATION MARK", Kind::lookAlike},
    {0x3164, 0x3164, "HANGUL FILLER"},
    {0xFDD0, 0xFDEF, "NONCHARACTER"},
    {0xFE00, 0xFE0F, "VARIATION SELECTOR"},
    {0xFE63, 0xFE63, "SMALL HYPHEN-MINUS", Kind::lookAlike},
    {0xFEFF, 0xFEFF, "ZERO WIDTH NO-BREAK SPACE (a byte order mark)"},
    {0xFF02, 0xFF02, "FULLWIDTH QUOTATION MARK", Kind::lookAlike},
    {0xFF07, 0xFF07, "FULLWIDTH APOSTROPHE", Kind::lookAlike},
    {0xFF0D, 0xFF0D, "FULLWIDTH HYPHEN-MINUS", Kind::lookAlike},
    {0xFFA0, 0xFFA0, "HALFWIDTH HANGUL FILLER"},
    {0xFFF0, 0xFFF8, "IGNORED CHARACTER"},
    {0xFFF9, 0xFFFB, "INTERLINEAR ANNOTATION CHARACTER"},
    {0x13430, 0x1343F, "EGYPTIAN HIEROGLYPH FORMAT CHARACTER"},
    {0x1BCA0, 0x1BCA3, "SHORTHAND FORMAT CHARACTER"},
    {0x1D173, 0x1D17A, "MUSICAL SYMBOL FORMAT CHARACTER"},
    {0xE0000, 0xE0000, "IGNORED CHARACTER"},
    {0xE0001, 0xE0001, "LANGUAGE TAG"},
    {0xE0002, 0xE001F, "IGNORED CHARACTER"},
    {0xE0020, 0xE007F, "TAG CHARACTER"},
    {0xE0080, 0xE00FF, "IGNORED CHARACTER"},
    {0xE0100, 0xE01EF, "VARIATION SELECTOR"},
    {0xE01F0, 0xE0FFF, "IGNORED CHARACTER"},
}};

/// The last two of each plane.
bool isNoncharacter(char32_t code) noexcept { return (code & 0xFFFEU) == 0xFFFEU; }

/// `text` begins with well-formed UTF-8 of this length.
char32_t codeOf(std::string_view text, std::size_t length) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  if (length == 1) return byte(0);
  char32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (byte(i) & 0x3FU);
  return code;
}

std::optional<OddCharacter> oddCode(char32_t code) noexcept {
  if (isNoncharacter(code)) return OddCharacter{.code = code, .name = "NONCHARACTER"};
  const auto row = std::lower_bound(rows.begin(), rows.end(), code,
                                    [](const Row& each, char32_t wanted) { return each.last < wanted; });
  if (row == rows.end() || row->first > code) return std::nullopt;
  return OddCharacter{.kind = row->kind, .code = code, .name = row->name};
}

std::string codeText(char32_t code) {
  std::string out;
  for (; code != 0 || out.size() < 4; code >>= 4U) out.insert(out.begin(), "0123456789ABCDEF"[code & 0xFU]);
  return "U+" + out;
}

constexpr char32_t firstL = 0x1100, lastL = 0x1112, firstV = 0x1161, lastV = 0x1175, firstT = 0x11A8, lastT = 0x11C2;
constexpr char32_t firstSyllable = 0xAC00, lastSyllable = 0xD7A3, vowels = 21, endings = 28;
constexpr std::uint64_t codeBits = 0x1FFFFF;  // the 21 bits of one in `compositions`

/// What NFC makes of both; 0: nothing.
char32_t composed(char32_t first, char32_t second) noexcept {
  if (second >= firstV && second <= lastV && first >= firstL && first <= lastL) {
    return firstSyllable + ((first - firstL) * vowels + (second - firstV)) * endings;
  }
  if (second >= firstT && second <= lastT && first >= firstSyllable && first <= lastSyllable) {
    return (first - firstSyllable) % endings == 0 ? first + (second - firstT) + 1 : 0;
  }
  const std::uint64_t wanted = std::uint64_t{second} << 42U | std::uint64_t{first} << 21U;
  const auto* const row = std::lower_bound(compositions.begin(), compositions.end(), wanted);
  return row != compositions.end() && (*row & ~codeBits) == wanted ? static_cast<char32_t>(*row & codeBits) : 0;
}

unsigned classOf(char32_t code) noexcept {
  const auto* const row =
      std::lower_bound(combiningClasses.begin(), combiningClasses.end(), code,
                       [](std::uint64_t each, char32_t wanted) { return (each >> 16U & 0xFFFFFFU) < wanted; });
  return row != combiningClasses.end() && *row >> 40U <= code ? static_cast<unsigned>(*row & 0xFFFFU) : 0;
}

/// Appends the character taken apart, each mark in its canonical place. Syllables of Hangul stay whole.
void appendApart(std::u32string& out, char32_t code) {
  const auto* const row = std::find_if(compositions.begin(), compositions.end(),
                                       [&](std::uint64_t each) { return (each & codeBits) == code; });
  if (row != compositions.end()) {
    appendApart(out, static_cast<char32_t>(*row >> 21U & codeBits));
    code = static_cast<char32_t>(*row >> 42U);
  }
  const unsigned own = classOf(code);
  auto place = out.end();
  while (own != 0 && place != out.begin() && classOf(*(place - 1)) > own) --place;
  out.insert(place, code);
}

/// The canonical composition algorithm (Unicode, D117).
std::u32string putTogether(const std::u32string& apart) {
  std::u32string out;
  std::size_t starter = std::u32string::npos;
  unsigned before = 0;
  for (const char32_t code : apart) {
    const unsigned own = classOf(code);
    const bool reaches = starter != std::u32string::npos && (starter + 1 == out.size() || before < own);
    if (const char32_t both = reaches ? composed(out[starter], code) : 0; both != 0) {
      out[starter] = both;
      continue;
    }
    if (own == 0) starter = out.size();
    before = own;
    out += code;
  }
  return out;
}

bool isNeverComposed(char32_t code) noexcept {
  const auto row = std::lower_bound(neverComposed.begin(), neverComposed.end(), code,
                                    [](std::uint64_t each, char32_t wanted) { return (each & 0xFFFFFFFFU) < wanted; });
  return row != neverComposed.end() && *row >> 32U <= code;
}

}  // namespace

std::string OddCharacter::text() const { return codeText(code) + ' ' + std::string{name}; }

std::string escapeOf(const OddCharacter& odd) {
  return odd.code > 0xFFFF ? "\\U" + hexOf(odd.code, 8) : "\\u" + hexOf(odd.code, 4);
}

std::optional<OddCharacter> oddCharacter(std::string_view character) noexcept {
  const std::size_t length = utf8SequenceLength(character);
  return length == 0 ? std::nullopt : oddCode(codeOf(character, length));
}

std::optional<OddCharacter> firstOddCharacter(std::string_view text) noexcept {
  std::optional<OddCharacter> found;
  std::size_t offset = 0;
  for (std::size_t number = 1; offset < text.size() && !found; ++number) {
    const std::string_view rest = text.substr(offset);
    found = oddCharacter(rest);
    if (found) found->offset = offset, found->number = number;
    offset += std::max<std::size_t>(utf8SequenceLength(rest), 1);
  }
  return found;
}

std::size_t firstNotComposed(std::string_view text) {
  const auto isAscii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), isAscii)) return 0;  // each acquisition of a lock asks
  std::u32string given;
  std::u32string apart;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8SequenceLength(text), 1);
    given += codeOf(text, length);
    if (isNeverComposed(given.back())) return given.size();
    appendApart(apart, given.back());
    text.remove_prefix(length);
  }
  const std::u32string right = putTogether(apart);
  if (right == given) return 0;
  const auto differs = std::mismatch(given.begin(), given.end(), right.begin(), right.end()).first;
  return static_cast<std::size_t>(differs - given.begin()) + 1;
}

std::optional<std::string> faultOfNameText(std::string_view text) {
  if (const auto odd = firstOddCharacter(text)) {
    constexpr std::array<std::string_view, 3> why{"which cannot be seen; remove it",
                                                  "which looks like a plain space; "
                                                  "write that, or none",
                                                  "which looks like a plain one; write that, or none"};
    return "holds " + odd->text() + " as character " + std::to_string(odd->number) + ", " +
           std::string{why[static_cast<std::size_t>(odd->kind)]};
  }
  if (text.starts_with(' ') || text.ends_with(' '))
    return "begins or ends with a space, which cannot be seen; remove it";
  if (const std::size_t number = firstNotComposed(text); number != 0) {
    return "is not written in composed characters (Unicode's NFC) from character " + std::to_string(number) +
           " on, and looks like the name that is; type it again, or convert it";
  }
  return std::nullopt;
}

}  // namespace tenure
