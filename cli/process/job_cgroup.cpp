#include "job_cgroup.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/sched.h>
#include <string_view>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view namePrefix = "tenure-job.";

UniqueFd openDirectory(const std::string& path) {
  return UniqueFd{open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

/// The path of this process's cgroup below the root of its cgroup namespace; empty: no cgroup2 here.
std::string ownPath() {
  std::ifstream lines{"/proc/self/cgroup"};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

/// Where the root of this cgroup namespace is mounted: below another mount, the path could be that of a stranger.
std::string mountPoint() {
  std::ifstream lines{"/proc/self/mountinfo"};
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    const auto words = wordsOf(line);
    if (words.size() > 4 && words[3] == "/") return std::string{words[4]};
  }
  return {};
}

/// A file `cgroup.type` is in all but the root of the machine, which belongs to its init.
bool isDelegated(int directory, const std::string& path) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (fgetxattr(directory, name, &value, 1) == 1 && value == '1') return true;
  }
  return path == "/" && faccessat(directory, "cgroup.type", F_OK, 0) == 0;
}

/// Empty: /proc does not show it.
fs::path pathOf(int directory) {
  std::error_code fault;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(directory), fault);
}

/// Zero, or why not (an errno).
int put(int directory, const char* name, char word) noexcept {
  const int flags = O_WRONLY | O_CLOEXEC;  // lint-allow(standard-streams): a reaper has closed them, others have them
  const UniqueFd file{openat(directory, name, flags)};
  return file && write(file.get(), &word, 1) == 1 ? 0 : errno;
}

/// The job may have made further ones below its own. The kernel refuses each that is in use.
void removeTree(const fs::path& path) {
  std::error_code fault;
  for (fs::directory_iterator at{path, fault}, end; !fault && at != end; at.increment(fault)) {
    if (at->is_directory(fault)) removeTree(at->path());
  }
  rmdir(path.c_str());
}

void removeLeftBehind(const std::string& parent) {
  std::error_code fault;
  for (fs::directory_iterator at{parent, fault}, end; !fault && at != end; at.increment(fault)) {
    if (!at->path().filename().native().starts_with(namePrefix)) continue;
    UniqueFd directory = openDirectory(at->path());
    if (directory && flock(directory.get(), LOCK_EX | LOCK_NB) == 0) const JobCgroup left{std::move(directory)};
  }
}

}  // namespace

JobCgroup::~JobCgroup() {
  if (directory_ && !isPopulated()) removeTree(pathOf(directory_.get()));
}

std::string JobCgroup::name() const { return pathOf(directory_.get()).filename(); }

JobCgroup JobCgroup::make(std::string& whyNot) {
  const std::string own = ownPath(), mount = mountPoint(), parent = mount + own;
  whyNot = "no cgroup2 is mounted that has this process";
  if (own.empty() || mount.empty()) return {};
  const UniqueFd directory = openDirectory(parent);
  whyNot = parent + (directory ? " is not delegated to it" : ": " + errnoText(errno));
  if (!directory || !isDelegated(directory.get(), own)) return {};
  removeLeftBehind(parent);
  for (int tries = 0; tries < 2; ++tries) {  // another start may take it for one that was left behind
    std::string path = parent + '/' + std::string{namePrefix} + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      whyNot = "none can be made in " + parent + ": " + errnoText(errno);
      return {};
    }
    JobCgroup made{openDirectory(path)};
    const int fd = made.descriptor();
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && faccessat(fd, "cgroup.kill", W_OK, 0) == 0) return made;
    whyNot = path + "/cgroup.kill: " + errnoText(errno) + " (Linux 5.14 or later is needed)";
  }
  return {};
}

/// The child executes a program or ends. glibc's own fork would do no more for it than to set locks free. The other way
/// is not the first, because the kernel holds up all forks of the machine while a process changes its cgroup.
pid_t JobCgroup::forkInto() const noexcept {
  clone_args wanted{};
  wanted.flags = CLONE_INTO_CGROUP;
  wanted.exit_signal = SIGCHLD;
  wanted.cgroup = static_cast<unsigned>(directory_.get());  // -1 is refused
  const long cloned = syscall(SYS_clone3, &wanted, sizeof wanted);
  if (cloned >= 0) return static_cast<pid_t>(cloned);
  const pid_t forked = fork();
  if (forked == 0) static_cast<void>(enter());
  return forked;
}

int JobCgroup::enter() const noexcept { return put(directory_.get(), "cgroup.procs", '0'); }

void JobCgroup::kill() const noexcept { static_cast<void>(put(directory_.get(), "cgroup.kill", '1')); }

bool JobCgroup::isPopulated() const noexcept {
  const UniqueFd file{openat(directory_.get(), "cgroup.events", O_RDONLY | O_CLOEXEC)};
  char text[128];
  const ssize_t got = read(file.get(), text, sizeof text);
  return got > 0 && std::string_view{text, static_cast<std::size_t>(got)}.find("populated 1") != std::string_view::npos;
}

std::string whyNoJobCgroup() {
  std::string whyNot;
  const JobCgroup cgroup = JobCgroup::make(whyNot);
  if (cgroup.descriptor() < 0) return whyNot;
  const pid_t child = cgroup.forkInto();
  if (child == 0) _exit(cgroup.enter());  // again, for the cause
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no process can be started: " + errnoText(errno);
  if (status == 0) return {};
  errno = WEXITSTATUS(status);
  return "no process may enter it: " + errnoText(errno);
}

}  // namespace tenure::cli
