#include "source_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/name_text.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::config {
namespace {

constexpr std::string_view bom{"\xEF\xBB\xBF"};

ValueFault cannotOpen(int error, const std::string& cure) {
  if (error == ENOENT) return {"there is no such file; " + cure};
  if (error == EACCES) return {"this process may not read the file (" + errnoText(error) + ")"};
  return {"the file cannot be opened: " + errnoText(error)};
}

/// Length of the well-formed character at the start, 0 if there is none.
std::size_t characterLength(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    if (isUtf8(text.substr(0, length))) return length;
  }
  return 0;
}

bool isForbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
}

/// A `#` begins a comment after a blank, outside of quotes. A quote opens where a value may begin.
std::string_view withoutComment(std::string_view line) {
  char quote = 0;
  char before = ' ';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const bool blankBefore = before == ' ' || before == '\t';
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++at;
      if (c == quote) quote = 0;
    } else if (c == '#' && blankBefore) {
      return line.substr(0, at);
    } else if ((c == '"' || c == '\'') && (blankBefore || before == '[' || before == '{' || before == ',')) {
      quote = c;
    }
    before = c;
  }
  return line;
}

bool looksLikeUtf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         (text.size() > 1 && (text[0] == '\0') != (text[1] == '\0'));
}

/// Halves of a pair that stand alone are left as they are, and are no UTF-8 then.
std::string fromUtf16(std::string_view bytes, bool bigEndian) {
  const auto unit = [&](std::size_t at) {
    const auto high = static_cast<unsigned char>(bytes[bigEndian ? at : at + 1]);
    return static_cast<std::uint32_t>(high << 8U | static_cast<unsigned char>(bytes[bigEndian ? at + 1 : at]));
  };
  std::string out;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    std::uint32_t code = unit(at);
    const bool pair =
        code >= 0xD800U && code < 0xDC00U && at + 3 < bytes.size() && unit(at + 2) >= 0xDC00U && unit(at + 2) < 0xE000U;
    if (pair) code = 0x10000U + ((code - 0xD800U) << 10U) + (unit(at += 2) - 0xDC00U);
    appendUtf8(out, code);
  }
  if (bytes.size() % 2 != 0) out += '\xFF';  // half of a character
  return out;
}

/// As YAML 1.1 has it, in UTF-8: a control character of ASCII or of Latin-1 except NEL, and what is no character.
bool isForbiddenAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x20U) return first != '\t' && first != '\n' && first != '\r';
  if (first == 0x7FU) return true;
  if (first == 0xC2U) return byte(at + 1) < 0xA0U && byte(at + 1) != 0x85U;
  return first == 0xEFU && byte(at + 1) == 0xBFU && byte(at + 2) >= 0xBEU;
}

}  // namespace

boost::system::result<std::string, ValueFault> readSmallFile(const std::filesystem::path& file, const std::string& cure,
                                                             std::size_t most) {
  if (std::string fault = faultOfPath(file.native()); !fault.empty()) return ValueFault{std::move(fault)};
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const UniqueFd fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (fd.get() < 0) return cannotOpen(errno, cure);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return ValueFault{"the file cannot be examined: " + errnoText(errno)};
  if (S_ISDIR(about.st_mode)) return ValueFault{"this is a directory; give the YAML file in it"};
  if (!S_ISREG(about.st_mode)) return ValueFault{"this is not a regular file (a pipe or a device); give a YAML file"};
  std::string text;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n == 0) return {boost::system::in_place_value, std::move(text)};
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ValueFault{"the file cannot be read: " + errnoText(errno)};
    text.append(chunk.data(), static_cast<std::size_t>(n));
    if (text.size() > most) {
      return ValueFault{
          "the file is larger than " + std::to_string(most >> 20U) + " MiB; check that it is the right one", true};
    }
  }
}

SourceText::SourceText(std::string_view text)
    : text_{text.starts_with(bom) ? text.substr(bom.size()) : text}, lineStarts_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') lineStarts_.push_back(i + 1);
  }
}

std::size_t SourceText::lineIndex(std::size_t offset) const {
  const auto after = std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset);
  return static_cast<std::size_t>(after - lineStarts_.begin()) - 1;
}

Place SourceText::placeOf(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::size_t line = lineIndex(offset);
  const bool goesOn = placed_ >= lineStarts_[line] && placed_ <= offset;
  if (!goesOn) placed_ = lineStarts_[line], charactersThere_ = 0;
  const auto first = text_.begin() + static_cast<std::ptrdiff_t>(placed_);
  const auto last = text_.begin() + static_cast<std::ptrdiff_t>(offset);
  charactersThere_ +=
      std::count_if(first, last, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  placed_ = offset;
  return {static_cast<int>(line + 1), static_cast<int>(charactersThere_ + 1)};
}

int SourceText::lineOf(std::size_t offset) const {
  return static_cast<int>(lineIndex(std::min(offset, text_.size())) + 1);
}

std::string_view SourceText::lineAt(std::size_t offset) const {
  const std::size_t first = lineStarts_[lineIndex(std::min(offset, text_.size()))];
  const std::string_view rest = std::string_view{text_}.substr(first);
  return rest.substr(0, rest.find('\n'));
}

std::optional<TextFault> SourceText::fault() const {
  if (auto found = badByte()) return found;
  if (auto found = badCharacter()) return found;
  if (auto found = oddOutsideComments()) return found;
  return badIndentation();
}

std::optional<TextFault> SourceText::badByte() const {
  constexpr std::string_view utf16Advice = "the file seems to be UTF-16; save it as UTF-8";
  if (looksLikeUtf16(text_)) return TextFault{{1, 1}, std::string{utf16Advice}};
  if (isUtf8(text_)) return std::nullopt;
  std::size_t at = 0;
  while (const std::size_t length = characterLength(std::string_view{text_}.substr(at))) at += length;
  return TextFault{placeOf(at), "the byte 0x" + hexOf(text_[at]) + " is not UTF-8; save the file as UTF-8"};
}

std::optional<TextFault> SourceText::badCharacter() const {
  const auto found = std::find_if(text_.begin(), text_.end(), isForbidden);
  if (found == text_.end()) return std::nullopt;
  return TextFault{placeOf(static_cast<std::size_t>(found - text_.begin())),
                   "the control character 0x" + hexOf(*found) + " is not allowed; remove it"};
}

std::optional<TextFault> SourceText::oddOutsideComments() const {
  for (const std::size_t start : lineStarts_) {
    const std::string_view line = withoutComment(lineAt(start));
    for (std::size_t at = 0; at < line.size();) {
      const auto odd = firstOddCharacter(line.substr(at));
      if (!odd) break;
      at += odd->offset;
      if (odd->code != '\t' && odd->code != '\r') {
        return TextFault{
            placeOf(start + at),
            odd->text() + " is not allowed here, because people " +
                (odd->kind == OddCharacter::Kind::unseen ? "do not see it" : "take it for a plain character") +
                "; remove it, or write \"" + escapeOf(*odd) + "\" in a value in double quotes"};
      }
      ++at;
    }
  }
  return std::nullopt;
}

std::optional<TextFault> SourceText::badIndentation() const {
  const std::string_view text{text_};
  for (const std::size_t start : lineStarts_) {
    const std::size_t first = text.find_first_not_of(" \t", start);
    if (first == std::string_view::npos || text[first] == '\n' || text[first] == '\r' || text[first] == '#') continue;
    const std::size_t tab = text.substr(start, first - start).find('\t');
    if (tab != std::string_view::npos)
      return TextFault{placeOf(start + tab), "a tab indents this line; indent with spaces"};
  }
  return std::nullopt;
}

boost::system::result<std::string, TextFault> textOfYaml(std::string_view bytes) {
  const bool bigEndian = bytes.starts_with("\xFE\xFF");
  std::string text{bytes};
  if (bigEndian || bytes.starts_with("\xFF\xFE")) text = fromUtf16(bytes.substr(2), bigEndian);
  const SourceText source{text};
  text = source.text();
  if (!isUtf8(text) || text.find('\0') != std::string::npos) return *source.fault();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (isForbiddenAt(text, at)) {
      return TextFault{source.placeOf(at), "a control character is not allowed here; remove it"};
    }
    if (text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n')) text[at] = '\n';
  }
  return text;
}

}  // namespace tenure::config
