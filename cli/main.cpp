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
#include "commands.hpp"
#include "lockcore/runtime/open_file.hpp"

namespace tenure::cli {
namespace {

struct Dispatch {
  const SignalState& signals;

  int operator()(const RunArguments& arguments) const { return runCommand(arguments, signals); }
  int operator()(const StatusArguments& arguments) const { return statusCommand(arguments, signals); }
  int operator()(const CheckArguments& arguments) const { return checkCommand(arguments); }
  int operator()(const DoctorArguments& arguments) const { return doctorCommand(arguments); }
  int operator()(const InitArguments& arguments) const { return initCommand(arguments); }
  int operator()(const ResignArguments& arguments) const { return resignCommand(arguments); }
  int operator()(const PauseArguments& arguments) const { return pauseCommand(arguments); }
  int operator()(const ResumeArguments& arguments) const { return resumeCommand(arguments); }
  int operator()(const HistoryArguments& arguments) const { return historyCommand(arguments); }
  int operator()(const WatchArguments& arguments) const { return watchCommand(arguments, signals); }
  int operator()(const JobsArguments& arguments) const { return jobsCommand(arguments); }
  int operator()(const JobsForgetArguments& arguments) const { return jobsForgetCommand(arguments); }
  int operator()(const StoreSqlArguments& arguments) const { return storeSqlCommand(arguments); }
  int operator()(const FenceInstallSqlArguments& arguments) const { return fenceInstallSqlCommand(arguments); }
  int operator()(const LockArguments& arguments) const { return lockCommand(arguments, signals); }
  int operator()(const FenceRecoverArguments& arguments) const { return fenceRecoverCommand(arguments); }
  int operator()(const FenceProxyArguments& arguments) const { return fenceProxyCommand(arguments, signals); }
};

bool runsJob(const Arguments& arguments) {
  return std::holds_alternative<RunArguments>(arguments) || std::holds_alternative<LockArguments>(arguments);
}

/// What these do must not depend on whether their output is read: they hold a lease or a lock, or are about to.
bool holds(const Arguments& arguments) {
  if (const auto* lock = std::get_if<LockArguments>(&arguments)) {
    using Action = LockArguments::Action;
    return lock->action != Action::show && lock->action != Action::list;
  }
  return std::holds_alternative<RunArguments>(arguments) || std::holds_alternative<FenceProxyArguments>(arguments) ||
         std::holds_alternative<PauseArguments>(arguments) || std::holds_alternative<JobsForgetArguments>(arguments);
}

template <class Command>
bool asksForJson(const Command& command) {
  if constexpr (requires { command.json; }) return command.json;
  return false;
}

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
  complain("ends because of an error in itself: " + what);
  flushAtExit();
  std::abort();
}

int mainOf(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == guardSubcommand) {
    return runGuard({std::stoi(words[1]), std::stoi(words[2]), std::stoi(words[3])});
  }
  const SignalState signals = SignalState::takeOver();
  const auto parsed = parseArguments(words);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const auto& arguments = std::get<Arguments>(parsed);
  if (std::visit([](const auto& each) { return asksForJson(each); }, arguments)) keepErrors();
  if (holds(arguments)) {
    neverWaitForReaders();
    ignoreClosedPipes();
  }
  if (runsJob(arguments)) {
    if (const auto code = waitAsFirstProcess()) return *code;
  }
  return std::visit(Dispatch{signals}, arguments);
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
