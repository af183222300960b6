#include "children.hpp"

#include <array>
#include <string_view>
#include <sys/wait.h>

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
    pid_t number = 0;
    for (++at; *at >= '0' && *at <= '9'; ++at) number = number * 10 + (*at - '0');
    out.all[out.count] = number;
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
  char text[16];
  const ssize_t length = readlink("/proc/self", text, sizeof text);
  pid_t shown = 0;
  for (ssize_t i = 0; i < length; ++i) shown = shown * 10 + (text[i] - '0');
  return shown == getpid();
}

pid_t parentOf(pid_t process) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const UniqueFd file{open(path, O_RDONLY | O_CLOEXEC)};
  char stat[512];
  const ssize_t got = file ? read(file.get(), stat, sizeof stat - 1) : 0;
  if (got <= 0) return 0;
  stat[got] = '\0';
  const char* name = std::strrchr(stat, ')');  // the command's name is in parentheses and may contain anything
  char state = '?';
  pid_t parent = 0;
  return name != nullptr && std::sscanf(name + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

bool isChild(pid_t process) noexcept {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD;
  return waitid(P_PID, static_cast<id_t>(process), &info, options) == 0;
}

pid_t highestProcess() noexcept {
  constexpr pid_t kernelsLimit = 4'194'304;  // PID_MAX_LIMIT
  pid_t highest = 0;
  detail::eachNumberIn("/proc/sys/kernel/pid_max", [&highest](pid_t number) { highest = number; });
  return highest > 0 && highest < kernelsLimit ? highest : kernelsLimit;
}

}  // namespace tenure::cli
