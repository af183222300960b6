// One LeaseMachine under a clock that the test moves, with short words for what it does.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockcore/lease/lease_machine.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {

/// lease 10 s, heartbeat 3 s, guard 11 ms, stop margin 1 s: validFor 9.989 s, leadsFor 8.989 s; drain timeout 10 s.
[[nodiscard]] LeaseOptions tenSecondLease();

/// The actions in short, first to last, e.g. "publish(leads) leader(self) elected(1)".
[[nodiscard]] std::string describe(const LeaseActions& actions);

/// Steps a machine, keeps its actions, and answers its requests as the test wants.
class MachineHarness {
 public:
  explicit MachineHarness(const LeaseOptions& options = tenSecondLease(), unsigned priority = 0);
  MachineHarness(const LeaseOptions& options, OneTerm oneTerm, bool manualHeartbeat = false);

  /// Steps with the clock as it stands; returns describe() of the actions.
  std::string step(const LeaseEvent& event);
  std::string wake() { return step(event::Wakeup{}); }

  /// Moves all clocks and steps with Wakeup.
  std::string after(std::chrono::nanoseconds d);
  /// Moves all clocks to the machine's next wake-up and steps it; fails the test if it asks for none.
  std::string toWakeup();

  // Answers to the request that was sent last.
  std::string answerRead(ReadOutcome outcome) { return step(event::ReadReply{attempt(), std::move(outcome)}); }
  std::string answerWrite(WriteOutcome outcome) { return step(event::WriteReply{attempt(), std::move(outcome)}); }
  /// What the last write would leave in the store, with the store's token.
  [[nodiscard]] LeaseRecord written(std::uint64_t token = 1) const;

  // Ways into each state. The store's token of the term is 1 unless stated.
  void becomeCandidate();                       ///< watching `holder`, no request under way
  void becomeReading();                         ///< candidate, a read under way
  void becomeAcquiring();                       ///< of an absent record
  void becomeLeading(std::uint64_t token = 1);  ///< no request under way
  void becomeRenewing();                        ///< leading, a renewal under way
  void becomeDraining();                        ///< stepped down, no request under way
  void becomeDrainingWhileRenewing();           ///< stepped down, a renewal under way
  void becomeReleasing();                       ///< a release under way
  void becomeReleasingBehindRenewal();          ///< it waits for a renewal under way
  void becomeStopped();

  [[nodiscard]] LeaseState state() const { return machine.state(); }
  [[nodiscard]] Attempt attempt() const { return attempt_; }
  /// The write that was sent last.
  [[nodiscard]] const WriteRequest& write() const;
  /// The expected versions of the write that was sent last, as "v1|v2"; "absent" if none.
  [[nodiscard]] std::string expected() const;
  /// The published term, as TermCell would hold it.
  [[nodiscard]] const TermState& published() const { return published_; }
  [[nodiscard]] bool leads() const { return published_.leadsAt(now); }
  [[nodiscard]] const std::vector<action::Revoked>& revocations() const { return revocations_; }
  [[nodiscard]] std::uint64_t elections() const { return elections_; }
  /// What the last Elected brought.
  [[nodiscard]] const std::shared_ptr<const LeasePayload>& payload() const { return payload_; }
  /// The memory that Stopped brought; with OneTerm only.
  [[nodiscard]] const std::shared_ptr<const LeaseMemory>& memory() const { return memory_; }

  static inline std::int64_t displayedMillis{0};  ///< the wall clock of all of them
  Instant now{std::chrono::hours{1}, std::chrono::hours{2}, std::chrono::hours{3}};
  SeededRandom random{7};
  LeaseMachine machine;
  std::chrono::nanoseconds lastTimeout{0};
  std::vector<std::string> logLines;
  std::vector<std::chrono::nanoseconds> vacancies;  ///< of VacancyExpected

 private:
  void keep(const LeaseActions& actions);

  Attempt attempt_{0};
  std::optional<WriteRequest> write_;
  TermState published_{};
  std::vector<action::Revoked> revocations_;
  std::uint64_t elections_{0};
  std::shared_ptr<const LeasePayload> payload_{};
  std::shared_ptr<const LeaseMemory> memory_{};
};

/// A record of another candidate, `b#2`, which leads with this version and token.
[[nodiscard]] LeaseRecord othersRecord(const std::string& version = "other-1", std::uint64_t token = 5,
                                       std::chrono::milliseconds duration = std::chrono::seconds{10});
[[nodiscard]] LeaseRecord releasedRecord(const std::string& version = "gone-1", std::uint64_t token = 5);

inline const std::optional<LeaseRecord> absent{};
inline constexpr const char* selfName = "a#1";

/// Answers every read with `record` until the machine does something other than read; returns that.
std::string readUntilElse(MachineHarness& m, const std::optional<LeaseRecord>& record);

[[nodiscard]] inline StoreError transientError(std::string text = "busy") {
  return {ErrorClass::transient, std::move(text)};
}

}  // namespace tenure::test
