#include "task_inbox.hpp"

#include <utility>

namespace tenure {

/// Also when its thread is cancelled (pthread_cancel) while it writes to a log: the others go on.
class TaskInbox::Guest {
 public:
  explicit Guest(TaskInbox& inbox) : inbox_{inbox} { inbox_.guest_.store(std::this_thread::get_id()); }
  ~Guest() {
    inbox_.guest_.store(std::thread::id{});
    inbox_.leave();
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

 private:
  TaskInbox& inbox_;
};

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
  const Guest guest{*this};
  std::exchange(task, nullptr)();
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
