// What all roles of a LeaseMachine share: its options, its requests, what it knows across terms and what it tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidacy.hpp"
#include "lease_machine.hpp"
#include "observation.hpp"
#include "own_writes.hpp"
#include "poll_schedule.hpp"
#include "record_changes.hpp"

namespace tenure {

enum class RequestKind { read, acquire, renew, release };

/// The one request that is under way. One at a time per lease: a release never overtakes a renewal.
struct RequestInFlight {
  Attempt attempt;
  RequestKind kind;
  Instant sentAt;  ///< before it was sent
  std::chrono::nanoseconds timeout;
  RecordVersion version{};  ///< that a write would leave
  bool hinted{false};
  WrittenRight right{};
  bool creates{false};  ///< an acquisition that waits for no record to be there, which may come true again

  /// How long its answer is waited for: a store that does not keep its own deadline must not hold a lease up.
  [[nodiscard]] std::chrono::nanoseconds overdueIn(const Instant& now) const noexcept;
  [[nodiscard]] UnansweredWrite unanswered() const { return {version, sentAt, right, false, creates}; }
  /// Known to be in the record.
  [[nodiscard]] UnansweredWrite arrived() const { return {version, sentAt, right}; }
};

/// What is known of the record, from one term to the next.
struct KnownLease {
  Observation observation{};
  PollSchedule poll;
  int openCreations{0};    ///< acquisitions of an absent record that nobody answered and that no term began with
  bool asReleased{false};  ///< the observation is what a release of this process left, without any payload
  bool hinted{false};      ///< the store's notification asks for a read; any read answers it
};

/// The fencing tokens that were seen (I7).
struct SeenTokens {
  FencingToken known{};    ///< the highest that the store has shown, in records and in terms of this candidate
  FencingToken floor{};    ///< the highest seen anywhere: the same, or what a resource told within bounds
  FencingToken own{};      ///< of the last term, if it ended because its record was gone
  FencingToken refused{};  ///< the highest that a resource told and that was not believed
  bool endedTerm{false};   ///< a report ended the last term, or the one before this one, which was not renewed yet

  /// A token that the store itself showed.
  void learn(FencingToken shown);
  void recall(const LeaseMemory::Tokens& tokens);
  /// Anybody who may write to a resource can make a report up, so it counts only within a step above what the store has
  /// shown: not above other reports, which would walk up without an end.
  [[nodiscard]] FencingToken highestBelievable() const;
};

/// The work of the present or last term, which may outlast it.
struct Work {
  bool running{false};
  Instant endsFrom{};  ///< since when it is to end, if it is
};

/// What status shows beside the role.
struct Told {
  TermState term{};  ///< outlives the term while what it says of the lease's validity still holds
  std::optional<LeaderInfo> leader{};
  std::optional<Instant> leaderSeenAt{};
  std::optional<StoreError> error{};
  std::optional<Instant> errorAt{};
  std::uint64_t terms{0};
  std::chrono::nanoseconds heartbeatLag{0};
  std::chrono::nanoseconds worstHeartbeatLag{0};
};

/// One role at a time works on it. What only one role needs is not here.
class MachineCore {
 public:
  MachineCore(MachineOptions machineOptions, RandomSource& random);

  void sendRead(const Instant& now, std::chrono::nanoseconds timeout);
  /// A write with a new version, for a role to complete.
  [[nodiscard]] WriteRequest draft(WriteRequest::Purpose purpose, FencingToken token,
                                   std::vector<RecordVersion> expected);
  void sendWrite(const Instant& now, RequestKind kind, std::chrono::nanoseconds timeout, WriteRequest write);
  /// Empty: it is not the answer to the request in flight.
  [[nodiscard]] std::optional<RequestInFlight> takeRead(Attempt attempt);
  [[nodiscard]] std::optional<RequestInFlight> takeWrite(Attempt attempt, const WriteOutcome& outcome);
  [[nodiscard]] LeaseRecord ownRecord(RecordVersion version, FencingToken token) const;

  void act(LeaseAction action) { actions.push_back(std::move(action)); }
  void log(LogLevel level, std::string line) { act(action::Log{level, std::move(line)}); }
  void publish(const TermState& term);
  void setLeader(const Instant& now, const std::optional<LeaderInfo>& leader);
  void noteError(const Instant& now, const StoreError& error);

  /// The last term, which had this token, leaves nothing behind but what was told and what its work still does.
  void closeTerm(const Instant& now, FencingToken token);
  [[nodiscard]] std::shared_ptr<const LeaseMemory> memory() const;

  [[nodiscard]] bool isOwn(const LeaseRecord& record) const { return record.holder == options.holder; }
  [[nodiscard]] bool wrote(const LeaseRecord& record) const;
  [[nodiscard]] bool leftByOwnTerm(const LeaseRecord& record) const;
  [[nodiscard]] std::int64_t displayTime() const;
  [[nodiscard]] std::chrono::nanoseconds jittered(std::chrono::nanoseconds wait);
  [[nodiscard]] RandomSource& random() noexcept { return *random_; }

  MachineOptions options;  ///< constant after construction, but for `timing` and the memory, which Start takes
  std::unique_ptr<const Beacon> beacon{};  ///< constant after Start
  LeaseActions actions{};                  ///< of the step under way
  Instant lastStep{};
  std::optional<RequestInFlight> inFlight{};
  SentVersions sentVersions{};
  KnownLease known;
  SeenTokens tokens{};
  Candidacy candidacy{};  ///< used by OneTerm
  RecordChanges changes{};
  std::int64_t acquiredAtMillis{0};  ///< when the last acquisition was sent, for people
  Told told{};
  Work work{};
  bool stopping{false};  ///< it is giving up
  bool removes{false};   ///< and its release removes the record

 private:
  RandomSource* random_;
  Attempt lastAttempt_{0};
};

/// The earlier of two times to wake up; empty: never.
[[nodiscard]] std::optional<std::chrono::nanoseconds> earlier(std::optional<std::chrono::nanoseconds> one,
                                                              std::optional<std::chrono::nanoseconds> other) noexcept;

}  // namespace tenure
