#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <tenure/lockcore/lease_key.hpp>

#include "environment.hpp"

namespace tenure::cli {
namespace {

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string_view codeOf(Colour colour) {
  switch (colour) {
    case Colour::good:
      return "\033[32m";
    case Colour::warning:
      return "\033[33m";
    case Colour::bad:
      return "\033[31m";
    case Colour::dim:
      return "\033[2m";
    case Colour::none:
      break;
  }
  return "";
}

/// The length of the UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t sequenceLength(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    if (isUtf8(text.substr(0, length))) return length;
  }
  return 0;
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
      return static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\u{:04x}", static_cast<unsigned char>(c))
                                                  : std::string(1, c);
  }
}

}  // namespace

void complain(const std::string& message) { writeAll(STDERR_FILENO, "tenure: " + message + '\n'); }

bool say(const std::string& text) {
  if (writeAll(STDOUT_FILENO, text)) return true;
  complain("cannot write the output: " + std::generic_category().message(errno));
  return false;
}

bool stdoutHasColours() {
  return isatty(STDOUT_FILENO) == 1 && environmentText("NO_COLOR").empty() && environmentText("TERM") != "dumb";
}

std::string coloured(std::string_view text, Colour colour, bool wanted) {
  const std::string_view code = wanted ? codeOf(colour) : "";
  return code.empty() ? std::string{text} : std::string{code}.append(text).append("\033[0m");
}

std::string table(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : rows) {
    out.append(name).append(width - name.size() + 2, ' ').append(value).append("\n");
  }
  return out;
}

std::string jsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = sequenceLength(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (length == 1) {
      out += jsonEscape(text[0]);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

std::string jsonStringOrNull(std::string_view text) { return text.empty() ? "null" : jsonString(text); }

}  // namespace tenure::cli
