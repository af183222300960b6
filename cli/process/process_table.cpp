#include "process_table.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "lockcore/port/ascii_text.hpp"
#include "process.hpp"

namespace tenure::cli {
namespace {

/// The process has ended, or is none of this user's. Everything else says nothing about it.
bool isAnAnswer(int error) { return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM; }

}  // namespace

ProcessTable::ProcessTable() : directory_{opendir("/proc")} {
  if (!directory_) throwErrno("opening /proc, which is needed to find the processes of a job");
  keepSpares();
  if (!spares_.back()) throwErrno("a descriptor for reading the processes of a job");
}

void ProcessTable::keepSpares() noexcept {
  for (UniqueFd& spare : spares_) {
    if (!spare) spare.reset(fcntl(dirfd(directory_.get()), F_DUPFD_CLOEXEC, 0));
  }
}

bool ProcessTable::forEach(const std::function<bool(pid_t)>& goesOn) {
  error_ = 0;
  bool whole = true;
  rewinddir(directory_.get());
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory_.get());  // NOLINT(concurrency-mt-unsafe): the stream is this object's own
    if (entry == nullptr) break;
    const auto process = numberFrom<pid_t>(entry->d_name);
    if (!process) continue;
    whole = goesOn(*process);
    if (!whole) break;
  }
  if (whole && errno != 0) error_ = errno;
  keepSpares();
  return whole && error_ == 0;
}

std::string ProcessTable::read(pid_t process, const char* name) {
  return content(std::to_string(process) + '/' + name);
}

UniqueFd ProcessTable::pidfdOf(pid_t process) {
  return opened([process] { return tryOpenPidfd(process).release(); });
}

UniqueFd ProcessTable::opened(const std::function<int()>& open) {
  UniqueFd file{open()};
  for (UniqueFd& spare : spares_) {
    if (file || errno != EMFILE || !spare) continue;
    spare.reset();
    file.reset(open());
  }
  if (!file && !isAnAnswer(errno)) error_ = errno;
  return file;
}

std::string ProcessTable::content(const std::string& path) {
  const UniqueFd file = opened([&] { return openat(dirfd(directory_.get()), path.c_str(), O_RDONLY | O_CLOEXEC); });
  std::string out;
  char chunk[4096];
  while (file) {
    const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
    if (got < 0 && !isAnAnswer(errno)) error_ = errno;
    if (got <= 0) break;
    out.append(chunk, static_cast<std::size_t>(got));
  }
  return out;
}

}  // namespace tenure::cli
