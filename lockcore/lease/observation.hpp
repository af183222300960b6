// What a challenger has seen of a record, and when the record becomes free to take by that knowledge.
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

/// Outlives single attempts (I3): the wait counts from the instant after this RVN was first received, for the duration
/// written in the record, and any change of the record starts it anew. (Peers that kept it per call never saw a dead
/// holder expire: awslabs/amazon-dynamodb-lock-client #93, #99.)
class Observation {
 public:
  /// A reply received at `now` says that the record is `record` (empty: there is none). `written`: this candidate wrote
  /// that very version. Tells whether that is news.
  bool confirm(const Instant& now, const std::optional<LeaseRecord>& record, bool written);

  /// The kernel proved the end of the process that keeps this beacon.
  void provenDead(const Instant& now, const std::string& beaconId);

  /// The record was found to be not understood: nothing may be taken until it was seen anew. If it is gone then, it was
  /// there before.
  void distrust() noexcept { known_ = false; }
  /// This candidate has lost a term that its work may still wind up, for `validFor` from `anchor`: until then what it
  /// wrote is not free for itself either.
  void leave(const Instant& anchor, std::chrono::nanoseconds validFor) noexcept;
  /// Nothing is known any more: this candidate held the lease since.
  void forget() noexcept;

  /// The same state as somebody of this process saw it before, who applied the rule of this class to it.
  void adopt(const LeaseSighting& sighting);
  /// The same record, if `other` knows it as released; as seen at `now`, because `other` may go by another clock. Tells
  /// whether it was so.
  bool adoptReleased(const Instant& now, const Observation& other);

  [[nodiscard]] bool known() const noexcept { return known_; }
  /// After receiving the first reply that showed this state.
  [[nodiscard]] const Instant& since() const noexcept { return firstSeen_; }
  /// To be waited out from since() on where there is no record any more.
  [[nodiscard]] std::chrono::milliseconds vanishedLease() const noexcept { return vanishedLease_; }
  /// What the acquiring write has to expect.
  [[nodiscard]] std::vector<RecordVersion> expected() const;
  /// Somebody else wrote it down as held, and has not released.
  [[nodiscard]] bool heldByOther() const noexcept;
  [[nodiscard]] bool heldBySelf() const noexcept;
  /// There is no record, whatever the counter says of the term before.
  [[nodiscard]] bool absent() const noexcept { return known_ && (!record_ || record_->vanished); }
  /// There is no record, or one whose client deletes it when it lets go, or nobody knows: one without a token is not of
  /// this library.
  [[nodiscard]] bool mayVanish() const noexcept { return !known_ || absent() || record_->token.isNone(); }
  /// Who holds it, for people; empty if it was seen to be free.
  [[nodiscard]] std::optional<HolderInfo> holderSeen(const Instant& now) const;

  /// Time until the lease may be taken, plus `politeness` (jitter and priority) on top; <= 0: now. Empty: not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilFree(const Instant& now,
                                                                  std::chrono::nanoseconds politeness) const;

 private:
  [[nodiscard]] std::chrono::milliseconds leaseToWaitOut(const std::optional<LeaseRecord>& record) const;

  /// What of a record counts; its data may be long, and candidates are many.
  struct Sighting {
    RecordVersion version;
    std::string holder;
    std::chrono::milliseconds leaseDuration;
    FencingToken token;
    bool released;
    bool vanished;                  ///< no record, but a term that the counter says is open
    std::string beaconId;           ///< empty: none
    std::int64_t acquiredAtMillis;  ///< for people

    explicit Sighting(const LeaseRecord& record);
    /// By everything with which a holder could show life. A record that differs in it starts the wait anew.
    [[nodiscard]] bool shows(const LeaseRecord& record) const noexcept;
  };

  bool known_{false};
  std::shared_ptr<const Sighting> record_{};    ///< apart: a holder has none, and holders are many
  bool written_{false};                         ///< by this candidate
  std::chrono::milliseconds vanishedLease_{0};  ///< to be waited out where there is no record any more
  FencingToken newestToken_{};                  ///< the greatest in any record that was seen
  Instant firstSeen_{};                         ///< after receiving the first reply that showed this state
  Instant leftFrom_{};                          ///< of the last term that it lost
  std::chrono::nanoseconds leftFor_{0};
  std::string deadBeacon_{};
  Instant deadSince_{};
};

}  // namespace tenure
