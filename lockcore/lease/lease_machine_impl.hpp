// The state of a LeaseMachine and its rules, split by role: lease_machine.cpp (events in, deadlines first),
// candidate_rules.cpp, one_term_rules.cpp, holder_rules.cpp, release_rules.cpp.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "lease_machine.hpp"
#include "lease_memory.hpp"
#include "lockcore/port/random_draws.hpp"
#include "observation.hpp"
#include "packed_version.hpp"
#include "poll_schedule.hpp"

namespace tenure {

class LeaseMachine::Impl {
 public:
  Impl(MachineOptions options, RandomSource& random);

  LeaseActions step(const Instant& now, const LeaseEvent& event);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;

  using Nanos = std::chrono::nanoseconds;
  enum class Request { read, acquire, renew, release };

  /// What a write gives the holder once it is known to be in the record. Each write has its own: the lease duration
  /// may change from one to the next.
  struct Right {
    Nanos leadsFor{0};
    Nanos validFor{0};
    std::uint64_t ticket{0};             ///< of the last Renew whose changes it carries
    std::chrono::milliseconds lease{0};  ///< that the write states
  };

  /// The one request that is under way. One at a time per lease: a release never overtakes a renewal.
  struct InFlight {
    Attempt attempt;
    Request request;
    Instant sentAt;  ///< before it was sent
    Nanos timeout;
    RecordVersion version{};  ///< that a write would leave
    bool hinted{false};
    Right right{};
    bool creates{false};  ///< an acquisition that waits for no record to be there, which may come true again
  };

  /// A write without an answer: the record may have this version, from a request sent at `sentAt` (I8). A conflict is
  /// no answer either as long as it does not show the record: a write that the network delivered twice, or that
  /// somebody below the store sent again, conflicts with its own first copy.
  struct Pending {
    RecordVersion version;
    Instant sentAt;
    Right right{};
    bool lookedFor{false};  ///< a look at the record, asked for later, has shown that it had not arrived yet
    bool creates{false};
    bool forNobody{false};  ///< it was answered, with a token that is too low to lead by
  };

  /// What Renew and Release asked for, until a write that carries it was acknowledged.
  struct Wanted {
    std::uint64_t ticket{0};
    std::optional<std::string> data{};
  };

  /// A request's condition lists the version that the record had last and those that unanswered writes of the term may
  /// have left, the newest so many of them. The holder reads the record before it lets one drop out of the list; should
  /// that one arrive all the same, the conflict shows it.
  static constexpr std::size_t maxPending = 8;
  static constexpr std::chrono::milliseconds leastRetry{1};

  // ---- lease_machine.cpp: common ----
  void handle(const Instant& now, const event::Start& event);
  void handle(const Instant& now, const event::StepDown& event);
  void handle(const Instant& now, const event::Stop&);
  void handle(const Instant& now, const event::Release& event);
  void handle(const Instant& now, const event::Renew& event);
  void handle(const Instant& now, const event::WorkEnded&);
  void handle(const Instant& now, const event::WorkFailed& event);
  void handle(const Instant& now, const event::WorkProgressed&);
  void handle(const Instant& now, const event::Wakeup&);
  void handle(const Instant& now, const event::ReadReply& event);
  void handle(const Instant& now, const event::WriteReply& event);
  void handle(const Instant& now, const event::StoreHint&);
  void handle(const Instant& now, const event::HolderProvenDead& event);
  void handle(const Instant& now, const event::TokenSeen& event);

  void checkDeadlines(const Instant& now);
  void endLateTerm(const Instant& now);
  void advance(const Instant& now);
  void giveUpOverdueRequest(const Instant& now);
  void send(const Instant& now, Request request, Nanos timeout);
  void sendWrite(const Instant& now, Request request, Nanos timeout, std::vector<RecordVersion> expected);
  void publish(const TermState& term);
  void noteError(const Instant& now, const StoreError& error);
  /// A token that the store itself showed.
  void learnToken(FencingToken shown);
  void refuseReport(FencingToken token);
  void restAfterReports(const Instant& now);
  void setLeader(const Instant& now, const std::optional<LeaderInfo>& leader);
  void log(LogLevel level, std::string line) { actions_.push_back(action::Log{level, std::move(line)}); }
  [[nodiscard]] LeaseRecord ownRecord(RecordVersion version, bool released) const;
  [[nodiscard]] std::vector<RecordVersion> ownVersions() const;
  [[nodiscard]] bool namesAllPending() const { return pending_.size() < maxPending; }
  [[nodiscard]] bool mustLook() const;
  [[nodiscard]] const Pending* findPending(const RecordVersion& version) const;
  void remember(const InFlight& request) {
    pending_.push_back({request.version, request.sentAt, request.right, false, request.creates});
  }
  void carryWanted(WriteRequest& write) const;
  [[nodiscard]] bool wrote(const LeaseRecord& record) const;
  [[nodiscard]] bool leftByOwnTerm(const LeaseRecord& record) const;
  [[nodiscard]] bool isOwn(const LeaseRecord& record) const { return record.holder == options_.holder; }
  [[nodiscard]] Nanos jittered(Nanos wait) { return wait / 2 + uniform(*random_, wait / 2); }

  // ---- one_term_rules.cpp ----
  void recall(const LeaseMemory& memory);
  void recallTokens(const LeaseMemory& memory);
  void succeed(const Instant& now, const LeaseMemory& predecessor);
  [[nodiscard]] std::shared_ptr<const LeaseMemory> memory() const;
  void joinTurn(const LeaseMemory& memory);
  [[nodiscard]] Nanos restOwed(const Instant& now) const;
  void rest(const Instant& now, Nanos length);
  void beginTurn(const Instant& now, FencingToken token);
  void endTurn(const Instant& now);
  [[nodiscard]] Nanos patienceLeft(const Instant& now) const;
  [[nodiscard]] bool waitIsOver(const Instant& now) const;
  [[nodiscard]] std::optional<GiveUpReason> reasonToGiveUp(const Instant& now) const;
  void giveUp(const Instant& now, GiveUpReason reason);
  void keepPayload(const std::optional<LeaseRecord>& record);
  [[nodiscard]] std::shared_ptr<const LeasePayload> takePayload();

  // ---- candidate_rules.cpp ----
  void becomeCandidate(const Instant& now, Nanos cooldown);
  void advanceCandidate(const Instant& now);
  void sendAcquire(const Instant& now);
  void candidateRead(const Instant& now, const ReadOutcome& outcome, bool hinted);
  void observe(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted);
  void follow(const std::optional<LeaseRecord>& held);
  void drawPoliteness();
  [[nodiscard]] Nanos limited(Nanos timeout) const;
  [[nodiscard]] Nanos raceJitter();
  void loseRace(const Instant& now);
  void acquireAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome);
  void acquired(const Instant& now, const InFlight& request, const Applied& applied);
  void rememberAcquire(const InFlight& request);
  void acquireFailed(const Instant& now, const StoreError& error);
  void holdOff(const Instant& now, Nanos wait);
  void acquireLost(const Instant& now, const InFlight& request, const Conflict& conflict);
  [[nodiscard]] bool adoptOwnAcquire(const Instant& now, const LeaseRecord& record);
  [[nodiscard]] bool mayLead() const { return !stopping_ && !options_.observesOnly && !workRunning_; }
  [[nodiscard]] bool mayCompete(const Instant& now) const;

  // ---- holder_rules.cpp ----
  void becomeLeader(const Instant& now, const Pending& won, FencingToken token);
  void advanceHolder(const Instant& now);
  void advanceRenewal(const Instant& now);
  void renewAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome);
  void renewed(const Instant& now, const Pending& proven);
  void limitRight(const Instant& now);
  void renewalFailed(const Instant& now, const StoreError& error);
  void renewalConflict(const Instant& now, const InFlight& request, const Conflict& conflict);
  void judgeOwnRecord(const Instant& now, const Instant& askedAt, const std::optional<LeaseRecord>& current);
  [[nodiscard]] Pending provenBy(const Instant& askedAt, const Pending& landed,
                                 const std::vector<Pending>& later) const;
  void revokeLost(const Instant& now, RevokeReason reason, const std::string& detail);
  void revokeExpired(const Instant& now);
  void beginDrain(const Instant& now, RevokeReason reason, const std::string& detail);
  void announceRevoked(RevokeReason reason, std::string detail, bool unstepped = false);
  void endTerm(const Instant& now, Nanos stillValid);
  [[nodiscard]] bool progressMissing(const Instant& now) const;
  [[nodiscard]] std::string noProgress() const;
  [[nodiscard]] Nanos grownRetry();
  [[nodiscard]] bool renewalFits(const Instant& now) const;
  [[nodiscard]] Nanos renewDueIn(const Instant& now) const;
  [[nodiscard]] Nanos heartbeatDueIn(const Instant& now) const;
  [[nodiscard]] Nanos rightLeft(const Instant& now) const;

  // ---- release_rules.cpp ----
  void beginRelease(const Instant& now);
  void advanceRelease(const Instant& now);
  void releaseAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome);
  void releaseConflict(const Instant& now, const Conflict& conflict);
  void releaseAgain(const Instant& now, const Pending& late);
  void releaseFailed(const Instant& now, const StoreError& error);
  [[nodiscard]] bool acquisitionMayStillArrive(const Conflict& conflict) const;
  [[nodiscard]] ReleaseResult nothingToRelease() const;
  void released(const Instant& now, ReleaseResult result, const std::optional<RecordVersion>& left = {});
  void finish(ReleaseResult result);

  // Constant after construction.
  MachineOptions options_;
  RandomSource* random_;

  std::unique_ptr<const Beacon> beacon_{};  ///< constant after Start

  LeaseState state_{LeaseState::idle};
  LeaseActions actions_{};  ///< of the step under way
  Attempt lastAttempt_{0};
  std::optional<InFlight> inFlight_{};
  std::vector<Pending> pending_{};  ///< oldest first; of the acquisition as a candidate, of the term as a holder
  /// The last versions that this candidate sent in writes, whatever became of them; the oldest is overwritten. Packed,
  /// as a process may have leases by the thousand.
  std::array<PackedVersion, 16> sentVersions_{};  // all zero: none
  std::size_t nextSent_{0};
  Instant lastStep_{};

  // As a candidate.
  Observation observation_{};
  PollSchedule poll_;
  Nanos politeness_{0};
  int lostRaces_{0};
  int acquireFailures_{0};  ///< in a row, without an answer that tells of the record
  Instant cooldownFrom_{};
  Nanos cooldown_{0};
  std::string followedBeacon_{};

  int openCreations_{0};  ///< acquisitions of an absent record that nobody answered and that no term began with

  // Of the present or last term.
  TermState term_{};
  TermState published_{};    ///< outlives the term while what it says of the lease's validity still holds
  RecordVersion version_{};  ///< the last one that the store acknowledged
  std::int64_t acquiredAtMillis_{0};
  std::chrono::milliseconds statedLease_{0};  ///< the longest of the term that the store's counter is known to state
  FencingToken ownToken_{};                   ///< of the last term, if it ended because its record was gone
  Instant progressAt_{};
  // Small ones side by side: a process may have leases by the thousand.
  bool workRunning_{false};
  bool doubt_{false};
  std::optional<StoreError> doubtCause_{};  ///< what explains best why renewals fail; empty: the last one did not
  bool readBack_{false};                    ///< the next request of the holder must be a read
  bool readFirst_{false};                   ///< of a candidate: the next acquisition must follow a successful read
  int renewFailures_{0};
  Instant retryFrom_{};
  Nanos retryAfter_{0};
  Instant drainFrom_{};
  std::uint64_t terms_{0};
  std::uint64_t ticket_{0};           ///< of the last Renew
  std::uint64_t ticketInRecord_{0};   ///< of the last one whose changes were acknowledged
  std::unique_ptr<Wanted> wanted_{};  ///< by a Renew that was not acknowledged yet, or by the release; mostly none

  // Of a candidacy of one term.
  Instant startedAt_{};
  Nanos waitedBefore_{0};
  bool waited_{false};         ///< somebody else held it
  bool looked_{false};         ///< the last thing that was sent to the store was answered, and leaves no question
  bool troubled_{false};       ///< that answer was an error
  int doubtsAfterWait_{0};     ///< acquisitions of which nobody told what became of them when the wait was over
  bool asReleased_{false};     ///< the observation is what a release of this process left, without any payload
  bool hasPayload_{false};     ///< this term's record may have some
  bool hinted_{false};         ///< the store's notification asks for a read
  bool endedByReport_{false};  ///< the last term was, or this one follows such a one and was not renewed yet
  bool lossHinted_{false};     ///< while a term is held: it asks for a renewal
  bool stopping_{false};       ///< it is giving up
  bool removes_{false};        ///< and its release removes the record
  std::shared_ptr<const LeaseTurn> turn_{};  ///< of this process, until the last term of it that ended; mostly none
  std::unique_ptr<const LeasePayload> payload_{};  ///< of the record as it was seen last; none if it is empty
  HeartbeatLag lag_{};
  Nanos overdueWhenWon_{0};  ///< by how much the first heartbeat of the term was due before the term was won

  // Of giving up.
  Instant releaseFrom_{};

  FencingToken knownToken_{};  ///< the highest that the store has shown, in records and in terms of this candidate
  FencingToken tokenFloor_{};  ///< the highest seen anywhere (I7): the same, or what a resource told within bounds
  FencingToken refusedReport_{};
  std::optional<LeaderInfo> leader_{};
  std::optional<Instant> leaderSeenAt_{};
  std::optional<StoreError> lastError_{};
  std::optional<Instant> lastErrorAt_{};
};

}  // namespace tenure
