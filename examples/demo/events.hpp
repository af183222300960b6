// What a candidate of the demo reports to the script that directs it: JSON lines in a file, which survives a SIGKILL.
#pragma once

#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

#include <tenure/lockcore/clock.hpp>

namespace demo {

/// Each event is one write(2), so it is in the file as a whole or not at all, whatever happens to the process.
class Events {
 public:
  explicit Events(const char* path) : fd_{open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {}
  ~Events() { close(fd_); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void tell(const std::string& event, const std::string& more = {}) const {
    const std::string line =
        fmt::format("{{\"t\":{},\"e\":\"{}\"{}}}\n", tenure::readClock().boottime.count(), event, more);
    [[maybe_unused]] const ssize_t written = write(fd_, line.data(), line.size());
  }

 private:
  int fd_;
};

}  // namespace demo
