#include "output.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <unistd.h>

#include "environment.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/output_writer.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A reader is given this time before the text counts as not read, and `givesUp` is asked so often.
constexpr milliseconds readerPatience{5'000}, lookPeriod{100};

std::atomic<bool> waits{true};

/// For a program that reads stdout alone.
struct KeptErrors {
  std::mutex mutex;
  bool areKept{false};
  bool hasSaid{false};
  std::string text{};
};

KeptErrors& keptErrors() {
  static KeptErrors all;
  return all;
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

void neverWaitForReaders() noexcept { waits.store(false); }

void keepErrors() {
  const std::lock_guard lock{keptErrors().mutex};
  keptErrors().areKept = true;
}

std::string toJsonOfFailure(int code) {
  const std::lock_guard lock{keptErrors().mutex};
  std::string text = keptErrors().text;
  if (keptErrors().hasSaid || text.empty()) return {};
  for (std::size_t at = 0; (at = text.find("tenure: ", at)) != std::string::npos;) {
    at == 0 || text[at - 1] == '\n' ? static_cast<void>(text.erase(at, 8)) : static_cast<void>(at += 8);
  }
  text.resize(text.find_last_not_of('\n') + 1);
  return R"({"error":)" + jsonString(text) + R"(,"exit_code":)" + std::to_string(code) + "}\n";
}

void complain(const std::string& message) {
  std::string out = "tenure: ";
  for (const std::string_view line : split(message, '\n')) out += shown(line) + '\n';
  tell(out);
}

void tell(const std::string& text) {
  {
    const std::lock_guard lock{keptErrors().mutex};
    if (keptErrors().areKept) keptErrors().text += text;
  }
  stderrWriter().post(text);
  if (waits) stderrWriter().flush(std::nullopt);
}

bool say(const std::string& text, const std::function<bool()>& givesUp) {
  // What came before this text is to be read before it.
  stderrWriter().flush(waits ? std::nullopt : std::optional<nanoseconds>{OutputWriter::patienceAtExit});
  stdoutWriter().post(text);
  {
    const std::lock_guard lock{keptErrors().mutex};
    keptErrors().hasSaid = true;
  }
  int error = 0;
  milliseconds waited{0};
  while ((error = stdoutWriter().flush(lookPeriod)) == ETIMEDOUT) {
    if (givesUp && givesUp()) return false;
    if (!givesUp && !waits && (waited += lookPeriod) >= readerPatience) break;
  }
  if (error == EPIPE) std::raise(SIGPIPE);  // the writer's thread takes no signals
  if (error == 0) return true;
  complain("cannot write the output: " + (error == ETIMEDOUT ? "its reader has stopped reading" : errnoText(error)));
  return false;
}

void flushAtExit() noexcept { stderrWriter().flush(OutputWriter::patienceAtExit); }

void exitAtOnce(int code) {
  flushAtExit();
  std::_Exit(code);
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
