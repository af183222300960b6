// The log of `tenure run` at its start: of a start that finds nothing to do, and before the store has answered.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/logger.hpp>

namespace tenure::cli {

/// The lines on stderr. cron mails whatever a start prints, and `run --once` is started often to find nothing to do. So
/// if it is `quiet`, lines below `warn` wait until there is something to tell, with the times that they have.
class QuietLog {
 public:
  QuietLog(LogLevel level, LogFormat format, bool quiet);

  /// May outlive this object. Any thread may use it.
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  /// There is something to tell: writes the lines that wait; none waits from now on.
  void open();

 private:
  struct Waiting;
  std::shared_ptr<Waiting> waiting_;  ///< null: it is not quiet
  Logger logger_;
};

/// Every part that needs the store at the start (schema, liveness file, watch, first read) meets the same error and
/// warns about it. Until `open`, warnings are held back. So the supervisor, which checks often, can report the cause
/// once in its own words, and drop the warnings that say the same. Any thread may use the logger; the rest is for one
/// thread.
class StartupLog {
 public:
  explicit StartupLog(Logger logger) : logger_{std::move(logger)} {}

  /// The logger for the library. It may outlive this object; then nothing is held back.
  [[nodiscard]] Logger logger() const;

  /// `cause` has been reported. Warnings that say the same, except for their numbers, are dropped, now and later; the
  /// other ones are logged.
  void told(const std::string& cause);
  /// The store has answered, or the program ends: nothing is held back any more.
  void open();
  ~StartupLog() { open(); }
  StartupLog(const StartupLog&) = delete;
  StartupLog& operator=(const StartupLog&) = delete;

 private:
  struct Held {
    std::mutex mutex;
    bool isOpen{false};              ///< guarded by mutex
    std::vector<std::string> lines;  ///< guarded by mutex; warnings, in their order
  };
  void logHeld(bool opens);

  const Logger logger_;
  std::string told_;  ///< the last cause
  const std::shared_ptr<Held> held_{std::make_shared<Held>()};
};

}  // namespace tenure::cli
