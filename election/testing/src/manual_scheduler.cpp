#include <algorithm>
#include <stdexcept>
#include <string>

#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/port/saturating_time.hpp"

namespace tenure::test {

using std::chrono::nanoseconds;

/// Marks this thread as the one that runs tasks, even if a task throws.
class ManualScheduler::Running {
 public:
  explicit Running(ManualScheduler& scheduler) : scheduler_{scheduler} {
    const std::lock_guard lock{scheduler_.mutex_};
    if (scheduler_.runner_ != std::thread::id{}) throw std::logic_error{"ManualScheduler: run from inside a task"};
    scheduler_.runner_ = std::this_thread::get_id();
  }
  ~Running() {
    const std::lock_guard lock{scheduler_.mutex_};
    scheduler_.runner_ = {};
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ManualScheduler& scheduler_;
};

/// Its time moves only when the test moves it.
class ManualScheduler::ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start) : now_{start} {}
  [[nodiscard]] Instant now() const noexcept override;
  void move(const Instant& by);

 private:
  mutable std::mutex mutex_;  // guards now_
  Instant now_;
};

ManualScheduler::ManualScheduler(Instant start) : clock_{std::make_shared<ManualClock>(start)} {}

ManualScheduler::~ManualScheduler() {
  // An object that a task owns may post again when it is destroyed. So tasks are dropped outside the lock until none is
  // left.
  for (;;) {
    std::deque<Task> posted;
    std::map<Due, Task> timers;
    const std::lock_guard lock{mutex_};
    if (posted_.empty() && timers_.empty()) return;
    posted.swap(posted_);
    timers.swap(timers_);
  }
}

std::shared_ptr<const Clock> ManualScheduler::clock() const { return clock_; }
Instant ManualScheduler::now() const noexcept { return clock_->now(); }

Instant ManualScheduler::ManualClock::now() const noexcept {
  const std::lock_guard lock{mutex_};
  return now_;
}

void ManualScheduler::ManualClock::move(const Instant& by) {
  const std::lock_guard lock{mutex_};
  now_ = {now_.raw + by.raw, now_.monotonic + by.monotonic, now_.boottime + by.boottime};
}

void ManualScheduler::post(Task task) {
  const std::lock_guard lock{mutex_};
  posted_.push_back(std::move(task));
}

Scheduler::TimerId ManualScheduler::schedule(nanoseconds delay, Task task) {
  requireTask("schedule");
  const std::lock_guard lock{mutex_};
  const TimerId id = ++lastTimer_;
  timers_.emplace(Due{saturating::sum(now().boottime, std::max(delay, nanoseconds{0})), id}, std::move(task));
  return id;
}

void ManualScheduler::cancel(TimerId id) noexcept {
  requireTask("cancel");
  Task dropped;  // destroyed after the lock is released: it may hold the last reference to an object that posts
  const std::lock_guard lock{mutex_};
  const auto found = std::find_if(timers_.begin(), timers_.end(), [&](const auto& t) { return t.first.second == id; });
  if (found == timers_.end()) return;
  dropped = std::move(found->second);
  timers_.erase(found);
}

bool ManualScheduler::isCurrent() const noexcept {
  const std::lock_guard lock{mutex_};
  return runner_ == std::this_thread::get_id();
}

std::size_t ManualScheduler::runReady() {
  const Running running{*this};
  return drainReady();
}

std::size_t ManualScheduler::advance(nanoseconds by) {
  const Running running{*this};
  std::size_t ran = drainReady();
  const nanoseconds end = saturating::sum(now().boottime, by);
  while (now().boottime < end) {
    const nanoseconds step = std::min(untilNextTimer().value_or(nanoseconds::max()), end - now().boottime);
    moveClocks({step, step, step});
    ran += drainReady();
  }
  return ran;
}

bool ManualScheduler::advanceToNextTimer() {
  const auto until = untilNextTimer();
  if (!until) return false;
  advance(std::max(*until, nanoseconds{0}));
  return true;
}

void ManualScheduler::moveClocks(const Instant& by) { clock_->move(by); }

std::size_t ManualScheduler::postedTasks() const {
  const std::lock_guard lock{mutex_};
  return posted_.size();
}

std::size_t ManualScheduler::timers() const {
  const std::lock_guard lock{mutex_};
  return timers_.size();
}

std::optional<nanoseconds> ManualScheduler::untilNextTimer() const {
  const std::lock_guard lock{mutex_};
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first - now().boottime;
}

Scheduler::Task ManualScheduler::takeReady() {
  const std::lock_guard lock{mutex_};
  if (!posted_.empty()) {
    Task task = std::move(posted_.front());
    posted_.pop_front();
    return task;
  }
  if (timers_.empty() || timers_.begin()->first.first > now().boottime) return nullptr;
  Task task = std::move(timers_.begin()->second);
  timers_.erase(timers_.begin());
  return task;
}

std::size_t ManualScheduler::drainReady() {
  std::size_t ran = 0;
  for (Task task = takeReady(); task; task = takeReady()) task(), ++ran;
  return ran;
}

void ManualScheduler::requireTask(const char* call) const {
  if (!isCurrent()) throw std::logic_error{std::string{"ManualScheduler: "} + call + " from outside a task"};
}

}  // namespace tenure::test
