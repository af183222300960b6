// An executor whose callbacks run when the test says so.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include <tenure/lockcore/export.hpp>

namespace tenure::test {

/// For Runtime::executor: `[executor](auto task) { executor->post(std::move(task)); }`. post() may be called from any
/// thread.
class TENURE_API ManualExecutor {
 public:
  void post(std::function<void()> task);
  /// Runs all callbacks on this thread, including those that they post; returns how many.
  int run();
  [[nodiscard]] std::size_t waiting() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::function<void()>> tasks_{};
};

}  // namespace tenure::test
