// `tenure run` until its store is usable for the first time: when to report that it waits, and when waiting is in vain.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/driver/lease_driver.hpp"

namespace tenure::cli {

/// Pure: time and status are arguments. Contact means a term, or a read together with a check of the schema. After the
/// first contact it advises nothing any more, whatever happens: a candidate that has competed goes on until it is
/// stopped (I10).
class FirstContact {
 public:
  explicit FirstContact(const Instant& since) noexcept : since_{since}, toldAt_{since} {}

  struct Advice {
    enum class Kind {
      tell,    ///< report that it waits, for how long already, and why
      giveUp,  ///< the error is permanent (StoreError::permanent)
    };
    Kind kind{Kind::tell};
    std::string cause{};  ///< empty: there is no answer, and no error either
    std::chrono::nanoseconds waited{0};
  };
  /// To be called when `untilLook` is over. Reports the first cause at once, and then (with or without a cause) after
  /// 10 s, 20 s, 40 s and so on up to 10 min.
  [[nodiscard]] std::optional<Advice> look(const Instant& now, const LeaseStatus& status);

  [[nodiscard]] bool isMade() const noexcept { return made_; }
  /// When to call look() again; empty: not needed.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook(const Instant& now) const noexcept;

 private:
  Instant since_;
  Instant toldAt_;
  std::chrono::nanoseconds pause_{std::chrono::seconds{10}};
  bool causeTold_{false};
  bool made_{false};
};

}  // namespace tenure::cli
