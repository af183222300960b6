// A candidate that does not hold the lease: it observes the record and waits until the lease is free by its own clock.
// Then it takes the lease by a conditional write.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "next_role.hpp"

namespace tenure {

/// Once it is stopped, it waits only for the work of its last term.
class Challenger : public Ignores<event::StepDown, event::SetReady, event::Renew, event::WorkEnded, event::WorkFailed,
                                  event::WorkProgressed, event::Wakeup, event::TokenSeen> {
 public:
  explicit Challenger(MachineCore& core) : core_{core} {}

  /// The candidacy begins.
  void start(const Instant& now, const event::Start& event);
  /// Competes from now on, but does not acquire for `cooldown`.
  void enter(const Instant& now, std::chrono::nanoseconds cooldown);
  /// The record is as given; no acquisition of this challenger is in it.
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
  /// An acquisition has won, may have won or may still win, and is not given up.
  [[nodiscard]] bool acquisitionOpen() const noexcept { return acquiring() || !unanswered_.empty(); }
  [[nodiscard]] bool inDoubt() const noexcept { return false; }
  /// Never negative.
  [[nodiscard]] std::chrono::nanoseconds cooldownLeft(const Instant& now) const;

 private:
  /// The last request that was sent to the store.
  struct LastRequest {
    bool answered{false};  ///< it was answered, and the answer leaves nothing open
    bool failed{false};    ///< the answer was an error
  };

  // ---- challenger.cpp ----
  [[nodiscard]] bool acquiring() const noexcept;
  [[nodiscard]] bool mayLead() const;
  [[nodiscard]] bool mayCompete(const Instant& now) const;
  /// False: a term that is won now is released before its work begins.
  [[nodiscard]] bool wantsTerm() const noexcept { return !core_.stopping && core_.ready; }
  [[nodiscard]] NextRole windUp(const Instant& now) const;
  [[nodiscard]] NextRole release();
  [[nodiscard]] ReleaseResult nothingToRelease() const;
  void drawPoliteness();
  [[nodiscard]] std::chrono::nanoseconds raceJitter();
  void holdOff(const Instant& now, std::chrono::nanoseconds wait);
  void sendAcquire(const Instant& now);
  [[nodiscard]] NextRole observe(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted);
  void follow(const std::optional<LeaseRecord>& held);
  void tellOfLoss(const Instant& now) const;
  void expectVacancy(const Instant& now, const std::optional<LeaseRecord>& record, bool news);
  [[nodiscard]] std::chrono::nanoseconds untilRead(const Instant& now) const;

  // ---- challenger_successor.cpp ----
  [[nodiscard]] bool isReleasedForIt() const;
  [[nodiscard]] std::chrono::nanoseconds leftToAnother(const Instant& now) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilFree(const Instant& now) const;

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
  void keepPayload(const std::optional<LeaseRecord>& record);
  [[nodiscard]] std::shared_ptr<const LeasePayload> takePayload();

  // ---- challenger_one_term.cpp ----
  void recall(const LeaseMemory& memory);
  void succeed(const Instant& now, const LeaseMemory& predecessor);
  void rest(const Instant& now, std::chrono::nanoseconds length);
  [[nodiscard]] std::chrono::nanoseconds limited(std::chrono::nanoseconds timeout) const;
  [[nodiscard]] bool waitIsOver(const Instant& now) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilPatienceEnds(const Instant& now) const;
  [[nodiscard]] std::optional<GiveUpReason> reasonToGiveUp(const Instant& now) const;
  [[nodiscard]] NextRole giveUp(const Instant& now, GiveUpReason reason);

  MachineCore& core_;
  UnansweredWrites unanswered_{};  ///< unanswered acquisitions
  std::chrono::nanoseconds politeness_{0};
  Instant cooldownFrom_{};
  std::chrono::nanoseconds cooldown_{0};
  int lostRaces_{0};
  int failures_{0};         ///< failed acquisitions in a row, with no answer in between that shows the record
  int doubtsAfterWait_{0};  ///< acquisitions whose outcome was still unknown when the wait was over
  bool readFirst_{false};   ///< the next acquisition must follow a successful read
  LastRequest lastRequest_{};
  bool vacancyTold_{false};  ///< of the record as it was seen last
  std::string followedLivenessFile_{};
  std::unique_ptr<const LeasePayload> payload_{};  ///< of the record as it was seen last; null if it has none
};

}  // namespace tenure
