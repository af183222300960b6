#include <utility>

#include <tenure/testing/manual_runtime.hpp>

namespace tenure::test {

void ManualExecutor::post(std::function<void()> task) {
  const std::lock_guard lock{mutex_};
  tasks_.push_back(std::move(task));
}

int ManualExecutor::run() {
  for (int ran = 0;; ++ran) {
    std::function<void()> task;
    {
      const std::lock_guard lock{mutex_};
      if (tasks_.empty()) return ran;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

std::size_t ManualExecutor::waiting() const {
  const std::lock_guard lock{mutex_};
  return tasks_.size();
}

}  // namespace tenure::test
