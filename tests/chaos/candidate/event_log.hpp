// What a candidate of the chaos tests saw and did, as JSON lines in its own file, which survives a SIGKILL.
#pragma once

#include <cstdint>
#include <string>

namespace tenure::chaos {

/// CLOCK_BOOTTIME directly from the kernel: the tests falsify the clocks that libc gives to the library, and the judge
/// must not be deceived by them.
[[nodiscard]] std::int64_t trueBoottimeNs() noexcept;

/// Thread-safe. Each line is one write(2): it is complete or absent, whatever happens to the process.
class EventLog {
 public:
  explicit EventLog(const std::string& path);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// `more`: further members, each with a leading comma.
  void tell(const std::string& event, const std::string& more = {}) const { tellAt(trueBoottimeNs(), event, more); }
  void tellAt(std::int64_t at, const std::string& event, const std::string& more) const;

 private:
  int fd_;
};

/// For texts that others wrote, such as error messages.
[[nodiscard]] std::string jsonQuoted(const std::string& text);

}  // namespace tenure::chaos
