// What `tenure run` tells the service manager that started it: the protocol of sd_notify(3), without its library.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The variables by which a service manager says where and how often it wants to be told. They are for one process:
/// what a child of it says there would pass for the word of this process.
struct ServiceEnvironment {
  std::map<std::string, std::string> variables{};  ///< those of the three that are set

  /// Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of this process's environment. Only before the first
  /// thread starts.
  [[nodiscard]] static ServiceEnvironment take();
  /// Empty: it is not set.
  [[nodiscard]] std::string text(const char* name) const;
};

/// A socket of datagrams to one address: a path, or an abstract name after '@'. Any thread.
class NotifySocket {
 public:
  /// Never throws because of the address; each `send` reports what is wrong with it.
  explicit NotifySocket(std::string address);

  /// Sends one datagram. Never blocks. Returns zero or the errno.
  [[nodiscard]] int send(std::string_view lines) const noexcept;

 private:
  std::string address_;
  UniqueFd socket_;
};

/// Nothing here blocks or fails the program. What could not be sent is sent a second later; the first failure is
/// logged. Not thread-safe: the supervisor's main thread owns it, and calls `act` in each turn of its loop.
///
/// WATCHDOG=1 proves two threads: the loop asks for it each half of WATCHDOG_USEC, and a task of the thread that renews
/// the lease sends it. If either of them is stuck, nothing is sent, and the service manager restarts this process.
class ServiceNotifier {
 public:
  /// `renewals`: where electors run. No effect at all if NOTIFY_SOCKET is not set; no watchdog if WATCHDOG_USEC is not
  /// set or WATCHDOG_PID names another process.
  ServiceNotifier(const ServiceEnvironment& environment, const std::function<std::shared_ptr<Scheduler>()>& renewals,
                  Logger logger);

  /// READY=1; further calls do nothing.
  void ready();
  /// STATUS=, if it has changed.
  void status(const std::string& text);
  /// STOPPING=1, and that the end may take this long (EXTEND_TIMEOUT_USEC); further calls do nothing.
  void stopping(std::chrono::nanoseconds atMost);

  void act(const Instant& now);
  /// When to call `act` again; empty: not needed.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilAct(const Instant& now) const;

 private:
  void add(const std::string& line);
  void flush(const Instant& now);
  void beat(const Instant& now);

  const Logger logger_;
  std::string address_;
  std::shared_ptr<const NotifySocket> socket_;  ///< null: nobody wants to be told
  std::shared_ptr<Scheduler> renewals_;         ///< null: no watchdog
  std::chrono::nanoseconds period_{0};
  std::shared_ptr<std::atomic<bool>> beating_;  ///< the last beat was not sent yet
  std::optional<Instant> askedAt_;              ///< when the last beat was asked for

  std::string pending_;  ///< lines that were not sent yet
  std::optional<Instant> failedAt_;
  bool failureTold_{false};
  std::string status_;
  bool ready_{false};
  bool stopping_{false};
};

}  // namespace tenure::cli
