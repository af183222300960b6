#include "run_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

constexpr std::size_t mostOutput = 64U << 10U;

/// For a command that has closed its outputs, because its exit code counts; and for one that was killed.
constexpr std::chrono::milliseconds timeToEnd{2'000};

StoreError systemFault(const std::string& what, int systemErrno) {
  return {ErrorClass::credentials, what + ": " + errnoText(systemErrno)};
}

struct Pipe {
  UniqueFd read{};
  UniqueFd write{};
  [[nodiscard]] bool make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = UniqueFd{ends[0]};
    write = UniqueFd{ends[1]};
    return true;
  }
};

class SpawnSettings {
 public:
  SpawnSettings(const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
    posix_spawn_file_actions_adddup2(&files_, 0, 0);  // a dup onto itself clears close-on-exec
    posix_spawn_file_actions_adddup2(&files_, out.write.get(), 1);
    posix_spawn_file_actions_adddup2(&files_, err.write.get(), 2);
    posix_spawnattr_init(&attributes_);
    // Threads of this library block all signals, and programs may ignore some; the command must start as usual.
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  [[nodiscard]] int start(pid_t& child, std::vector<std::string>& words, std::vector<std::string>& environment) const {
    return posix_spawnp(&child, words.front().c_str(), &files_, &attributes_, pointers(words).data(),
                        pointers(environment).data());
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }

  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// False at the end of the output.
bool drain(const UniqueFd& from, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(from.get(), buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  const std::size_t room = mostOutput - std::min(mostOutput, into.size());
  into.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  return got > 0;
}

constexpr const char* statusWasTaken =
    "this program ignores SIGCHLD (perhaps because it was started so), or other code in it waits for children that are "
    "not its own; let SIGCHLD have its default action or a handler without SA_NOCLDWAIT, and let each part of the "
    "program wait for its own children only";

enum class End { finished, timeOver, stopped };

/// Reads both outputs until they are closed, which happens when a command ends.
End collect(Pipe& out, Pipe& err, ProcessOutput& output, std::chrono::milliseconds timeout, const UniqueFd& stopped) {
  const Instant begin = readClock();
  while (out.read.get() >= 0 || err.read.get() >= 0) {
    const auto left = timeout - elapsedForHolder(begin, readClock());
    if (left.count() <= 0) return End::timeOver;
    std::array<pollfd, 3> fds{{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}, {stopped.get(), POLLIN, 0}}};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(milliseconds, 60'000)));
    if (fds[2].revents != 0) return End::stopped;
    if (fds[0].revents != 0 && !drain(out.read, output.out)) out.read.reset();
    if (fds[1].revents != 0 && !drain(err.read, output.err)) err.read.reset();
  }
  return End::finished;
}

/// A child keeps its number, and that of its group, until somebody waits for it. After that a group of this number may
/// be another program's, so it is left alone. Returns 0 or an errno; ECHILD: it was left alone.
int killGroup(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno;
  return kill(-child, SIGKILL) == 0 ? 0 : errno;
}

/// Waits for the end of the child itself, until the time is over or `stopped` can be read.
bool endsInTime(pid_t child, std::chrono::milliseconds timeout, const UniqueFd& stopped) {
  const Instant begin = readClock();
  for (;;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child)
      return true;
    if (elapsedForHolder(begin, readClock()) >= timeout) return false;
    pollfd entry{stopped.get(), POLLIN, 0};
    if (poll(&entry, 1, 5) > 0) return false;
  }
}

enum class Reaped { yes, statusUnknown, stillRuns };

/// The outputs are closed, or the group was killed. A command that lives on after it has closed its outputs was killed
/// too. The wait has a bound, because a program that runs as another user (setuid) cannot be killed.
///
/// The status is unknown if the kernel kept none or if other code took it.
Reaped reap(pid_t child, ProcessOutput& output) {
  if (!endsInTime(child, timeToEnd, UniqueFd{})) return Reaped::stillRuns;
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return Reaped::statusUnknown;
  if (WIFEXITED(status)) output.exitCode = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
  return Reaped::yes;
}

/// How an attempt to kill the child ended, for a message.
std::string attemptText(pid_t child, int killFault, Reaped reaped) {
  std::string text = killFault == 0 ? "was killed" : "could not be killed (" + errnoText(killFault) + ')';
  if (reaped == Reaped::stillRuns) text += "; process " + std::to_string(child) + " still runs";
  return text;
}

}  // namespace

StoreResult<ProcessOutput> runProgram(std::vector<std::string> words,
                                      const std::map<std::string, std::string>& variables,
                                      std::chrono::milliseconds timeout, const std::stop_token& stop) {
  Pipe out;
  Pipe err;
  const UniqueFd stopped{eventfd(0, EFD_CLOEXEC)};
  if (!out.make() || !err.make() || stopped.get() < 0) return systemFault("could not make a pipe", errno);
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + '=' + value);
  pid_t child = -1;
  if (const int fault = SpawnSettings{out, err}.start(child, words, environment); fault != 0) {
    return systemFault("could not start " + oneLine(words.front()), fault);
  }
  out.write.reset();
  err.write.reset();
  const std::stop_callback wake{stop, [&stopped] { eventfd_write(stopped.get(), 1); }};
  ProcessOutput output;
  End end = collect(out, err, output, timeout, stopped);
  if (end == End::finished && !endsInTime(child, std::min(timeout, timeToEnd), stopped)) {
    end = stop.stop_requested() ? End::stopped : End::timeOver;
  }
  const int killFault = end == End::finished ? 0 : killGroup(child);
  const Reaped reaped = reap(child, output);
  const auto error = [](const std::string& message) { return StoreError{ErrorClass::credentials, message}; };
  if (end == End::timeOver) {
    const std::string late = "did not end within " + std::to_string(timeout.count()) + " ms and ";
    if (killFault != ECHILD) return error(late + attemptText(child, killFault, reaped) + "; run it by hand to see why");
    return error(late + "was left running, because it could be another process: " + statusWasTaken);
  }
  if (end == End::stopped && reaped == Reaped::stillRuns) {
    return error("could not be stopped when the client was closed: it " + attemptText(child, killFault, reaped));
  }
  if (end == End::stopped) return error("was stopped: the client was closed");
  if (reaped != Reaped::yes) {
    return error(std::string{"ended, but its exit status is not known, so what it printed was not taken: "} +
                 statusWasTaken);
  }
  return output;
}

}  // namespace tenure::aws
