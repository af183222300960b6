#include "adapters/gateway/proxy_process.hpp"

#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

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
  int out[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error{"pipe2"};
  process_.emplace(words, [&] { dup2(out[1], STDOUT_FILENO); });
  ::close(out[1]);
  std::string line;
  for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  ::close(out[0]);
  unsigned port = 0;
  if (std::sscanf(line.c_str(), "listening on 127.0.0.1:%u,", &port) != 1) {
    throw std::runtime_error{"the proxy did not come up: \"" + line + "\", exit code " + std::to_string(wait())};
  }
  port_ = static_cast<unsigned short>(port);
}

int ProxyProcess::end(int number) {
  signal(number);
  return wait();
}

std::size_t ProxyProcess::resident() const {
  std::ifstream statm{"/proc/" + std::to_string(pid()) + "/statm"};
  std::size_t all = 0;
  std::size_t pages = 0;
  statm >> all >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tenure::test
