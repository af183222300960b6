// A line for people that is printed only if it still holds after a second: who holds what they wait for, or that the
// job has not ended although it was asked to.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>

namespace tenure::cli {

class DelayedNote {
 public:
  void set(std::string text, const Instant& now) {
    text_ = std::move(text);
    since_ = now;
  }
  void drop() noexcept { text_.reset(); }

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilDue(const Instant& now) const {
    if (!text_) return std::nullopt;
    return delay - elapsedForHolder(since_, now);
  }
  /// The text, once, when it is due.
  [[nodiscard]] std::optional<std::string> take(const Instant& now) {
    if (!text_ || untilDue(now)->count() > 0) return std::nullopt;
    return std::exchange(text_, std::nullopt);
  }

 private:
  static constexpr std::chrono::seconds delay{1};

  std::optional<std::string> text_{};
  Instant since_{};
};

}  // namespace tenure::cli
