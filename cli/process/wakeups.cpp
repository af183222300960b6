#include "wakeups.hpp"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <utility>

#include "process.hpp"

namespace tenure::cli {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds lastStep = std::chrono::milliseconds{1};

}  // namespace

WakeTimer::WakeTimer() : timer_{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)} {
  if (!timer_) throwErrno("timerfd_create");
}

void WakeTimer::arm(std::optional<nanoseconds> left) noexcept {
  itimerspec spec{};
  if (left) {
    nanoseconds step = *left > lastStep ? std::max(lastStep, *left - *left / 8) : *left;
    step = std::max(step, nanoseconds{1});  // zero would disarm
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(step);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (step - seconds).count();
  }
  timerfd_settime(timer_.get(), 0, &spec, nullptr);  // cannot fail: the descriptor is a timer and the time is valid
}

void WakeTimer::drain() noexcept {
  std::uint64_t expiries = 0;
  [[maybe_unused]] const ssize_t got = read(timer_.get(), &expiries, sizeof expiries);
}

std::optional<nanoseconds> earlier(std::optional<nanoseconds> a, std::optional<nanoseconds> b) noexcept {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

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

ProgressPipe::ProgressPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throwErrno("pipe for the job's progress");
  read_.reset(ends[0]);
  write_.reset(ends[1]);
  // Only our end is non-blocking: a job that writes faster than we read waits for a moment, as with any pipe.
  if (fcntl(read_.get(), F_SETFL, O_NONBLOCK) != 0) throwErrno("fcntl on the job's progress pipe");
}

bool ProgressPipe::take() noexcept {
  char chunk[4096];
  bool any = false;
  while (read(read_.get(), chunk, sizeof chunk) > 0) any = true;
  return any;
}

}  // namespace tenure::cli
