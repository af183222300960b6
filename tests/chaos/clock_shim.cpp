// Preloaded into a process, it gives the process clocks that run at other rates, jump or stand still, as the test
// wants.
//
//   LD_PRELOAD=clock_shim.so TENURE_CLOCK_SHIM=FILE program
//
// FILE (tests/chaos/clocks.py writes it) is mapped and read at each call, so that the test can change the clocks at any
// time: fake = fakeBase + (true - trueBase) * rate. Waits are converted too. A process without the variable, or whose
// file cannot be mapped, has true clocks. Raw system calls always return the truth.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t second = 1'000'000'000;

struct Line {
  std::int64_t trueBase;
  std::int64_t fakeBase;
  double rate;
};

/// The layout of the file. All fields are loaded in order (acquire), so that a change during a reading is noticed.
struct SharedLine {
  std::atomic<std::int64_t> trueBase, fakeBase;
  std::atomic<double> rate;

  [[nodiscard]] Line load() const noexcept {
    return {trueBase.load(std::memory_order_acquire), fakeBase.load(std::memory_order_acquire),
            rate.load(std::memory_order_acquire)};
  }
};
struct Control {
  std::atomic<std::uint64_t> turns;  // odd while somebody writes
  SharedLine realtime, monotonic, raw, boottime;
};
static_assert(sizeof(Control) == 8 + 4 * 24);

const Control* mapControl() {
  const char* path = std::getenv("TENURE_CLOCK_SHIM");
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(Control), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<const Control*>(at);
}

const Control* control() {
  static const Control* const mapped = mapControl();
  return mapped;
}

const SharedLine Control::*lineOf(clockid_t id) {
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return &Control::realtime;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return &Control::monotonic;
    case CLOCK_MONOTONIC_RAW:
      return &Control::raw;
    case CLOCK_BOOTTIME:
      return &Control::boottime;
    default:
      return nullptr;
  }
}

int trueClock(clockid_t id, timespec* at) { return static_cast<int>(syscall(SYS_clock_gettime, id, at)); }

/// False if this clock is a true one. `at`, if given, is the true time at some instant at which the line was valid. If
/// a process is stopped in between while its clock is changed, it reads again.
bool readLine(clockid_t id, Line& out, timespec* at = nullptr) {
  const Control* from = control();
  const auto member = lineOf(id);
  if (from == nullptr || member == nullptr) return false;
  for (;;) {
    const std::uint64_t before = from->turns.load(std::memory_order_acquire);
    out = (from->*member).load();
    if (at != nullptr) trueClock(id, at);
    if (before % 2 == 0 && from->turns.load(std::memory_order_acquire) == before) return true;
  }
}

std::int64_t count(const timespec& at) { return at.tv_sec * second + at.tv_nsec; }

timespec spec(std::int64_t nanoseconds) {
  if (nanoseconds < 0) nanoseconds = 0;
  return {nanoseconds / second, nanoseconds % second};
}

/// The true time at which the fake clock will show this.
timespec toTrue(const Line& line, const timespec& fake) {
  const double ahead = static_cast<double>(count(fake) - line.fakeBase) / line.rate;
  return spec(line.trueBase + static_cast<std::int64_t>(ahead));
}

timespec scaled(clockid_t id, const timespec& span) {
  Line line{};
  if (!readLine(id, line)) return span;
  return spec(static_cast<std::int64_t>(static_cast<double>(count(span)) / line.rate));
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* at) noexcept {
  const int result = trueClock(id, at);
  Line line{};
  if (result == 0 && readLine(id, line, at)) {
    const double passed = static_cast<double>(count(*at) - line.trueBase) * line.rate;
    *at = spec(line.fakeBase + static_cast<std::int64_t>(passed));
  }
  return result;
}

int clock_nanosleep(clockid_t id, int flags, const timespec* request, timespec* remain) {
  Line line{};
  timespec wanted = *request;
  if (readLine(id, line)) wanted = (flags & TIMER_ABSTIME) != 0 ? toTrue(line, *request) : scaled(id, *request);
  static const auto real = next<int (*)(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  return real(id, flags, &wanted, remain);
}

int nanosleep(const timespec* request, timespec* remain) {
  const timespec wanted = scaled(CLOCK_MONOTONIC, *request);
  static const auto real = next<int (*)(const timespec*, timespec*)>("nanosleep");
  return real(&wanted, remain);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t id, const timespec* until) {
  Line line{};
  const timespec wanted = readLine(id, line) ? toTrue(line, *until) : *until;
  static const auto real =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  return real(condition, mutex, id, &wanted);
}

/// Timers that are already running keep their true time. A waiting thread reads the clock again when its timer fires,
/// as all threads of the library do.
int timerfd_settime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept {
  itimerspec wanted = *value;
  if ((flags & TFD_TIMER_ABSTIME) == 0) {
    wanted.it_value = scaled(CLOCK_MONOTONIC, value->it_value);
    wanted.it_interval = scaled(CLOCK_MONOTONIC, value->it_interval);
  }
  static const auto real = next<int (*)(int, int, const itimerspec*, itimerspec*)>("timerfd_settime");
  return real(fd, flags, &wanted, old);
}

}  // extern "C"
