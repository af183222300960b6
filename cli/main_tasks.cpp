#include "main_tasks.hpp"

#include <cstdint>
#include <sys/eventfd.h>
#include <utility>

#include "process.hpp"

namespace tenure::cli {

MainTasks::MainTasks() : wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!wake_) throwErrno("eventfd");
}

void MainTasks::post(Task task) {
  {
    const std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);  // a full one is readable too
}

void MainTasks::run() {
  std::uint64_t posted = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &posted, sizeof posted);
  std::vector<Task> now;
  {
    const std::lock_guard lock{mutex_};
    now.swap(tasks_);
  }
  for (const Task& task : now) task();
}

}  // namespace tenure::cli
