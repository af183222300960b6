// A scheduler whose clocks run faster or slower than those of another one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <tenure/testing/manual_runtime.hpp>

namespace tenure::test {

class DriftingClock final : public Clock {
 public:
  DriftingClock(std::shared_ptr<const Clock> real, std::int64_t partsPerMillion)
      : real_{std::move(real)}, start_{real_->now()}, drift_{partsPerMillion} {}

  [[nodiscard]] Instant now() const noexcept override {
    const Instant at = real_->now();
    return {shown(start_.raw, at.raw), shown(start_.monotonic, at.monotonic), shown(start_.boottime, at.boottime)};
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds shown(std::chrono::nanoseconds from,
                                               std::chrono::nanoseconds at) const noexcept {
    return at + (at - from) * drift_ / 1'000'000;
  }

  const std::shared_ptr<const Clock> real_;
  const Instant start_;
  const std::int64_t drift_;
};

class DriftingScheduler final : public Scheduler {
 public:
  /// Positive: fast, negative: slow.
  DriftingScheduler(std::shared_ptr<ManualScheduler> real, std::int64_t partsPerMillion)
      : real_{std::move(real)},
        clock_{std::make_shared<DriftingClock>(real_->clock(), partsPerMillion)},
        drift_{partsPerMillion} {}

  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return clock_; }
  [[nodiscard]] Instant now() const noexcept override { return clock_->now(); }
  void post(Task task) override { real_->post(std::move(task)); }
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override {
    return real_->schedule(delay - delay / 1'000'000 * drift_, std::move(task));  // tasks read the clock anyway
  }
  void cancel(TimerId id) noexcept override { real_->cancel(id); }
  [[nodiscard]] bool isCurrent() const noexcept override { return real_->isCurrent(); }

 private:
  const std::shared_ptr<ManualScheduler> real_;
  const std::shared_ptr<const DriftingClock> clock_;
  const std::int64_t drift_;
};

}  // namespace tenure::test
