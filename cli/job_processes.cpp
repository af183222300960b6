#include "job_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/epoll.h>
#include <utility>

namespace tenure::cli {
namespace {

constexpr int maxKillRounds = 20;

struct DirectoryCloser {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

/// Empty if the file does not exist (any more) or may not be read by us.
std::string readProcFile(pid_t process, const char* name) {
  const std::string path = "/proc/" + std::to_string(process) + '/' + name;
  const UniqueFd file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::string content;
  char chunk[4096];
  for (;;) {
    const ssize_t got = file ? read(file.get(), chunk, sizeof chunk) : 0;
    if (got <= 0) return content;
    content.append(chunk, static_cast<std::size_t>(got));
  }
}

/// Read from the fields after the command name, which is in parentheses and may contain anything.
std::optional<pid_t> processGroupOf(pid_t process) {
  const std::string stat = readProcFile(process, "stat");
  const std::size_t name = stat.rfind(')');
  if (name == std::string::npos) return std::nullopt;
  char state = '?';
  int parent = 0;
  pid_t group = 0;
  if (std::sscanf(stat.c_str() + name + 1, " %c %d %d", &state, &parent, &group) != 3) return std::nullopt;
  return group;
}

bool isMarked(pid_t process, const std::string& identity) {
  const std::string environment = readProcFile(process, "environ");
  const std::string prefix = std::string{jobVariable} + '=';
  for (std::size_t at = 0; at < environment.size();) {
    const std::string_view entry{environment.c_str() + at};
    if (entry.starts_with(prefix) && entry.find(identity) != std::string_view::npos) return true;
    at += entry.size() + 1;
  }
  return false;
}

/// Calls `goesOn` with each process until it says no. Returns whether all were seen.
bool forEachProcess(const std::function<bool(pid_t)>& goesOn) {
  const std::unique_ptr<DIR, DirectoryCloser> proc{opendir("/proc")};
  if (!proc) return false;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(proc.get());  // NOLINT(concurrency-mt-unsafe): the stream is this function's own
    if (entry == nullptr) return errno == 0;
    pid_t process = 0;
    const std::string_view name{entry->d_name};
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc{} && end == name.data() + name.size() && !goesOn(process)) return false;
  }
}

}  // namespace

JobProcesses::JobProcesses(ProcessGroup group, std::string identity)
    : group_{group}, identity_{std::move(identity)}, endings_{epoll_create1(EPOLL_CLOEXEC)} {
  if (!endings_) throwErrno("epoll_create1");
}

bool JobProcesses::belongs(pid_t process, bool& inGroup) const {
  const auto group = processGroupOf(process);
  inGroup = group == group_.id;
  return inGroup || (group && isMarked(process, identity_));
}

std::size_t JobProcesses::refresh(const Hurry& hurry) {
  searched_ = false;
  members_.erase(std::remove_if(members_.begin(), members_.end(),
                                [](const Member& member) { return hasEnded(member.pidfd.get()); }),
                 members_.end());
  std::size_t found = 0;
  searched_ = forEachProcess([&](pid_t process) {
    const auto known = [process](const Member& member) { return member.id == process; };
    if (std::none_of(members_.begin(), members_.end(), known) && add(process)) ++found;
    return !hurry || !hurry();
  });
  return found;
}

/// The second look is the one that counts, because it sees the process that the descriptor names. A process whose first
/// thread alone has ended looks like a zombie in /proc; its pidfd shows that it lives.
bool JobProcesses::add(pid_t process) {
  bool inGroup = false;
  if (process == getpid() || !belongs(process, inGroup)) return false;
  UniqueFd pidfd = tryOpenPidfd(process);
  if (!pidfd || !belongs(process, inGroup) || hasEnded(pidfd.get())) return false;
  epoll_event ending{};
  ending.events = EPOLLIN;
  epoll_ctl(endings_.get(), EPOLL_CTL_ADD, pidfd.get(), &ending);
  members_.push_back({process, inGroup, std::move(pidfd)});
  return true;
}

void JobProcesses::terminate(const Hurry& hurry) {
  signalGroup(group_, SIGTERM);
  signalGroup(group_, SIGCONT);
  const auto tell = [this](std::size_t from) {
    for (std::size_t i = from; i < members_.size(); ++i) {
      if (members_[i].inGroup) continue;
      signalProcess(members_[i].pidfd.get(), SIGTERM);
      signalProcess(members_[i].pidfd.get(), SIGCONT);
    }
  };
  tell(0);
  const std::size_t found = refresh(hurry);
  tell(members_.size() - found);  // new ones are the last
}

void JobProcesses::kill() {
  signalGroup(group_, SIGKILL);
  for (int round = 0; round < maxKillRounds; ++round) {
    // The known ones first, because reading /proc takes milliseconds.
    for (const Member& member : members_) signalProcess(member.pidfd.get(), SIGKILL);
    if (refresh() == 0 && round > 0) return;
  }
}

}  // namespace tenure::cli
