// `tenure fence proxy` as a process.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace tenure::test {

class ProxyProcess {
 public:
  /// Listens on a free port of loopback; `upstream` is a port of loopback. Throws if it does not start.
  ProxyProcess(unsigned short upstream, std::vector<std::string> arguments);
  ~ProxyProcess() { (void)end(9); }
  ProxyProcess(const ProxyProcess&) = delete;
  ProxyProcess& operator=(const ProxyProcess&) = delete;

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Sends the signal and waits. Returns its exit code, or 128 + the signal that ended it.
  int end(int number);
  /// Waits for it to end by itself.
  int wait();
  /// Bytes of memory in use.
  [[nodiscard]] std::size_t resident() const;

 private:
  pid_t pid_{-1};
  unsigned short port_{0};
};

}  // namespace tenure::test
