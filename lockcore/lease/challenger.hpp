// A candidate that does not hold the lease: it observes, waits until the lease is free by its own clock, and takes it
// by a conditional write.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "next_role.hpp"

namespace tenure {

/// One that is stopped waits only for the work of its last term.
class Challenger : public Ignores<event::StepDown, event::Renew, event::WorkEnded, event::WorkFailed,
                                  event::WorkProgressed, event::Wakeup, event::TokenSeen> {
 public:
  explicit Challenger(MachineCore& core) : core_{core} {}

  /// The candidacy begins.
  void start(const Instant& now, const event::Start& event);
  /// Competes from now on, but takes nothing for `cooldown`.
  void enter(const Instant& now, std::chrono::nanoseconds cooldown);
  /// The record is this; no acquisition of this challenger is in it.
  void see(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted);

  using Ignores::handle;
  [[nodiscard]] NextRole handle(const Instant& now, const event::Stop& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::StoreHint& event);
  [[nodiscard]] NextRole handle(const Instant& now, const ReadAnswer& answer);
  [[nodiscard]] NextRole handle(const Instant& now, const WriteAnswer& answer);
  [[nodiscard]] NextRole checkDeadlines(const Instant& /*now*/) noexcept { return {}; }
  [[nodiscard]] NextRole advance(const Instant& now);

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;
  [[nodiscard]] LeaseState state() const noexcept;
  /// An acquisition has won, may have won or may win yet, and is not given up.
  [[nodiscard]] bool acquisitionOpen() const noexcept { return acquiring() || !unanswered_.empty(); }
  [[nodiscard]] bool inDoubt() const noexcept { return false; }

 private:
  /// The last thing that was sent to the store.
  struct LastRequest {
    bool answered{false};  ///< and the answer leaves no question
    bool troubled{false};  ///< that answer was an error
  };

  // ---- challenger.cpp ----
  [[nodiscard]] bool acquiring() const noexcept;
  [[nodiscard]] bool mayLead() const;
  [[nodiscard]] bool mayCompete(const Instant& now) const;
  [[nodiscard]] NextRole windUp(const Instant& now) const;
  [[nodiscard]] NextRole release();
  [[nodiscard]] ReleaseResult nothingToRelease() const;
  void drawPoliteness();
  [[nodiscard]] std::chrono::nanoseconds raceJitter();
  void holdOff(const Instant& now, std::chrono::nanoseconds wait);
  void sendAcquire(const Instant& now);
  [[nodiscard]] NextRole observe(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted);
  void follow(const std::optional<LeaseRecord>& held);

  // ---- challenger_acquisition.cpp ----
  [[nodiscard]] NextRole acquireAnswered(const Instant& now, const RequestInFlight& request,
                                         const WriteOutcome& outcome);
  [[nodiscard]] NextRole acquired(const Instant& now, const RequestInFlight& request, const Applied& applied);
  [[nodiscard]] NextRole acquireLost(const Instant& now, const RequestInFlight& request, const Conflict& conflict);
  [[nodiscard]] std::optional<NextRole> adoptOwnAcquire(const Instant& now, const LeaseRecord& record);
  [[nodiscard]] NextRole win(const Instant& now, const UnansweredWrite& won, FencingToken token);
  [[nodiscard]] NextRole winTooLate(const Instant& now, FencingToken token);
  void acquireFailed(const Instant& now, const StoreError& error);
  void loseRace(const Instant& now);
  void remember(const UnansweredWrite& acquisition);

  // ---- challenger_one_term.cpp ----
  void recall(const LeaseMemory& memory);
  void succeed(const Instant& now, const LeaseMemory& predecessor);
  void rest(const Instant& now, std::chrono::nanoseconds length);
  [[nodiscard]] std::chrono::nanoseconds limited(std::chrono::nanoseconds timeout) const;
  [[nodiscard]] bool waitIsOver(const Instant& now) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilPatienceEnds(const Instant& now) const;
  [[nodiscard]] std::optional<GiveUpReason> reasonToGiveUp(const Instant& now) const;
  [[nodiscard]] NextRole giveUp(const Instant& now, GiveUpReason reason);
  void keepPayload(const std::optional<LeaseRecord>& record);
  [[nodiscard]] std::shared_ptr<const LeasePayload> takePayload();

  MachineCore& core_;
  UnansweredWrites unanswered_{};  ///< acquisitions
  std::chrono::nanoseconds politeness_{0};
  Instant cooldownFrom_{};
  std::chrono::nanoseconds cooldown_{0};
  int lostRaces_{0};
  int failures_{0};         ///< of acquisitions in a row, without an answer that tells of the record
  int doubtsAfterWait_{0};  ///< acquisitions of which nobody told what became of them when the wait was over
  bool readFirst_{false};   ///< the next acquisition must follow a successful read
  LastRequest lastRequest_{};
  std::string followedBeacon_{};
  std::unique_ptr<const LeasePayload> payload_{};  ///< of the record as it was seen last; none if it is empty
};

}  // namespace tenure
