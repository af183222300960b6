#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unistd.h>

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

}  // namespace tenure::cli
