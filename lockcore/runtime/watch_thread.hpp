// One thread that waits for changes of files.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

#include "call_permit.hpp"
#include "process_mark.hpp"
#include "unique_fd.hpp"

namespace tenure {

class WatchLoop;

/// An object that waits for changes of a file. Its functions are called on the watch thread, one at a time.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  virtual ~Watched() = default;

  virtual void begin(WatchLoop& loop) = 0;
  /// `lost`: the watch is gone, because the file is gone or because events were dropped.
  virtual void changed(WatchLoop& loop, bool lost) = 0;
  /// The time asked for with WatchLoop::wakeAfter is over.
  virtual void timeOver(WatchLoop& loop) = 0;

  /// The user's function is called with this permit.
  CallPermit permit;
};

/// The loop itself. Apart from the constructor, add, remove, stop and the thread's body, its functions are for Watched
/// objects, on the watch thread.
class TENURE_API WatchLoop {
 public:
  explicit WatchLoop(Logger logger);

  /// Any thread.
  [[nodiscard]] bool hasInotify() const noexcept { return static_cast<bool>(inotify_); }
  [[nodiscard]] bool canBeWoken() const noexcept { return static_cast<bool>(wakeup_); }
  void add(std::shared_ptr<Watched> watched);
  void remove(const Watched* watched);
  void stop();

  void run();

  /// The events for notification files and liveness files.
  static const std::uint32_t usualEvents;
  /// Replaces the watch of `watched`. All watches of one file share the events of the last one. False if no watch is
  /// possible; errno says why.
  [[nodiscard]] bool arm(Watched& watched, const std::string& path, std::uint32_t events = usualEvents);
  void wakeAfter(Watched& watched, std::chrono::nanoseconds delay);
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  /// Logs only the first time: once a limit is reached, every further try reaches it too.
  void warnOnce(const std::string& line);

 private:
  struct Entry {
    std::shared_ptr<Watched> watched;
    int watch{-1};
  };
  struct Command {
    std::shared_ptr<Watched> add;
    const Watched* remove{nullptr};
  };

  void wakeUp() noexcept;
  [[nodiscard]] bool obey();
  void waitForSomething();
  void readEvents();
  void dispatch(int watch, bool lost);
  void runTimers();
  void forget(const Watched* watched);
  void disarm(Entry& entry);

  const Logger logger_;
  const UniqueFd inotify_;
  const UniqueFd wakeup_;

  std::mutex mutex_;
  std::vector<Command> commands_;  // guarded by mutex_
  bool stopping_{false};           // guarded by mutex_

  // Used by the watch thread only.
  std::map<const Watched*, Entry> entries_;
  std::multimap<int, const Watched*> byWatch_;  ///< the kernel gives one number for all watches of one file
  std::map<const Watched*, std::chrono::nanoseconds> due_;
  bool warned_{false};
};

/// The loop with its thread. Both begin with the first object that is to be watched.
class TENURE_API WatchThread {
 public:
  explicit WatchThread(Logger logger) : logger_{std::move(logger)} {}

  enum class Without { inotifyUseless, inotifyPossible };

  /// Watches until the handle is destroyed; CallPermit says what that means. Null after stop(), if there is no thread
  /// or descriptor (the next call tries again), and if there is no inotify and `watched` is useless without it.
  [[nodiscard]] std::shared_ptr<void> watch(const std::shared_ptr<Watched>& watched, Without without);

  /// Returns when the thread has ended; see detail::leaveThread().
  void stop();

 private:
  [[nodiscard]] std::shared_ptr<WatchLoop> started(Without without);

  const ProcessMark mark_{};
  const Logger logger_;
  mutable std::mutex mutex_;
  bool warned_{false};  // guarded by mutex_, as all below
  bool stopped_{false};
  std::shared_ptr<WatchLoop> loop_;  ///< shared with the thread and the handles, which may outlive this object
  std::thread thread_;
};

}  // namespace tenure
