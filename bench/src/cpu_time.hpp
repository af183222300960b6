// CPU time and memory of processes.
#pragma once

#include <ctime>
#include <fstream>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace tenure::bench {

/// User and system time of all threads so far.
inline double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The same of other processes together; one that is gone counts nothing.
inline double cpuSecondsOf(const std::vector<pid_t>& processes) {
  double seconds = 0;
  for (const pid_t process : processes) {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) continue;
    seconds += static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
  }
  return seconds;
}

/// Memory that is in use now (RSS).
inline double residentKiB() {
  std::ifstream file{"/proc/self/statm"};
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace tenure::bench
