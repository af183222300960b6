// How far the clocks of this machine are apart. No lease can protect from a fault of the clocks, but it must at least
// be visible.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <tenure/lockcore/clock.hpp>

namespace tenure {

/// The rate of CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW over the last minute or more. A time daemon that follows
/// good servers keeps the former right. So this is the error of the machine's own oscillator with the opposite sign;
/// during a slew it is the slew. It decides nothing, because the clock rule takes the safe side of both. But an
/// oscillator with a greater error than the clock margin covers can cause two leaders at once, with only the fence
/// between them.
class ClockGauge {
 public:
  /// The rate that the default clock margin covers, in each direction.
  static constexpr double coveredPpm = 500;

  /// True if a window is complete and the rate is greater than the clock margin covers. It is true once, and again
  /// after an hour.
  [[nodiscard]] bool noteBeyond(const Instant& now) noexcept {
    constexpr std::chrono::minutes window{1};
    if (!begun_) begin(now);
    const auto raw = now.raw - raw_;
    if (raw < window) return false;
    ppm_ = static_cast<float>(static_cast<double>((now.monotonic - monotonic_ - raw).count()) /
                              static_cast<double>(raw.count()) * 1e6);
    measured_ = true;
    begin(now);
    return isNews();
  }

  /// Parts per million; empty before the first minute is over.
  [[nodiscard]] std::optional<double> ppm() const noexcept {
    return measured_ ? std::optional<double>{ppm_} : std::nullopt;
  }

 private:
  void begin(const Instant& now) noexcept {
    begun_ = true;
    raw_ = now.raw;
    monotonic_ = now.monotonic;
  }

  [[nodiscard]] bool isNews() noexcept {
    constexpr std::uint16_t windowsOfSilence = 60;
    const bool beyond = ppm_ > coveredPpm || ppm_ < -coveredPpm;
    const bool news = beyond && silence_ == 0;
    silence_ = beyond ? static_cast<std::uint16_t>((silence_ + 1) % windowsOfSilence) : std::uint16_t{0};
    return news;
  }

  // Small: a process may hold ten thousand leases.
  std::chrono::nanoseconds raw_{0};
  std::chrono::nanoseconds monotonic_{0};
  float ppm_{0};
  std::uint16_t silence_{0};
  bool begun_{false};
  bool measured_{false};
};

}  // namespace tenure
