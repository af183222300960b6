// A candidate that releases its lease: the record is marked as released or removed. It retries for as long as the
// record is still its own.
#pragma once

#include <chrono>
#include <optional>

#include "next_role.hpp"
#include "retry.hpp"

namespace tenure {

/// The work has ended; or there was no term, and only acquisitions that were not answered may have to be released.
class Releaser
    : public Ignores<event::StepDown, event::SetReady, event::Stop, event::Renew, event::WorkEnded, event::WorkFailed,
                     event::WorkProgressed, event::Wakeup, event::StoreHint, event::TokenSeen> {
 public:
  Releaser(MachineCore& core, HeldTerm term) : core_{core}, term_{std::move(term)} {}

  void enter(const Instant& now);

  using Ignores::handle;
  [[nodiscard]] NextRole handle(const Instant& now, const ReadAnswer& answer);
  [[nodiscard]] NextRole handle(const Instant& now, const WriteAnswer& answer);
  [[nodiscard]] NextRole checkDeadlines(const Instant& /*now*/) noexcept { return {}; }
  [[nodiscard]] NextRole advance(const Instant& now);

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;
  [[nodiscard]] LeaseState state() const noexcept { return LeaseState::releasing; }
  [[nodiscard]] bool acquisitionOpen() const noexcept { return true; }
  [[nodiscard]] bool inDoubt() const noexcept { return false; }

 private:
  void renewAnswered(const Instant& now, const RequestInFlight& request, const WriteOutcome& outcome);
  [[nodiscard]] NextRole releaseAnswered(const Instant& now, const RequestInFlight& request,
                                         const WriteOutcome& outcome);
  [[nodiscard]] NextRole releaseApplied(const Instant& now, const RequestInFlight& request, const Applied& applied);
  [[nodiscard]] NextRole releaseConflict(const Instant& now, const Conflict& conflict);
  [[nodiscard]] bool leavesOutData(const Instant& now, const RequestInFlight& request, const StoreError& error);
  void renewalFailed(const Instant& now, const StoreError& error);
  void releaseFailed(const Instant& now, const StoreError& error);
  [[nodiscard]] bool acquisitionMayStillArrive(const Conflict& conflict) const;
  void releaseAgain(const Instant& now, const UnansweredWrite& late);
  [[nodiscard]] NextRole released(const Instant& now, ReleaseResult result,
                                  const std::optional<LeaseRecord>* found = nullptr);

  MachineCore& core_;
  HeldTerm term_;
  Instant from_{};
  Retry retry_{};
};

}  // namespace tenure
