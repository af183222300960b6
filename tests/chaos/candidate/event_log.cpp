#include "event_log.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fmt/core.h>

namespace tenure::chaos {

std::int64_t trueBoottimeNs() noexcept {
  timespec at{};
  syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &at);
  return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

EventLog::EventLog(const std::string& path) : fd_{open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (fd_ < 0) throw std::runtime_error("cannot write " + path);
}

EventLog::~EventLog() { close(fd_); }

void EventLog::tellAt(std::int64_t at, const std::string& event, const std::string& more) const {
  const std::string line = fmt::format("{{\"t\":{},\"e\":\"{}\"{}}}\n", at, event, more);
  [[maybe_unused]] const ssize_t written = write(fd_, line.data(), line.size());
}

std::string jsonQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else {
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return quoted + '"';
}

}  // namespace tenure::chaos
