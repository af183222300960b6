// What all roles of a LeaseMachine share: its options, its requests, its knowledge across terms and what it reports.
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

/// The one request that is under way. There is one at a time for each lease: a release never overtakes a renewal.
struct RequestInFlight {
  Attempt attempt;
  RequestKind kind;
  Instant sentAt;  ///< before it was sent
  std::chrono::nanoseconds timeout;
  RecordVersion version{};  ///< the version that a write would leave in the record
  bool hinted{false};
  WrittenRight right{};
  bool creates{false};   ///< an acquisition conditioned on the absence of the record, which may become true again
  bool inherits{false};  ///< an acquisition that follows a state which may lack terms

  /// How much longer to wait for the answer: a store that does not keep its own deadline must not delay a lease.
  [[nodiscard]] std::chrono::nanoseconds overdueIn(const Instant& now) const noexcept;
  [[nodiscard]] UnansweredWrite unanswered() const { return {version, sentAt, right, false, creates, false, inherits}; }
  /// The write is known to be in the record.
  [[nodiscard]] UnansweredWrite arrived() const { return {version, sentAt, right, false, false, false, inherits}; }
};

/// What is known about the record, across terms.
struct KnownLease {
  Observation observation{};
  PollSchedule poll;
  int openCreations{0};    ///< unanswered acquisitions of an absent record, none of which began a term
  bool asReleased{false};  ///< a release of this process left the observed record, without any payload
  bool hinted{false};      ///< a notification of the store asks for a read; any read answers it
};

/// The fencing tokens that were seen (I7).
struct SeenTokens {
  FencingToken known{};    ///< the highest that the store has shown, in records and in terms of this candidate
  FencingToken floor{};    ///< the highest seen anywhere: the same, or a reported one within bounds
  FencingToken own{};      ///< of the last term, if it ended because its record had vanished
  FencingToken refused{};  ///< the highest report of a resource that was not believed
  bool endedTerm{false};   ///< a report ended the last term, or the one before a term that was not renewed yet

  /// A token that the store itself showed.
  void learn(FencingToken shown);
  void recall(const LeaseMemory::Tokens& tokens);
  /// Anybody who may write to a resource can invent a report. So a report counts only up to a fixed step above what the
  /// store has shown. The step does not start from other reports: those could raise it without end.
  [[nodiscard]] FencingToken highestBelievable() const;
};

/// The work of the present or last term. It may last longer than the term.
struct Work {
  bool running{false};
  bool blocked{false};  ///< it did not begin, and what it needs is still missing
  Instant endsFrom{};   ///< when it was told to end, if it was

  [[nodiscard]] bool mayBegin() const noexcept { return !running && !blocked; }
};

/// What status shows in addition to the role.
struct Told {
  TermState term{};  ///< outlives the term for as long as its statement about the lease's validity holds
  std::optional<LeaderInfo> leader{};
  std::optional<Instant> leaderSeenAt{};
  bool leaderRenews{false};
  std::optional<StoreError> error{};
  std::optional<Instant> errorAt{};
  std::uint64_t terms{0};
  std::chrono::nanoseconds heartbeatLag{0};
  std::chrono::nanoseconds worstHeartbeatLag{0};
};

/// One role at a time works on it. State that only one role needs is not here.
class MachineCore {
 public:
  MachineCore(MachineOptions machineOptions, RandomSource& random);

  void sendRead(const Instant& now, std::chrono::nanoseconds timeout, bool mayBeLate);
  /// A write with a new version; the role completes it.
  [[nodiscard]] WriteRequest draft(WriteRequest::Purpose purpose, FencingToken token,
                                   std::vector<RecordVersion> expected);
  void sendWrite(const Instant& now, RequestKind kind, std::chrono::nanoseconds timeout, WriteRequest write);
  /// Empty if this is not the answer to the request in flight.
  [[nodiscard]] std::optional<RequestInFlight> takeRead(Attempt attempt);
  [[nodiscard]] std::optional<RequestInFlight> takeWrite(Attempt attempt, const WriteOutcome& outcome);
  [[nodiscard]] LeaseRecord ownRecord(RecordVersion version, FencingToken token) const;

  void act(LeaseAction action) { actions.push_back(std::move(action)); }
  void log(LogLevel level, std::string line) { act(action::Log{level, std::move(line)}); }
  void publish(const TermState& term);
  void setLeader(const Instant& now, const std::optional<LeaderInfo>& leader);
  void noteError(const Instant& now, const StoreError& error);
  /// The store has refused this write for good. True: the data that it carried are left out from here on, and the write
  /// is to be sent again at once.
  [[nodiscard]] bool leaveOutData(const Instant& now, const WrittenRight& right, const StoreError& error);
  /// Answers the Renews up to this ticket that were not answered yet.
  void answerRenews(std::uint64_t ticket, action::Recorded::Outcome outcome);
  /// The write with this right is in the record, and nothing of the writes before it that it does not carry.
  void answerRenews(const WrittenRight& written);

  /// Ends the last term, which had this token (none: there was no term). What was reported stays, and its work may
  /// still run. `found`: the record, if an answer has just shown it.
  void closeTerm(const Instant& now, FencingToken token, const std::optional<LeaseRecord>* found = nullptr);
  [[nodiscard]] std::shared_ptr<const LeaseMemory> memory() const;

  [[nodiscard]] bool isOwn(const LeaseRecord& record) const { return record.holder == options.holder; }
  /// The holder of a record of somebody else. Each look needs it, so what the leader states is read once for each term
  /// and each change of the data.
  [[nodiscard]] LeaderInfo leaderOf(const LeaseRecord& record);
  [[nodiscard]] bool wrote(const LeaseRecord& record) const;
  [[nodiscard]] bool leftByOwnTerm(const LeaseRecord& record) const;
  [[nodiscard]] std::int64_t displayTime() const;
  [[nodiscard]] std::chrono::nanoseconds jittered(std::chrono::nanoseconds wait);
  [[nodiscard]] RandomSource& random() noexcept { return *random_; }

  MachineOptions options;  ///< constant after construction, except `timing` and the memory, which Start takes
  std::unique_ptr<const LivenessFile> livenessFile{};  ///< constant after Start
  LeaseActions actions{};                              ///< of the step in progress
  Instant lastStep{};
  std::optional<RequestInFlight> inFlight{};
  SentVersions sentVersions{};
  KnownLease known;
  SeenTokens tokens{};
  Candidacy candidacy{};  ///< used with OneTerm
  RecordChanges changes{};
  std::int64_t acquiredAtMillis{0};  ///< when the last acquisition was sent, for people
  Told told{};
  Work work{};
  bool stopping{false};  ///< the candidacy is ending
  bool ready{true};      ///< it may acquire the lease
  bool removes{false};   ///< the release removes the record

 private:
  struct Stated {
    FencingToken term;
    std::string data;
    LeaderStatement statement;
  };

  RandomSource* random_;
  std::unique_ptr<const Stated> stated_{};  ///< null: the leader seen last has no data
  Attempt lastAttempt_{0};
};

/// The earlier of two times to wake up; empty: never.
[[nodiscard]] std::optional<std::chrono::nanoseconds> earlier(std::optional<std::chrono::nanoseconds> one,
                                                              std::optional<std::chrono::nanoseconds> other) noexcept;

}  // namespace tenure
