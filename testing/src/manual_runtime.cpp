#include <algorithm>
#include <utility>

#include <tenure/testing/manual_runtime.hpp>

#include "seeded.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

}  // namespace

Runtime ManualRuntime::runtime() {
  Runtime out;
  out.scheduler = clock;
  out.executor = [run = executor](std::function<void()> task) { run->post(std::move(task)); };
  out.random = std::make_unique<Seeded>(++seed_);
  return out;
}

void ManualRuntime::settle() {
  for (;;) {
    const std::size_t ran = clock->runReady();
    if (executor->run() == 0 && ran == 0 && clock->postedTasks() == 0) return;
  }
}

void ManualRuntime::advance(nanoseconds by) {
  settle();
  while (by.count() > 0) {
    const nanoseconds step = std::clamp(clock->untilNextTimer().value_or(by), nanoseconds{1}, by);
    clock->advance(step);
    by -= step;
    settle();
  }
}

bool ManualRuntime::advanceUntil(const std::function<bool()>& done, nanoseconds limit) {
  settle();
  for (nanoseconds left = limit; !done() && left.count() > 0; left -= milliseconds{1}) advance(milliseconds{1});
  return done();
}

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
