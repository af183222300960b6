// What must hold in every simulated run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/sim_life.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

class SimChecker {
 public:
  using Lives = std::vector<SimLife*>;

  SimChecker(const TrueTime& now, PointCounts& points) : now_{now}, points_{points} {}

  // Actions of the machine.
  void published(SimLife& life, const TermState& term, const Lives& all);
  void elected(SimLife& life, FencingToken token);
  void revoked(SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth);
  /// `dropsOld`: the machine has just ended a term or a wait, and with it its interest in an older request.
  void requestSent(SimLife& life, Attempt attempt, std::chrono::nanoseconds timeout, bool dropsOld);
  void writeSent(SimLife& life, const WriteRequest& request);
  void stopped(SimLife& life, ReleaseResult result, const std::optional<LeaseRecord>& truth);
  void acted(const SimLife& life);
  // Events of a candidacy of one term: sim_lock_checker.cpp.
  void gaveUp(SimLife& life, GiveUpReason reason);
  /// Its caller does not want it any more.
  void withdrawn(SimLife& life) const;
  void candidacyEnded(SimLife& life, ReleaseResult result, const std::optional<LeaseRecord>& truth);
  /// No caller waits without an answer for longer than the machine promises.
  void boundHolds(const SimLife& life);
  /// A release removed the record: for this long a write that is conditioned on its absence may still arrive.
  void removed(TrueTime memory) noexcept { erasedUntil_ = std::max(erasedUntil_, now_ + memory); }
  /// A resource reports a token to it; the token may be invented.
  void told(SimLife& life, FencingToken token) const;
  /// After every step.
  void stepped(SimLife& life);
  void askedToBeWoken(SimLife& life, std::chrono::nanoseconds delay);

  // Events at the store, and at the resource that the work writes to.
  void applied(SimLife& writer, const RecordVersion& version, const std::optional<LeaseRecord>& truth,
               const Lives& all);
  void announced(const SimLife& challenger, FencingToken token, const Lives& all);
  /// True: the resource accepts the write.
  bool fencedWrite(const SimLife& life, FencingToken token);
  /// The highest token that the resource has seen.
  [[nodiscard]] FencingToken fence() const noexcept { return fence_; }
  /// The record was deleted, but its counter was not: the term of its holder ends early, and still nobody overlaps with
  /// it. For `memory` a write that is conditioned on the absence of the record may still arrive.
  void erased(const LeaseRecord& record, TrueTime memory);
  /// Somebody replaced this record without waiting: the next answer tells its holder.
  void overwritten(const LeaseRecord& record);
  /// An operator had set the counter before the first candidate began.
  void counterWasSet(FencingToken token) noexcept { highestApplied_ = token; }
  /// Tokens begin a new block.
  void promoted();
  /// A promoted standby does not have the last commits. The terms up to now may have lost their record, and are told
  /// so. `unprotected`: the lease that challengers wait for now is shorter than one that was lost.
  void setBack(bool unprotected, FencingToken kept, const Lives& all);
  /// A primary that lives on beside the promoted one has applied a write.
  void appliedAtOldPrimary(SimLife& writer, const RecordVersion& version, FencingToken token);
  /// Clocks are more wrong than the guard covers: only fencing has to hold.
  void lawlessUntil(TrueTime until) noexcept { lawlessUntil_ = std::max(lawlessUntil_, until); }
  /// A foreign client holds the lease until then; zero: not any more.
  void foreignHolds(TrueTime until, const Lives& all);
  void foreignErased() noexcept { foreignErasedAt_ = now_; }

  /// No faults from here on: exactly one candidate leads, without interruption.
  void calmBegins(const Lives& all);
  void calmEnds() noexcept { calm_ = false; }

  void violation(const SimLife& life, const char* oracle, const std::string& what);
  void violation(const char* oracle, const std::string& what);
  [[nodiscard]] const std::vector<Violation>& violations() const noexcept { return violations_; }

 private:
  void states(const SimLife& life, const WriteRequest& request);
  void carries(const SimLife& writer, const LeaseRecord& truth);
  void overlap(const SimLife& life, const SimLife& other);
  void leaves(const LeaseRecord& truth);
  void takesWhatIsLeft(const SimLife& life, const WriteRequest& request);
  void tookToken(const SimLife& writer, FencingToken token);
  void wonLock(SimLife& life);
  void endedEarly(const SimLife& life, const action::Revoked& revoked);
  void lost(const SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth);
  [[nodiscard]] bool lawless() const noexcept { return now_ < lawlessUntil_; }

  const TrueTime& now_;
  PointCounts& points_;
  bool calm_{false};
  FencingToken lastElected_{};
  FencingToken highestApplied_{};
  FencingToken erased_{};
  FencingToken overwritten_{};
  FencingToken block_{};        ///< the highest block of tokens that may have begun
  FencingToken setBack_{};      ///< up to this token, a promotion may have lost a term or its release
  FencingToken kept_{};         ///< the highest that a promotion that lost commits has kept
  FencingToken unprotected_{};  ///< up to this token, nobody knows how long to wait for a term
  TrueTime erasedUntil_{-1};
  TrueTime lawlessUntil_{0};
  TrueTime foreignUntil_{0};
  TrueTime foreignErasedAt_{-1};  ///< when a foreign client released by deleting the record
  struct Left {
    RecordVersion version{};  ///< of the release
    std::string name{};
    TrueTime until{0};  ///< no other elector has waited for a heartbeat before
  } left_{};            ///< what was released for somebody last
  FencingToken fence_{};
  std::string fenceOwner_{};
  std::vector<Violation> violations_;
};

}  // namespace tenure::test
