// Replaces clock.cpp, clock_domain.cpp, process_mark.cpp, thread.cpp, thread_pool.cpp, watchdog.cpp and
// asio_scheduler.cpp. A world runs on one thread, so its queue does what threads do in those files.
#include "simulation/clients/virtual_system.hpp"

#include <stdexcept>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/driver/watchdog.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/thread.hpp"
#include "lockcore/runtime/thread_pool.hpp"
#include "lockcore/token/lock_token_parts.hpp"

namespace tenure::test {

VirtualSystem*& VirtualSystem::current() noexcept {
  static thread_local VirtualSystem* system = nullptr;
  return system;
}

std::chrono::nanoseconds endOfWait(std::chrono::nanoseconds patience) {
  VirtualSystem* system = VirtualSystem::current();
  return system == nullptr ? std::chrono::nanoseconds{0} : system->endOf(patience);
}

bool passWhileWaiting(std::chrono::nanoseconds end) {
  VirtualSystem* system = VirtualSystem::current();
  return system != nullptr && system->passOne(end);
}

namespace {

/// Differs from the clock of every scheduler, so that no watchdog is used.
class NobodysClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return readClock(); }
};

}  // namespace
}  // namespace tenure::test

// The functions of the C library that the library calls: SystemRandom draws, LockTokens pauses between two tries.
extern "C" ssize_t getrandom(void* buffer, std::size_t length, unsigned flags) {
  tenure::test::VirtualSystem* system = tenure::test::VirtualSystem::current();
  if (system == nullptr) return syscall(SYS_getrandom, buffer, length, flags);
  for (std::size_t i = 0; i < length; ++i) static_cast<unsigned char*>(buffer)[i] = system->entropy() & 0xFFU;
  return static_cast<ssize_t>(length);
}

extern "C" int nanosleep(const timespec* wanted, timespec* left) {
  if (tenure::test::VirtualSystem::current() == nullptr) return static_cast<int>(syscall(SYS_nanosleep, wanted, left));
  const auto end =
      tenure::test::endOfWait(std::chrono::seconds{wanted->tv_sec} + std::chrono::nanoseconds{wanted->tv_nsec});
  while (tenure::test::passWhileWaiting(end)) {
  }
  return 0;
}

namespace tenure {

using test::VirtualSystem;

Instant readClock() noexcept {
  VirtualSystem* system = VirtualSystem::current();
  return system == nullptr ? Instant{} : system->processClock();
}

std::int64_t wallClockMillisForDisplay() noexcept { return 1'000'000; }
std::int64_t wallClockMillisForSigning() noexcept { return 1'000'000; }
std::string wallClockTextForDisplay(std::int64_t unixMillis) { return std::to_string(unixMillis); }

const std::string& clockDomain() {
  static const std::string none;
  VirtualSystem* system = VirtualSystem::current();
  return system == nullptr ? none : system->processBoot();
}

std::shared_ptr<const Clock> systemClock() {
  static const auto clock = std::make_shared<const test::NobodysClock>();
  return clock;
}

std::shared_ptr<Scheduler> sharedScheduler() { throw std::logic_error{"the world gives each object a scheduler"}; }

std::shared_ptr<void> keepWatchdog() { throw std::logic_error{"no term goes by the system's clock"}; }
std::shared_ptr<TermWatch> watchTerm(WatchedTerm) { throw std::logic_error{"no term goes by the system's clock"}; }

ProcessMark::ProcessMark() noexcept : generation_{1} {}

/// A reader of a term calls this first. An interruption here simulates a reader that stood still before it read the
/// clock.
bool ProcessMark::isHere() const noexcept {
  if (VirtualSystem* system = VirtualSystem::current()) system->interruption();
  return generation_ == 1;
}

ThreadPool::ThreadPool(std::string name) : state_{std::make_shared<State>(std::move(name))} {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::threads() const { return 1; }
bool ThreadPool::isShort() const { return false; }
std::optional<std::string> ThreadPool::whyTasksWait() { return std::nullopt; }

/// Users get no stop tokens here, so firing one runs no user code and need not be deferred.
void ThreadPool::post(std::function<void()> task) {
  VirtualSystem* system = VirtualSystem::current();
  if (system == nullptr || state_->name == "stop") return task();
  system->runApart(std::move(task));
}

std::shared_ptr<ThreadPool> ThreadPool::forCallbacks() {
  static const auto pool = std::make_shared<ThreadPool>("callback");
  return pool;
}

std::shared_ptr<ThreadPool> ThreadPool::forStopTokens() {
  static const auto pool = std::make_shared<ThreadPool>("stop");
  return pool;
}

namespace detail {

std::thread startThread(const std::string&, std::function<void()>) {
  throw std::logic_error{"nothing that is simulated has a thread that is waited for"};
}
void startDetachedThread(const std::string&, std::function<void()> body) {
  if (VirtualSystem* system = VirtualSystem::current()) system->runApart(std::move(body));
}
void leaveThread(std::thread&) {}

}  // namespace detail
}  // namespace tenure
