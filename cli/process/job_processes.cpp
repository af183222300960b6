#include "job_processes.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include "children.hpp"

namespace tenure::cli {
namespace {

constexpr int maxKillRounds = 20;

/// Read from the fields after the command name, which is in parentheses and may contain anything.
std::optional<pid_t> processGroupOf(const std::string& stat) {
  const std::size_t name = stat.rfind(')');
  if (name == std::string::npos) return std::nullopt;
  char state = '?';
  int parent = 0;
  pid_t group = 0;
  if (std::sscanf(stat.c_str() + name + 1, " %c %d %d", &state, &parent, &group) != 3) return std::nullopt;
  return group;
}

bool isMarked(const std::string& environment, const std::string& identity) {
  const std::string prefix = std::string{jobVariable} + '=';
  for (std::size_t at = 0; at < environment.size();) {
    const std::string_view entry{environment.c_str() + at};
    if (entry.starts_with(prefix) && entry.find(identity) != std::string_view::npos) return true;
    at += entry.size() + 1;
  }
  return false;
}

}  // namespace

JobProcesses::JobProcesses(ProcessGroup group, std::string identity, std::string cgroup)
    : group_{group},
      identity_{std::move(identity)},
      cgroup_{std::move(cgroup)},
      endings_{epoll_create1(EPOLL_CLOEXEC)} {
  if (!endings_) throwErrno("epoll_create1");
}

bool JobProcesses::belongs(pid_t process, bool& inGroup) {
  const auto group = processGroupOf(table_.read(process, "stat"));
  inGroup = group == group_.id;
  if (!inGroup && !cgroup_.empty() && table_.read(process, "cgroup").find(cgroup_) != std::string::npos) return true;
  return inGroup || (group && isMarked(table_.read(process, "environ"), identity_));
}

std::size_t JobProcesses::refresh(const Hurry& hurry) {
  std::erase_if(members_, [](const Member& member) { return hasEnded(member.pidfd.get()); });
  std::size_t found = 0;
  if (!procIsOurs()) {  // its numbers are those of strangers
    searched_ = true;
    return found;
  }
  searched_ = table_.forEach([&](pid_t process) {
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
  UniqueFd pidfd = table_.pidfdOf(process);
  if (!pidfd || !belongs(process, inGroup) || hasEnded(pidfd.get())) return false;
  if (killing_) signalProcess(pidfd.get(), SIGKILL);  // at once: it may fork before all others are looked at
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
  killing_ = true;
  for (int round = 0; round < maxKillRounds; ++round) {
    // The known ones first, because reading /proc takes milliseconds.
    for (const Member& member : members_) signalProcess(member.pidfd.get(), SIGKILL);
    if (refresh() == 0 && round > 0) return;
  }
}

}  // namespace tenure::cli
