#include "children.hpp"

#include <array>
#include <string_view>
#include <sys/wait.h>

#include "process.hpp"

namespace tenure::cli {
namespace {

/// The numbers of a process in the PID namespaces from that of /proc to its own.
struct Numbers {
  std::array<pid_t, 33> all{};  // the kernel nests 32 at most
  std::size_t count{0};
};

Numbers numbersOf(const char* process) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%s/status", process);
  const UniqueFd file{open(path, O_RDONLY | O_CLOEXEC)};
  char status[4096];
  const ssize_t got = file ? read(file.get(), status, sizeof status - 1) : 0;
  status[got > 0 ? got : 0] = '\0';
  constexpr std::string_view key{"\nNSpid:"};
  const char* at = std::strstr(status, key.data());
  Numbers out;
  for (at = at != nullptr ? at + key.size() : ""; *at == '\t' && out.count < out.all.size(); ++out.count) {
    out.all[out.count] = detail::takeNumber(++at);
  }
  return out;
}

}  // namespace

pid_t ownNumberOf(pid_t shown) noexcept {
  char name[16];
  std::snprintf(name, sizeof name, "%d", shown);
  const Numbers self = numbersOf("self");
  const Numbers other = numbersOf(name);
  return self.count > 0 && other.count >= self.count ? other.all[self.count - 1] : 0;
}

bool procIsOurs() noexcept {
  char text[16]{};
  const char* shown = text;
  return readlink("/proc/self", text, sizeof text - 1) > 0 && detail::takeNumber(shown) == getpid();
}

pid_t parentOf(pid_t process) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const UniqueFd file{open(path, O_RDONLY | O_CLOEXEC)};
  char stat[512];
  const ssize_t got = file ? read(file.get(), stat, sizeof stat - 1) : 0;
  if (got <= 0) return 0;
  stat[got] = '\0';
  const char* at = std::strrchr(stat, ')');  // the command's name is in parentheses and may contain anything
  if (at == nullptr || std::strlen(at) < 5) return 0;
  at += 4;  // ") S 123": a letter for the state, then the parent
  return detail::takeNumber(at);
}

bool signalDescendant(pid_t process, pid_t parent, pid_t ancestor, int signal) noexcept {
  const UniqueFd held = tryOpenPidfd(process);
  const pid_t present = held ? parentOf(process) : 0;
  return present != 0 && (present == parent || present == ancestor) && signalProcess(held.get(), signal);
}

bool isChild(pid_t process) noexcept {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD;
  return waitid(P_PID, static_cast<id_t>(process), &info, options) == 0;
}

bool hasEndedAsChild(pid_t process) noexcept {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT | __WALL;
  return waitid(P_PID, static_cast<id_t>(process), &info, options) == 0 && info.si_pid == process;
}

pid_t highestProcess() noexcept {
  constexpr pid_t kernelsLimit = 4'194'304;  // PID_MAX_LIMIT
  pid_t highest = 0;
  detail::eachNumberIn("/proc/sys/kernel/pid_max", [&highest](pid_t number) { highest = number; });
  return highest > 0 && highest < kernelsLimit ? highest : kernelsLimit;
}

}  // namespace tenure::cli
