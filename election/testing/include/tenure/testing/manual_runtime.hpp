// A runtime whose time stands still until the test moves it, and whose callbacks run on the thread of the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/testing/manual_executor.hpp>
#include <tenure/testing/manual_scheduler.hpp>

namespace tenure::test {

/// For electors and lock clients in tests: no thread, no sleep, the same run each time. Give each of them a runtime(),
/// and makeMemoryStore(clock) as the store. Nothing of them happens outside the calls below. All calls belong to the
/// thread of the test.
class TENURE_API ManualRuntime {
 public:
  [[nodiscard]] Runtime runtime();

  /// Runs everything that is ready, on the scheduler and on the executor, without moving time.
  void settle();
  /// Moves time, timer by timer, and settles after each.
  void advance(std::chrono::nanoseconds by);
  /// Moves time in steps of a millisecond until `done`; false if it was not done within `limit`.
  [[nodiscard]] bool advanceUntil(const std::function<bool()>& done,
                                  std::chrono::nanoseconds limit = std::chrono::seconds{30});
  /// All clocks continue and nothing of the library runs, as after SIGSTOP.
  void pause(std::chrono::nanoseconds by) { clock->moveClocks({by, by, by}); }

  /// For calls that wait for the scheduler or for callbacks, such as stop() and destructors: runs `blocking` on another
  /// thread, and all else on this one until it returns. In each round time moves by `perRound`.
  template <class Result>
  Result drive(std::function<Result()> blocking, std::chrono::nanoseconds perRound = {}) {
    std::future<Result> result = std::async(std::launch::async, std::move(blocking));
    while (result.wait_for(std::chrono::milliseconds{1}) != std::future_status::ready) advance(perRound);
    return result.get();
  }

  const std::shared_ptr<ManualScheduler> clock{std::make_shared<ManualScheduler>()};
  const std::shared_ptr<ManualExecutor> executor{std::make_shared<ManualExecutor>()};

 private:
  std::uint64_t seed_{0};
};

}  // namespace tenure::test
