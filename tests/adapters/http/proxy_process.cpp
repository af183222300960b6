#include "adapters/http/proxy_process.hpp"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace tenure::test {

ProxyProcess::ProxyProcess(unsigned short upstream, std::vector<std::string> arguments) {
  std::vector<std::string> words{TENURE_PROGRAM,
                                 "fence",
                                 "proxy",
                                 "--listen",
                                 "127.0.0.1:0",
                                 "--upstream",
                                 "http://127.0.0.1:" + std::to_string(upstream)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int out[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error{"pipe2"};
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // if a test is killed, its proxy ends too
    if (getppid() != parent) _exit(127);
    dup2(out[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ::close(out[1]);
  if (pid_ < 0) throw std::runtime_error{"fork"};
  std::string line;
  for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  ::close(out[0]);
  unsigned port = 0;
  if (std::sscanf(line.c_str(), "listening on 127.0.0.1:%u,", &port) != 1) {
    throw std::runtime_error{"the proxy did not come up: \"" + line + "\", exit code " + std::to_string(wait())};
  }
  port_ = static_cast<unsigned short>(port);
}

void ProxyProcess::signal(int number) const { ::kill(pid_, number); }

int ProxyProcess::end(int number) {
  if (pid_ < 0) return 0;
  ::kill(pid_, number);
  return wait();
}

int ProxyProcess::wait() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::size_t ProxyProcess::resident() const {
  std::ifstream statm{"/proc/" + std::to_string(pid_) + "/statm"};
  std::size_t all = 0;
  std::size_t pages = 0;
  statm >> all >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tenure::test
