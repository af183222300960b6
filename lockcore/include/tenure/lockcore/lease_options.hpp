// The timing of a lease: what a user may set, and the validated form that the engine accepts.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// The fault of one option.
struct OptionFault {
  std::string field;    ///< its path in the options struct, such as "lease.stopMargin"
  std::string message;  ///< a sentence with what is allowed
  /// The value is outside of the option's own range, so it would be refused whatever the other options say.
  bool outOfOwnRange{false};

  friend bool operator==(const OptionFault&, const OptionFault&) = default;
};

/// Every fault of a set of options, not only the first.
using OptionFaults = std::vector<OptionFault>;

/// Makes `result<T, OptionFaults>::value()` throw std::invalid_argument with all messages.
[[noreturn]] TENURE_API void throw_exception_from_error(const OptionFaults& faults,
                                                        const boost::source_location& where);

inline constexpr std::chrono::milliseconds minLeaseDuration{100};
inline constexpr std::chrono::milliseconds maxLeaseDuration = std::chrono::hours{24};
/// The greatest priority of a candidate.
inline constexpr unsigned maxPriority = 50;

/// Options as the user gives them. Values that are not set are computed from `duration`.
struct LeaseOptions {
  /// How long a lease lasts after its last renewal. It is also the time to fail over after a freeze. 100 ms .. 24 h.
  std::chrono::milliseconds duration{10'000};

  /// How often the holder renews. A heartbeat may come up to a 32nd of this earlier, so that the heartbeats of many
  /// leases share a wake-up. Unset: duration / 3. At least 10 ms. Two heartbeats, the clock margin and the stop margin
  /// together must fit into the duration, so that one renewal may fail.
  std::optional<std::chrono::milliseconds> heartbeat{};

  /// Safety margin for clock rates: the holder's validity ends this much before the lease does. Unset: 0.1 % of the
  /// duration + 1 ms, which covers rates that differ by 500 parts per million each way. 0 .. duration / 2.
  std::optional<std::chrono::milliseconds> clockMargin{};

  /// When renewals fail, leadership ends (stop token, onRevoked) this long before validity does, so that the work
  /// has time to stop before a successor may act. Unset: duration / 10. 0: at the very end. 0 .. duration / 2.
  std::optional<std::chrono::milliseconds> stopMargin{};

  /// How long the work may take to end when leadership is given up on purpose. The lease is renewed meanwhile. If the
  /// work takes longer, the lease is left to expire and is not released early. Unset: duration. 0 .. 24 h.
  std::optional<std::chrono::milliseconds> drainTimeout{};

  /// If set, the work must call Leadership::reportProgress() at least this often; otherwise the lease is not renewed
  /// (work-side watchdog). One heartbeat .. 24 h.
  std::optional<std::chrono::milliseconds> progressTimeout{};

  friend bool operator==(const LeaseOptions&, const LeaseOptions&) = default;
};

/// Validated timing, all values filled in. Only `from` makes one.
class TENURE_API LeaseTiming {
 public:
  [[nodiscard]] static boost::system::result<LeaseTiming, OptionFaults> from(const LeaseOptions& options);

  [[nodiscard]] std::chrono::milliseconds duration() const noexcept { return duration_; }
  [[nodiscard]] std::chrono::milliseconds heartbeat() const noexcept { return heartbeat_; }
  [[nodiscard]] std::chrono::milliseconds clockMargin() const noexcept { return clockMargin_; }
  [[nodiscard]] std::chrono::milliseconds stopMargin() const noexcept { return stopMargin_; }
  [[nodiscard]] std::chrono::milliseconds drainTimeout() const noexcept { return drainTimeout_; }
  [[nodiscard]] std::optional<std::chrono::milliseconds> progressTimeout() const noexcept { return progressTimeout_; }

  /// How long the holder's validity lasts, counted from the sending of an acknowledged write: duration - clockMargin.
  [[nodiscard]] std::chrono::milliseconds validFor() const noexcept { return duration_ - clockMargin_; }
  /// How long the holder leads without a further acknowledged write: validFor - stopMargin.
  [[nodiscard]] std::chrono::milliseconds leadsFor() const noexcept { return validFor() - stopMargin_; }

 private:
  LeaseTiming() = default;
  std::chrono::milliseconds duration_{}, heartbeat_{}, clockMargin_{}, stopMargin_{}, drainTimeout_{};
  std::optional<std::chrono::milliseconds> progressTimeout_{};
};

}  // namespace tenure
