// CPU time and memory of this process.
#pragma once

#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

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

/// Memory that is in use now (RSS).
inline double residentKiB() {
  std::ifstream file{"/proc/self/statm"};
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace tenure::bench
