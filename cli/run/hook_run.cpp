#include "hook_run.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process/adopted.hpp"
#include "cli/process/process.hpp"
#include "cli/text/exit_codes.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "probe_file.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// What the shell says of a command that it cannot read; it runs nothing of it. Empty: it can.
std::string syntaxFault(const std::string& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throwErrno("pipe2, for the check of a hook");
  const UniqueFd reads{ends[0]};
  UniqueFd writes{ends[1]};
  const pid_t shell = forkFor("the check of a hook");
  if (shell == 0) {
    dup2(writes.get(), STDERR_FILENO);
    execl("/bin/sh", "sh", "-n", "-c", command.c_str(), nullptr);
    _exit(0);  // without a shell, the hook's own start shows it
  }
  writes.reset();
  std::array<char, 512> said{};
  const ssize_t length = read(reads.get(), said.data(), said.size());
  const int status = reapOwnChild(shell);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string text{said.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  return text.empty() ? "sh ended with an error" : shown(text.substr(0, text.find('\n')), 200);
}

/// The program that the command's first word names by a path; empty: the shell finds out.
std::string programIn(const std::string& command) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,@%";
  const std::size_t first = std::min(command.find_first_not_of(" \t"), command.size());
  const std::string word = command.substr(first, command.find_first_of(" \t\n", first) - first);
  return word.find('/') != std::string::npos && word.find_first_not_of(plain) == std::string::npos ? word
                                                                                                   : std::string{};
}

}  // namespace

std::optional<CommandFault> faultOfHooks(const HooksConfig& hooks) {
  for (const auto& [name, command] : {std::pair{"hooks.on_elected", &hooks.onElected},
                                      {"hooks.on_renewed", &hooks.onRenewed},
                                      {"hooks.on_revoked", &hooks.onRevoked},
                                      {"candidate.ready", &hooks.ready},
                                      {"lease.probe", &hooks.probe}}) {
    if (command->empty()) continue;
    if (const std::string why = syntaxFault(*command); !why.empty()) {
      return CommandFault{std::string{name} + ": the shell cannot read it: " + why, exitUsage};
    }
    const std::string program = programIn(*command);
    if (program.empty()) continue;
    if (auto fault = faultOfCommand(program)) return CommandFault{name + (": " + fault->message), fault->exitCode};
  }
  return std::nullopt;
}

std::vector<std::string> hookCommand(const std::string& command) { return {"/bin/sh", "-c", command}; }

HookRun::HookRun(std::string name, const JobSpec& spec, const HookLimit& limit, const SignalState& signals,
                 const Instant& now, GuardChannel* term)
    : name_{std::move(name)},
      file_{spec.writes ? spec.command.front() : std::string{}},
      limit_{limit},
      job_{Job::start(spec, signals, {term, false, limit.time})},
      began_{now} {
  job_.openBarrier();
}

/// After SIGKILL it is asked often, because a process may take a moment to end; and less often where the kernel keeps
/// it for a disk that does not answer.
nanoseconds HookRun::untilWake(const Instant& now) const {
  if (kills_ > 0) return milliseconds{20} * (1 << std::min(kills_ / 8, 5));
  return std::max(limit_.time - elapsedForHolder(began_, now), nanoseconds{0});
}

void HookRun::act(const Instant& now) {
  if (status_) return;
  job_.look();
  const bool ended = job_.status().has_value();
  // What a hook that has ended leaves behind is late only if SIGKILL was sent to it before.
  const bool lasts = !job_.isOver() && (!ended || kills_ > 0);
  if (lasts && elapsedForHolder(began_, now) >= limit_.time) timedOut_ = true;
  if (ended || timedOut_ || kills_ > 0 || !job_.isReaped()) kill();
  if (job_.isOver()) status_ = job_.status();
}

void HookRun::kill() noexcept {
  ++kills_;
  if (!job_.isOver()) job_.kill();
  job_.look();
}

std::string HookRun::text() const {
  if (timedOut_) {
    return name_ + " was killed after " + durationText(std::chrono::duration_cast<milliseconds>(limit_.time)) +
           ", its time limit (" + limit_.key + ")";
  }
  if (!status_) return name_ + " runs";
  if (file_.empty() || status_->bySignal || status_->value == 0) return name_ + ' ' + status_->text();
  return name_ + " cannot write " + file_ + ": " + probeFileFault(status_->value);
}

}  // namespace tenure::cli
