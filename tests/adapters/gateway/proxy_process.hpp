// `tenure fence proxy` as a process.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/launched_process.hpp"

namespace tenure::test {

class ProxyProcess {
 public:
  /// Listens on a free port of loopback; `upstream` is a port of loopback. Throws if it does not start.
  ProxyProcess(unsigned short upstream, std::vector<std::string> arguments);

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  [[nodiscard]] pid_t pid() const noexcept { return process_->id(); }
  void signal(int number) const { process_->signal(number); }
  /// Sends the signal and waits. Returns its exit code, or 128 + the signal that ended it.
  int end(int number);
  /// Waits for it to end by itself.
  int wait() { return process_->wait(); }
  /// Bytes of memory in use.
  [[nodiscard]] std::size_t resident() const;

 private:
  std::optional<LaunchedProcess> process_{};
  unsigned short port_{0};
};

}  // namespace tenure::test
