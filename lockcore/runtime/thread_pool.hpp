// Internal: the threads that run callbacks when the user gives no executor.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>

#include "process_mark.hpp"

namespace tenure {

/// One thread is always ready for the next task: a thread that takes a task first starts a successor if it was the last
/// ready one. So a callback that blocks for a whole term delays nothing else, short tasks need few threads however many
/// come at once, and the caller of post() never starts a thread. Idle threads end after a while, except one.
class TENURE_API ThreadPool {
 public:
  /// Only 15 characters of the name are visible. Throws std::system_error if the system gives not even one thread.
  explicit ThreadPool(std::string name);
  /// Idle threads end at once. Running tasks continue by themselves, because nobody is left to wait for them.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Any thread. If the system gives no further thread, the task waits for one that becomes free.
  void post(std::function<void()> task);
  /// Tasks wait that no free thread will take.
  [[nodiscard]] bool isShort() const;
  /// Tries again to start a thread if tasks wait and none is free. Empty: a thread takes them; otherwise why none does.
  std::optional<std::string> whyTasksWait();

  [[nodiscard]] int threads() const;

  /// The pools that all electors and lock clients of this process share; each ends with its last user.
  [[nodiscard]] static std::shared_ptr<ThreadPool> forCallbacks();
  /// Fires stop tokens. A separate pool, so that callbacks that block cannot keep a token from firing, even if the
  /// system gives no further thread (I6).
  [[nodiscard]] static std::shared_ptr<ThreadPool> forStopTokens();

 private:
  struct State {
    explicit State(std::string threadName) : name{std::move(threadName)} {}
    const std::string name;
    std::mutex mutex;  ///< guards what follows
    std::condition_variable wake;
    std::deque<std::function<void()>> tasks{};
    int idle{0};
    int starting{0};
    int threads{0};
    bool closed{false};
  };
  static void startThread(const std::shared_ptr<State>& state, std::unique_lock<std::mutex>& lock);
  static std::optional<std::string> tryStart(const std::shared_ptr<State>& state, std::unique_lock<std::mutex>& lock);
  static void run(const std::shared_ptr<State>& state);
  static bool takeTask(State& state, std::unique_lock<std::mutex>& lock, std::function<void()>& task);

  const ProcessMark mark_{};
  std::shared_ptr<State> state_;  ///< shared with the threads, which may outlive the pool
};

}  // namespace tenure
