// The tenure program.
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "cli/process/first_process.hpp"
#include "cli/process/process.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/guard_protocol.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "lockcore/runtime/open_file.hpp"

namespace tenure::cli {
namespace {

/// The usual one writes to stderr itself, which may block while other threads renew.
[[noreturn]] void tellUnexpectedEnd() noexcept {
  std::string what = "an unknown exception";
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  neverWaitForReaders();
  complain("ends because of an internal error: " + what);
  flushAtExit();
  std::abort();
}

int mainOf(const std::vector<std::string>& words) {
  if (words.size() == 5 && words[0] == guardSubcommand) {
    return runGuard({std::stoi(words[1]), std::stoi(words[2]), std::stoi(words[3]), std::stoi(words[4])});
  }
  const SignalState signals = SignalState::takeOver();
  const std::vector<Command> all = commands();
  const auto parsed = parse(all, words);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const auto& [command, run] = std::get<Chosen>(parsed);
  if (command->holds) {
    neverWaitForReaders();
    ignoreClosedPipes();
  }
  if (const auto code = waitAsFirstProcess()) return *code;
  return run(signals);
}

/// Every failure has a code and was told on stderr.
int codeOf(const std::vector<std::string>& words) {
  try {
    return mainOf(words);
  } catch (const EndWith& end) {
    complain(end.what());
    return end.code;
  } catch (const std::system_error& error) {
    const std::string limit = limitBehind(error.code().value());
    const std::string what = error.what();
    const bool told = limit.empty() || what.find(limit) != std::string::npos;
    complain(what + (told ? "" : "; " + limit));
  } catch (const std::bad_alloc&) {
    const std::string limit = limitBehind(ENOMEM);
    complain("there is not enough memory" + (limit.empty() ? "" : ": " + limit));
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return exitFailed;
}

}  // namespace
}  // namespace tenure::cli

int main(int argc, char** argv) {
  using namespace tenure::cli;
  tenure::occupyStandardDescriptors();
  std::set_terminate(tellUnexpectedEnd);
  const int code = codeOf({argv + 1, argv + argc});
  const std::string json = code == exitOk ? std::string{} : toJsonOfFailure(code);
  if (!json.empty()) static_cast<void>(say(json));
  return code;
}
