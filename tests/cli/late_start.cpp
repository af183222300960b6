// With cli/main.cpp a `tenure` whose job is looked at late: the first process that a reaper has forked gets its pidfd
// only once it has ended. So whatever ends the term comes before the job begins.
#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::string lineOf(long process, const char* file, const std::string& begin) {
  std::ifstream lines{"/proc/" + std::to_string(process) + file};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return {};
}

bool isOfAReaper(long process) {
  const std::string parent = lineOf(process, "/status", "PPid:\t");
  if (parent.empty() || std::stol(parent) == getpid()) return false;  // or this is the reaper
  return lineOf(std::stol(parent), "/comm", "") == "tenure-reaper";
}

/// The test's own limit ends a wait that is for nothing.
void awaitEnd(long process) {
  for (;;) {
    const std::string state = lineOf(process, "/status", "State:\t");
    if (state.empty() || state.front() == 'Z') return;
    usleep(1000);
  }
}

}  // namespace

// --wrap dictates the names. NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl50-cpp)
extern "C" long __real_syscall(long number, ...);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  static std::atomic<bool> isFirst{true};
  if (number == SYS_pidfd_open && isOfAReaper(a) && isFirst.exchange(false)) awaitEnd(a);
  return __real_syscall(number, a, b, c, d, e, f);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl50-cpp)
