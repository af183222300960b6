#include "task_inbox.hpp"

#include <utility>

namespace tenure {

void TaskInbox::push(Task task) {
  {
    const std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
    if (owner_ != Owner::nobody) return;
    owner_ = Owner::loop;
  }
  ring_();
}

void TaskInbox::enter(Task task) {
  {
    const std::lock_guard lock{mutex_};
    if (owner_ != Owner::nobody) return tasks_.push_back(std::move(task));
    owner_ = Owner::guest;
  }
  guest_.store(std::this_thread::get_id());
  std::exchange(task, nullptr)();
  guest_.store(std::thread::id{});
  leave();
}

void TaskInbox::drain() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock{mutex_};
    if (owner_ != Owner::loop) return;  // it rang for what is done
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) std::exchange(task, nullptr)();  // what it captured is let go before the next begins
  leave();
}

void TaskInbox::leave() {
  {
    const std::lock_guard lock{mutex_};
    owner_ = tasks_.empty() ? Owner::nobody : Owner::loop;
    if (tasks_.empty()) return;
  }
  ring_();
}

}  // namespace tenure
