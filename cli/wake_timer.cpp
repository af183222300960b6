#include "wake_timer.hpp"

#include <algorithm>
#include <cstdint>
#include <sys/timerfd.h>

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

}  // namespace tenure::cli
