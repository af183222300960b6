// `tenure fence proxy` as users start it, in front of a port of loopback.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace tenure::bench {

/// The process ends with the object.
class FenceProxyProcess {
 public:
  /// The lease is "bench". `memory` is the proxy's file, and its log is beside that. `core` is the one processor on
  /// which the proxy may run.
  FenceProxyProcess(std::uint16_t upstream, const std::string& memory, std::optional<int> core);
  ~FenceProxyProcess();
  FenceProxyProcess(const FenceProxyProcess&) = delete;
  FenceProxyProcess& operator=(const FenceProxyProcess&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// User and system time that it has taken so far.
  [[nodiscard]] double cpuSeconds() const;

 private:
  pid_t pid_{-1};
  std::uint16_t port_{0};
};

}  // namespace tenure::bench
