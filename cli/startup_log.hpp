// The log of `tenure run` before its store has answered: each cause is logged in one line.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/logger.hpp>

namespace tenure::cli {

/// Every part that needs the store at the start (schema, liveness file, watch, first read) meets the same trouble and
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
