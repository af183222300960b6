#include "proxy_process.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::bench {

FenceProxyProcess::FenceProxyProcess(std::uint16_t upstream, const std::string& memory, std::optional<int> core) {
  const std::string service = "http://127.0.0.1:" + std::to_string(upstream);
  const std::array<const char*, 12> words{TENURE_PROGRAM,  "fence",   "proxy", "--listen", "127.0.0.1:0",  "--upstream",
                                          service.c_str(), "--lease", "bench", "--memory", memory.c_str(), nullptr};
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (core) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(*core), &one);
      if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(127);
    }
    dup2(out[1], STDOUT_FILENO);
    // A line for each term; the bench's own output is for figures.
    const int log = open((memory + ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0) dup2(log, STDERR_FILENO);
    execv(words[0], const_cast<char* const*>(words.data()));
    _exit(127);
  }
  close(out[1]);
  std::string line;
  for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  close(out[0]);
  unsigned port = 0;
  if (std::sscanf(line.c_str(), "listening on 127.0.0.1:%u,", &port) != 1) {
    throw std::runtime_error("the proxy did not come up: " + line);
  }
  port_ = static_cast<std::uint16_t>(port);
}

FenceProxyProcess::~FenceProxyProcess() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

double FenceProxyProcess::cpuSeconds() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the proxy's CPU time cannot be read");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace tenure::bench
