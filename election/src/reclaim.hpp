// When a candidate with a better priority asks the leader to step down. Pure: time is an argument.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

/// It watches one term at a time: that of a leader that states a worse priority. The watch begins again whenever this
/// candidate is not ready to lead (its work runs, it has just stepped down) or has not seen the record for a while. So
/// once it has lasted for the whole time, both hold: this candidate has been ready for that long, and that leader has
/// led for at least that long.
class Reclaim {
 public:
  /// `fresh`: a look at the record counts for that long; also the pause after a request that failed.
  Reclaim(unsigned priority, std::chrono::nanoseconds after, std::chrono::nanoseconds fresh) noexcept
      : priority_{priority}, after_{after}, fresh_{fresh} {}

  /// Whether this leader is one to take over from. Never a pause, nor a leader without a token: that one belongs to
  /// another library.
  [[nodiscard]] bool concerns(const std::optional<LeaderInfo>& leader) const;

  /// To be called at least once in each `fresh` while the leader concerns it. Returns the leader that is to be asked
  /// now: each term once, and again if the request failed.
  [[nodiscard]] std::optional<LeaderInfo> look(const Instant& now, const LeaseStatus& status);
  /// The request for the leader that look() returned last was refused, or it is not known whether it arrived.
  void failed() noexcept {
    if (request_) request_->failed = true;
  }

 private:
  struct Watch {
    FencingToken term;
    Instant since;
    Instant lastLook;
  };
  struct Request {
    FencingToken term;
    Instant at;
    bool failed{false};
  };

  [[nodiscard]] bool watches(const Instant& now, const LeaseStatus& status) const;

  const unsigned priority_;
  const std::chrono::nanoseconds after_;
  const std::chrono::nanoseconds fresh_;
  std::optional<Watch> watch_{};
  std::optional<Request> request_{};  ///< the last one; a term is not asked twice, even if its watch began again
};

}  // namespace tenure
