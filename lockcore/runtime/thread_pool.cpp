#include "thread_pool.hpp"

#include <chrono>
#include <utility>

#include "process_mark.hpp"
#include "thread.hpp"
#include "user_code.hpp"

namespace tenure {
namespace {

constexpr std::chrono::seconds idleTime{5};

}  // namespace

ThreadPool::ThreadPool(std::string name) : state_{std::make_shared<State>(std::move(name))} {
  std::unique_lock lock{state_->mutex};
  startThread(state_, lock);
}

ThreadPool::~ThreadPool() {
  if (!mark_.isHere()) {
    leaveToParent(std::move(state_));
    return;
  }
  const std::lock_guard lock{state_->mutex};
  state_->closed = true;
  state_->wake.notify_all();
}

void ThreadPool::post(std::function<void()> task) {
  std::unique_lock lock{state_->mutex};
  state_->tasks.push_back(std::move(task));
  if (state_->idle > 0) return state_->wake.notify_one();
  if (state_->starting > 0) return;
  // All threads are busy, and no thread was available as a successor when the last of them began its task. If there is
  // none now either, a thread that becomes free takes the task.
  static_cast<void>(tryStart(state_, lock));
}

bool ThreadPool::isShort() const {
  const std::lock_guard lock{state_->mutex};
  return state_->tasks.size() > static_cast<std::size_t>(state_->idle + state_->starting);
}

std::optional<std::string> ThreadPool::whyTasksWait() {
  std::unique_lock lock{state_->mutex};
  if (state_->tasks.empty() || state_->idle + state_->starting > 0) return std::nullopt;
  return tryStart(state_, lock);
}

int ThreadPool::threads() const {
  const std::lock_guard lock{state_->mutex};
  return state_->threads;
}

/// Empty: a thread starts; otherwise why none does.
std::optional<std::string> ThreadPool::tryStart(const std::shared_ptr<State>& state,
                                                std::unique_lock<std::mutex>& lock) {
  return whatThrown([&] { startThread(state, lock); });
}

/// Throws std::exception. In both cases the lock is held again afterwards.
void ThreadPool::startThread(const std::shared_ptr<State>& state, std::unique_lock<std::mutex>& lock) {
  ++state->starting;
  ++state->threads;
  lock.unlock();
  try {
    detail::startDetachedThread(state->name, [state] { run(state); });
    lock.lock();
  } catch (...) {
    lock.lock();
    --state->starting;
    --state->threads;
    throw;
  }
}

void ThreadPool::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock{state->mutex};
  --state->starting;
  for (std::function<void()> task; takeTask(*state, lock, task);) {
    // Where there is none, post() tries again.
    if (!state->closed && state->idle + state->starting == 0) static_cast<void>(tryStart(state, lock));
    lock.unlock();
    task();
    task = nullptr;  // what it captured is destroyed outside the lock
    lock.lock();
  }
  --state->threads;
}

/// False: this thread is not needed any more.
bool ThreadPool::takeTask(State& state, std::unique_lock<std::mutex>& lock, std::function<void()>& task) {
  for (;;) {
    ++state.idle;
    const bool woken = state.wake.wait_for(lock, idleTime, [&] { return state.closed || !state.tasks.empty(); });
    --state.idle;
    if (!state.tasks.empty()) break;
    if (state.closed || (!woken && state.idle > 0)) return false;
  }
  task = std::move(state.tasks.front());
  state.tasks.pop_front();
  return true;
}

namespace {

class SharedPool {
 public:
  std::shared_ptr<ThreadPool> get(const char* name) {
    const std::lock_guard lock{mutex_};
    std::shared_ptr<ThreadPool> pool = current_.lock();
    if (!pool) current_ = pool = std::make_shared<ThreadPool>(name);
    return pool;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<ThreadPool> current_;
};

}  // namespace

std::shared_ptr<ThreadPool> ThreadPool::forCallbacks() {
  static detail::PerProcess<SharedPool> shared;
  return shared.get().get("tenure-callback");
}

std::shared_ptr<ThreadPool> ThreadPool::forStopTokens() {
  static detail::PerProcess<SharedPool> shared;
  return shared.get().get("tenure-stop");
}

}  // namespace tenure
