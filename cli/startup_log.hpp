// The log of `tenure run` before its store has answered: one cause is one line.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/logger.hpp>

namespace tenure::cli {

/// Whatever needs the store at the start (schema, beacon, watch, first read) meets the same trouble and warns of it.
/// Until `open` warnings are held back, so that the supervisor, which looks often, can say the cause once in its own
/// words and drop what says the same. The logger is for any thread, the rest for one.
class StartupLog {
 public:
  explicit StartupLog(Logger logger) : logger_{std::move(logger)} {}

  /// For the library to log to. May outlive this object; then nothing is held back.
  [[nodiscard]] Logger logger() const;

  /// `cause` has been told: what is held back and says the same, but for its numbers, is dropped, now and later; the
  /// rest is logged.
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
