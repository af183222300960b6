// What a challenger has seen of a record, and when it may take the lease by that knowledge.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lease_action.hpp"
#include "lease_sightings.hpp"

namespace tenure {

/// It outlives single attempts (I3). The wait counts from the instant after this RVN was first received, and lasts for
/// the duration written in the record; any change of the record starts it again. (Other libraries that kept it for one
/// call only never saw a dead holder expire: awslabs/amazon-dynamodb-lock-client #93, #99.)
class Observation {
 public:
  /// A reply received at `now` says that the record is `record` (empty: there is none). `written`: this candidate wrote
  /// that very version. Returns whether that is news.
  bool confirm(const Instant& now, const std::optional<LeaseRecord>& record, bool written);

  /// The kernel proved the end of the process that keeps this liveness file.
  void provenDead(const Instant& now, const std::string& livenessFileId);

  /// The record could not be understood: the lease may not be taken until the record was seen again. If the record is
  /// absent then, it counts as vanished.
  void distrust() noexcept { known_ = false; }
  /// This candidate has lost a term, and its work may continue for `validFor` from `anchor`. Until then what this
  /// candidate wrote is not free for the candidate itself either.
  void leave(const Instant& anchor, std::chrono::nanoseconds validFor) noexcept;
  /// Drops all knowledge: this candidate has held the lease since, up to this term.
  void forget(FencingToken own) noexcept;
  /// An acquisition on condition of this state was sent.
  void tried() noexcept { tried_ = true; }

  /// The same state, seen earlier by another part of this process that applied the rule of this class to it.
  void adopt(const LeaseSighting& sighting);
  /// Takes over the same record if `other` knows it as released. The time is `now`, because `other` may use another
  /// clock. Returns whether it did so.
  bool adoptReleased(const Instant& now, const Observation& other);

  [[nodiscard]] bool known() const noexcept { return known_; }
  /// The time after the first reply that showed this state was received.
  [[nodiscard]] const Instant& since() const noexcept { return firstSeen_; }
  /// How long to wait from since() on if the record is gone.
  [[nodiscard]] std::chrono::milliseconds vanishedLease() const noexcept { return vanishedLease_; }
  /// The versions that the acquiring write must expect.
  [[nodiscard]] std::vector<RecordVersion> expected() const;
  /// The record says that somebody else holds the lease and has not released it.
  [[nodiscard]] bool heldByOther() const noexcept;
  [[nodiscard]] bool heldBySelf() const noexcept;
  /// There is no record, whatever the counter says about the last term.
  [[nodiscard]] bool absent() const noexcept { return known_ && (!record_ || record_->vanished); }
  /// There is no record, or its client deletes it when it releases, or nobody knows. A record without a token is not
  /// from this library.
  [[nodiscard]] bool mayVanish() const noexcept { return !known_ || absent() || record_->token.isNone(); }
  /// The store may lack terms that came after this state; `newest` is the highest token that this candidate has seen.
  [[nodiscard]] bool lacksTerms(FencingToken newest) const noexcept;
  /// The store's history, as this state was read; empty if it has one, or there is no record.
  [[nodiscard]] std::string history() const { return record_ ? record_->version.history() : std::string{}; }
  /// Of the record as it was seen last; none: there was no record.
  [[nodiscard]] FencingToken token() const { return record_ ? record_->token : FencingToken{}; }
  /// This candidate's unanswered acquisition has arrived as `own`. True: a term that was seen since it was sent may be
  /// lost and still run.
  [[nodiscard]] bool mayHideATerm(const Instant& now, const LeaseRecord& own) const;
  /// Null: none is known that may still hold the lease.
  [[nodiscard]] const std::shared_ptr<const LostTerm>& lost() const noexcept { return lost_; }
  /// For whom the record is released, and how long others leave it alone: at most its lease, and not at all where this
  /// candidate did not see the term held. Empty name: for nobody in particular.
  [[nodiscard]] const Successor& releasedFor() const noexcept;
  /// Who holds the lease, for people; empty if it was seen to be free.
  [[nodiscard]] std::optional<HolderInfo> holderSeen(const Instant& now) const;

  /// Time until the lease may be taken, plus `politeness` (the delay before competing, from jitter and priority); <= 0:
  /// now. Empty: not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilFree(const Instant& now,
                                                                  std::chrono::nanoseconds politeness) const;

 private:
  struct Sighting;

  [[nodiscard]] std::chrono::milliseconds leaseToWaitOut(const std::optional<LeaseRecord>& record) const;
  [[nodiscard]] Successor leftBy(const Sighting& next, bool same) const;
  void noteLoss(const Instant& now, const Sighting& next, bool written);
  [[nodiscard]] bool ends(const LostTerm& term, const Sighting& next, bool written) const;
  [[nodiscard]] std::optional<LostTerm> owed() const;
  [[nodiscard]] std::optional<LostTerm> lostBehind(const Instant& now, const Sighting& next, bool written) const;
  [[nodiscard]] bool goesOn(const Sighting& next) const;
  [[nodiscard]] std::chrono::nanoseconds untilFreeByRecord(const Instant& now,
                                                           std::chrono::nanoseconds politeness) const;

  /// The parts of a record that matter here; its data may be long, and there are many candidates.
  struct Sighting {
    RecordVersion version;
    std::string holder;
    std::chrono::milliseconds leaseDuration;
    FencingToken token;
    bool released;
    bool vanished;                  ///< there is no record, but the counter shows an open term
    bool inherited;                 ///< a later acquisition may be lost, so only the lease frees it
    bool keptAtRelease;             ///< its client does not delete it
    Successor releasedFor;          ///< of a released record
    std::string livenessFileId;     ///< empty: none
    std::int64_t acquiredAtMillis;  ///< for people

    explicit Sighting(const LeaseRecord& record);
    /// Compares everything by which a holder could show that it lives. A record that differs in it starts the wait
    /// again.
    [[nodiscard]] bool shows(const LeaseRecord& record) const noexcept;
    /// The term of this state goes on in `record`, by another write.
    [[nodiscard]] bool renewedBy(const LeaseRecord& record) const noexcept;
  };

  bool known_{false};
  std::shared_ptr<const Sighting> record_{};    ///< on the heap: a holder has none, and there are many holders
  bool written_{false};                         ///< this candidate wrote it
  bool tried_{false};                           ///< this candidate has sent an acquisition on condition of it
  bool afterAnother_{false};                    ///< the record vanished that another client had written, which may lead
  std::chrono::milliseconds vanishedLease_{0};  ///< how long to wait if the record is gone
  FencingToken newestToken_{};                  ///< the highest in any record that was seen
  FencingToken overToken_{};                    ///< of the last term that is known to be over
  Instant firstSeen_{};                         ///< time after the first reply that showed this state was received
  Instant confirmedAt_{};                       ///< when it was shown last
  bool renewed_{false};                         ///< its term was seen before, by another write
  std::shared_ptr<const LostTerm> lost_{};
  Instant leftFrom_{};  ///< anchor of the last term that this candidate lost
  std::chrono::nanoseconds leftFor_{0};
  std::string deadLivenessFile_{};
  Instant deadSince_{};
};

}  // namespace tenure
